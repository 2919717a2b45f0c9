import { isUtf8 } from 'node:buffer';
import { ReefError } from '../protocol/errors.ts';

/** Configuration laid over that of the repository; git gives the command's own values the last word. */
export type Overrides = readonly (readonly [key: string, value: string])[];

/** Git waits this long for a foreign ref lock before it gives up. */
export const LOCK_WAIT_MS = 10_000;

/** Turns off whatever names a program, signs, asks or connects; the last four guard against a planted `.git` and background work. */
export function fixedOverrides(lockWaitMs: number): Overrides {
  return [
    ['core.fsmonitor', 'false'],
    ['core.hooksPath', '/dev/null'],
    ['safe.bareRepository', 'explicit'],
    ['submodule.recurse', 'false'],
    ['commit.gpgSign', 'false'],
    ['tag.gpgSign', 'false'],
    ['log.showSignature', 'false'],
    ['merge.verifySignatures', 'false'],
    ['core.editor', 'false'],
    ['sequence.editor', 'false'],
    ['diff.external', ''],
    ['core.askPass', ''],
    ['core.alternateRefsCommand', ''],
    ['credential.helper', ''],
    ['core.sshCommand', 'ssh'],
    ['core.gitProxy', ''],
    ['protocol.allow', 'never'],
    ['core.filesRefLockTimeout', `${lockWaitMs}`],
    ['core.packedRefsTimeout', `${lockWaitMs}`],
    ['core.protectHFS', 'true'],
    ['core.protectNTFS', 'true'],
    ['gc.auto', '0'],
    ['maintenance.auto', 'false'],
  ];
}

/** The environment of git. With `GIT_ALLOW_PROTOCOL` empty, a missing object is an error and never a connection. */
export function gitEnv(from: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(from).filter(([name]) => !/^(GIT_|SSH_ASKPASS)/i.test(name));
  return {
    ...Object.fromEntries(kept),
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_EDITOR: 'false',
    GIT_ASKPASS: 'true',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: '',
    GIT_LITERAL_PATHSPECS: '1',
    LC_ALL: 'C',
  };
}

export function overrideEnv(overrides: Overrides): Record<string, string> {
  const pairs = overrides.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, key],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return { GIT_CONFIG_COUNT: `${overrides.length}`, ...Object.fromEntries(pairs) };
}

/** The built-in text merge: empty is a fatal error, `false` a conflict every time. */
const TEXT_MERGE = 'git merge-file --marker-size=%L %A %O %B';

/** No switch turns these off, so each name is overridden: filters, drivers, hooks, and merge strategies, which are programs. */
const FAMILIES: Record<string, Overrides> = {
  filter: [
    ['clean', ''],
    ['smudge', ''],
    ['process', ''],
    ['required', 'false'],
  ],
  diff: [
    ['command', ''],
    ['textconv', ''],
  ],
  merge: [['driver', TEXT_MERGE]],
  hook: [
    ['enabled', 'false'],
    ['command', 'true'],
  ],
  branch: [['mergeoptions', '']],
};
const NAMED = /^(filter|diff|merge|hook|branch)\.(.*)\.([^.]*)$/s;
/** They travel in the environment, whose size the kernel bounds. */
const MOST_BYTES = 64 * 1024;

/** Overrides for the configuration keys a repository has, as `git config --list --name-only -z` gives them. */
export function namedOverrides(keys: readonly Buffer[]): Overrides {
  const found = new Map<string, readonly [string, string]>();
  let bytes = 0;
  for (const key of keys) {
    const [, section = '', name = '', variable = ''] = NAMED.exec(key.toString('utf8')) ?? [];
    const family = FAMILIES[section]?.filter(([own]) => section !== 'branch' || own === variable) ?? [];
    // Node passes text only: another byte string would reach git as another name, and the driver would stay.
    if (family.length > 0 && !isUtf8(key)) throw refused('is not text', key);
    for (const [own, value] of family) {
      const full = `${section}.${name}.${own}`;
      if (!found.has(full)) bytes += Buffer.byteLength(full);
      found.set(full, [full, value]);
    }
    if (bytes > MOST_BYTES) throw refused(`is one of more than ${MOST_BYTES} bytes of names`, key);
  }
  return [...found.values()];
}

function refused(why: string, key: Buffer): ReefError {
  const shown = JSON.stringify(key.toString('utf8').slice(0, 200));
  return new ReefError('git_config_refused', `The configuration key ${shown} of the repository ${why}.`);
}
