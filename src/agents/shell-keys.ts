/** For a job, doctor and `init`. Undefined: it uses none. */
export function shellKeyWords(names: readonly string[] = []): string | undefined {
  return names.length === 0 ? undefined : `${names.join(', ')} from your shell: billed by use`;
}
