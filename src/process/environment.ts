/** A child gets these, what its adapter, server or worker names, and nothing else. */
const ALWAYS = new Set(['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TERM', 'TZ', 'TMPDIR']);

/** Where our own tools are looked up. Never the caller's PATH: it may name a folder an agent can write to. */
export const SYSTEM_PATH = '/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/opt/homebrew/bin:/run/current-system/sw/bin';

/** `named` are variables of `from` this child needs; `extra` are values of our own, and they win. */
export function allowedEnv(
  from: Readonly<NodeJS.ProcessEnv>,
  named: readonly string[],
  extra: Readonly<Record<string, string>>,
): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(from)) {
    const isAllowed = ALWAYS.has(name) || name.startsWith('LC_') || named.includes(name);
    if (isAllowed && value !== undefined) passed[name] = value;
  }
  return { ...passed, ...extra };
}
