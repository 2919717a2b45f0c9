import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunsRig } from '../../e2e/runs-rig.ts';

const GH = fileURLToPath(new URL('./stand-in-gh.mjs', import.meta.url));

interface Pull {
  number: number;
  url: string;
  head: string;
  base: string;
  title: string;
  body: string;
  state: string;
  reviewDecision: string;
  statusCheckRollup: object[];
  reviews: object[];
  comments: object[];
}

export interface StandInForge {
  /** The bare repository behind its address. */
  bare: string;
  pulls(): Pull[];
  /** What happens at the forge: somebody reviews, a check ends. */
  change(what: (pull: Pull) => Partial<Pull>): void;
  /** What else it answers: logs by their job, `api` by its path. */
  hold(more: { logs?: Record<string, string>; api?: Record<string, object[]> }): void;
  calls(): { words: string[]; input?: string }[];
}

/** A forge at `github.com/acme/shop`, as far as the repository of the rig can tell: git pushes to a folder, and `gh` is ours. */
export function standInForge(rig: RunsRig): StandInForge {
  const { world } = rig;
  const [folder, bin, bare] = ['forge', 'forge/bin', 'forge/shop.git'].map((name) => join(world.root, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'gh'), `#!/bin/sh\nexec '${process.execPath}' '${GH}' "$@"\n`, { mode: 0o755 });
  rig.git('init', '-q', '--bare', '-b', 'main', bare);
  rig.git('remote', 'add', 'origin', 'git@github.com:acme/shop.git');
  rig.git('config', `url.${bare}.insteadOf`, 'git@github.com:acme/shop.git');
  rig.git('push', '-q', 'origin', 'main');
  world.env.PATH = `${bin}:${world.env.PATH}`;
  world.env.STAND_IN_FORGE = folder;
  const file = join(folder, 'forge.json');
  const read = () => JSON.parse(readFileSync(file, 'utf8')) as { pulls: Pull[] };
  return {
    bare,
    pulls: () => read().pulls,
    change(what) {
      const { pulls, ...rest } = read();
      writeFileSync(file, JSON.stringify({ ...rest, pulls: pulls.map((pull) => ({ ...pull, ...what(pull) })) }));
    },
    hold: (more) => writeFileSync(file, JSON.stringify({ ...read(), ...more })),
    calls: () =>
      readFileSync(join(folder, 'calls.jsonl'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
  };
}
