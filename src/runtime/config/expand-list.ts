/**
 * A comma list as people write it: names, aliases of `mapping_*`, `all`. Names keep their order and come once; what an
 * alias stands for is not looked up again.
 */
export function expandList(list: string | null, aliases: Readonly<Record<string, string>>): 'all' | string[] {
  const names = split(list).flatMap((name) => (Object.hasOwn(aliases, name) ? split(aliases[name] ?? '') : [name]));
  return names.includes('all') ? 'all' : [...new Set(names)];
}

function split(list: string | null): string[] {
  return (list ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
