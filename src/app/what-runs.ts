import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, normalize, relative, resolve } from 'node:path';
import { sandboxFor } from '../agents/sandbox.ts';
import type { Environment } from '../base/env.ts';
import { findOnPath, isProgram } from '../base/programs.ts';
import type { Git } from '../git/git-command.ts';
import { listIndex } from '../git/tree.ts';
import { probeCapabilities } from '../process/capabilities.ts';
import { allowedEnv } from '../process/environment.ts';
import type { ReefBlock } from '../runtime/config/reef-block.ts';
import { boundGates } from '../workflow/workers/bound-gates.ts';

/** A command that runs will use. */
export interface RunCommand {
  /** `set-up`, or the name of a gate. */
  of: string;
  command: readonly string[];
  /** Where it runs, relative to the root. */
  folder?: string;
}

/** A program that a run would not find, and where it lacks it. */
export interface MissingProgram {
  of: string;
  program: string;
  from: 'path' | 'commit' | 'sandbox';
}

interface Place {
  root: string;
  git: Git;
  env: Environment;
  settings: Pick<ReefBlock, 'sandbox' | 'pass_env'>;
}

/**
 * Looks as a run will: for the program of the set-up before anything is installed, for those of gates after the set-up,
 * which may bring them. A worktree holds what is committed and nothing else, and its sandbox hides what nobody named.
 */
export async function missingPrograms(commands: readonly RunCommand[], place: Place): Promise<MissingProgram[]> {
  const setup = commands.filter(({ of }) => of === 'set-up');
  const looked = setup.length > 0 ? setup : commands;
  const all = looked.map(({ of, command: [program = ''], folder = '' }) => ({ of, program, folder }));
  const isPath = ({ program }: { program: string }) => program.includes('/');
  const own = all.filter((each) => isPath(each) && !each.program.startsWith('/'));
  const tracked = own.length === 0 ? new Set<string>() : await trackedFiles(place);
  const bare = all.filter((each) => !own.includes(each));
  const lacking = bare.filter(({ program }) => findOnPath(program, place.env.path) === undefined);
  const hidden = await hiddenPrograms(
    bare.flatMap((each) => (lacking.includes(each) ? [] : [each.program])),
    place,
  );
  return all.flatMap((each): MissingProgram[] => {
    const { of, program, folder } = each;
    if (lacking.includes(each)) return [{ of, program, from: 'path' }];
    if (hidden.has(program)) return [{ of, program, from: 'sandbox' }];
    if (!own.includes(each) || tracked.has(normalize(join(folder, program)))) return [];
    return [{ of, program, from: isProgram(resolve(place.root, folder, program)) ? 'commit' : 'path' }];
  });
}

async function trackedFiles({ git, root }: Place): Promise<Set<string>> {
  const checkout = await git.locate(root);
  const below = relative(checkout.toplevel, root);
  const names = new Set<string>();
  for await (const { path } of listIndex(git, checkout)) names.add(relative(below, path));
  return names;
}

/** A script is there when its interpreter is. */
const LOOK = `for program; do
  file=$(command -v -- "$program") || { echo "$program"; continue; }
  bang= rest=
  read -r bang rest < "$file"
  case $bang in
    '#!') with=\${rest%% *} ;;
    '#!'*) with=\${bang#??} ;;
    *) continue ;;
  esac
  [ -x "$with" ] || echo "$program"
done`;
const LOOK_MS = 10_000;

/** Which of these programs, all on PATH, are not there in the sandbox in which set-up and gates run. */
async function hiddenPrograms(programs: readonly string[], { env, settings }: Place): Promise<Set<string>> {
  const own = settings.sandbox;
  const capabilities = await probeCapabilities();
  if (programs.length === 0 || own.mode === 'off' || capabilities.bubblewrap === undefined) return new Set();
  const folder = mkdtempSync(join(tmpdir(), 'reef-look-'));
  const [cwd, homeDir, sockets] = ['work', 'home', 'sockets'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(cwd);
  const surroundings = { own, homeDir, sockets, env: env.all, program: '/bin/sh' };
  const look = boundGates({
    capabilities,
    sandboxOf: () => sandboxFor({ id: 'look', cwd, sandbox: 'bubblewrap' }, surroundings),
  });
  try {
    const { stdout } = await look({
      ...{ file: '/bin/sh', args: ['-c', LOOK, 'sh', ...programs], cwd },
      ...{ env: allowedEnv(env.all, settings.pass_env, { PATH: env.path }), timeoutMs: LOOK_MS },
      ...{ output: 'apart', abort: new AbortController().signal },
    });
    return new Set(stdout.toString('utf8').split('\n').filter(Boolean));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What to know, and what to do about it. */
export function lackWords({ of, program, from }: MissingProgram): { what: string; does: string } {
  const needs = `${of === 'set-up' ? 'the set-up' : of} needs ${program}, which`;
  if (from === 'path') return { what: `${needs} is not on PATH`, does: 'install it, or name another command' };
  if (from === 'commit') return { what: `${needs} is not committed`, does: `git add ${program} and commit it` };
  const does = 'name its folder in the configuration: `reef: { sandbox: { read: [FOLDER] } }`';
  return { what: `${needs} the sandbox does not show`, does };
}
