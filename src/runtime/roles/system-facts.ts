import { readFileSync } from 'node:fs';
import os from 'node:os';
import { basename } from 'node:path';

/** What a prompt may ask about the machine: `{{__os__}}` and its like. */
export type SystemFacts = Readonly<
  Record<'os' | 'os_distro' | 'os_family' | 'arch' | 'shell' | 'locale' | 'now' | 'cwd', string>
>;

interface FactSources {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  now: Date;
}

export function systemFacts({ env, cwd, now }: FactSources): SystemFacts {
  const name = os.platform() === 'darwin' ? 'macos' : os.platform();
  return {
    os: name,
    os_distro: distribution() ?? name,
    os_family: name === 'win32' ? 'windows' : 'unix',
    arch: os.machine(),
    shell: basename(env.REEF_SHELL ?? env.SHELL ?? '/bin/sh'),
    locale: (env.LC_ALL ?? env.LANG ?? 'C').split('.')[0] ?? 'C',
    now: now.toISOString(),
    cwd,
  };
}

function distribution(): string | undefined {
  try {
    return /^PRETTY_NAME="?(.*?)"?$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1];
  } catch {
    return undefined; // not a Linux that says so
  }
}

/** Fills in the facts; a name that is none of them stays as it is. */
export function fillFacts(prompt: string, facts: SystemFacts): string {
  return prompt.replace(/\{\{__([a-z_]+?)__\}\}/g, (whole, name: string) =>
    Object.hasOwn(facts, name) ? facts[name as keyof SystemFacts] : whole,
  );
}
