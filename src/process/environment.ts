/** A child gets these variables, and those that its adapter, server or worker names. */
const ALWAYS = new Set(['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'TERM', 'TZ', 'TMPDIR']);

/** Where our own tools are found. Never the caller's PATH, which may name a folder that an agent can write. */
export const SYSTEM_PATH = '/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/opt/homebrew/bin:/run/current-system/sw/bin';

/** `named` are further variables of `from`; `extra` are values of our own, and they win. */
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
