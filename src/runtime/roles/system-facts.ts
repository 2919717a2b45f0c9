import { readFileSync } from 'node:fs';
import os from 'node:os';
import { basename } from 'node:path';

interface FactSources {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  now: Date;
}

/** Facts about the machine for prompts, such as `{{__os__}}`. */
export function systemFacts({ env, cwd, now }: FactSources) {
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
    return undefined; // only Linux has the file
  }
}

/** Fills in the facts; an unknown name stays as it is. */
export function fillFacts(prompt: string, facts: Readonly<Record<string, string>>): string {
  return prompt.replace(/\{\{__([a-z_]+?)__\}\}/g, (whole, name: string) =>
    Object.hasOwn(facts, name) ? (facts[name] ?? whole) : whole,
  );
}
