import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import {
  type CommandWish,
  type ConfigState,
  configState,
  configText,
  hasCommands,
  lookAtCheckout,
  lookAtProject,
  writeConfig,
} from '../../../app/init-project.ts';
import { missingPrograms } from '../../../app/what-runs.ts';
import { systemClock } from '../../../base/clock.ts';
import { findRepository } from '../../../base/home.ts';
import { createGit } from '../../../git/git-command.ts';
import { allowedEnv, SYSTEM_PATH } from '../../../process/environment.ts';
import { run } from '../../../process/run.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { TrustItem } from '../../../protocol/trust.ts';
import { TrustFile, trustPath } from '../../../runtime/config/trust-file.ts';
import { readConfig } from '../../../runtime/config/user-config.ts';
import { Project } from '../../../workflow/project/project.ts';
import { PROJECT_CONFIG } from '../../../workflow/project/project-config.ts';
import { detectAll, readyAgents, userOf } from '../../doctor/ready-agents.ts';
import type { Cli, Command } from '../cli.ts';
import { checkBase } from './base-check.ts';
import { nextCommands, notesOf } from './init-advice.ts';
import { type ConfigOutcome, renderAhead, renderFound } from './init-report.ts';
import { isOpen, shown, trustShown } from './trust.ts';

interface Flags {
  dryRun?: boolean;
  force?: boolean;
  yes?: boolean;
  check?: boolean;
}
type Options = Partial<Record<CommandWish, string>> & Flags;

/** Looks at a repository, writes down what Reef should run in it, and says what a first run still needs. */
export const init: Command<Options> = async (cli, _args, options) => {
  const { report, rest } = await prepare(cli, options);
  cli.print({ ...report, ...rest }, () => renderAhead(rest, cli.style));
  return 0;
};

/** At a terminal, before a run: what `reef init` would find, and whether the person trusts what the repository brings. */
export async function prepareFirstRun(cli: Cli): Promise<void> {
  const root = findRepository(cli.cwd);
  if (root === undefined || cli.env.reefSocket !== undefined) return;
  if (!existsSync(join(root, PROJECT_CONFIG)) && (await hasTests(root))) await prepare(cli, {});
  else await offerTrust(cli, false);
}

async function hasTests(root: string): Promise<boolean> {
  return hasCommands((await lookAtProject({ root, below: '', said: {} })).proposal);
}

async function prepare(cli: Cli, { dryRun = false, force = false, yes = false, check, ...said }: Options) {
  refuseAgents(cli);
  const root = repositoryAround(cli.cwd);
  const detected = detectAll(cli.env);
  detected.catch(() => {}); // awaited below, after what may fail first
  const below = relative(root, cli.cwd);
  const look = await lookAtProject({ root, below: below.startsWith('..') ? '' : below, said });
  const git = createGit({ run, env: allowedEnv(cli.env.all, [], { PATH: SYSTEM_PATH }) });
  const checkout = await lookAtCheckout(git, root, look.proposal.leaves);
  const text = configText(look.proposal);
  const isEmpty = !hasCommands(look.proposal);
  const state = await configState(root, text, isEmpty);
  const isMeant = !isEmpty && (state === 'new' || (state === 'different' && force));
  const isWritten = isMeant && !dryRun;
  const aside = isWritten ? await writeConfig(root, text, systemClock) : undefined;
  const user = userOf(cli.env, cli.cwd);
  const agents = readyAgents(await detected, user);
  const report = {
    repository: root,
    folder: look.folder,
    toolchains: look.proposal.toolchains,
    gates: look.proposal.gates,
    setup: look.proposal.setup ?? null,
    alternatives: look.proposal.alternatives,
    config: { path: PROJECT_CONFIG, state: settled(state, { isMeant, isWritten }), ...(aside && { aside }) },
    agents,
  };
  if (!cli.json) cli.out(renderFound(report, cli.style));
  const items = dryRun ? await trustAhead(cli, root, isMeant) : await offerTrust(cli, yes);
  const isKept = state === 'different' && !isMeant;
  const place = { root, git, env: cli.env, settings: readConfig(cli.env) };
  const missing = isKept ? [] : await missingPrograms(look.commands, place);
  const seen = { look, missing, checkout, agents, items, isKept };
  const notes = notesOf(seen);
  const base = dryRun ? undefined : await gatesOnBase(cli, seen, { check, notes });
  const next = nextCommands(seen, { wanted: user.wanted, isInteractive: cli.isInteractive, isDry: dryRun });
  const trust = items.map(({ name, trusted }) => ({ name, trusted }));
  return { report, rest: { trust, notes, next, ...(base && { base }) } };
}

function refuseAgents({ env }: Cli): void {
  if (env.reefSocket === undefined) return;
  const why = '`reef init` is for people: an agent may not choose the tests that judge its work';
  throw new ReefError('not_yours', why);
}

type Seen = Parameters<typeof notesOf>[0];

/** Nothing of the repository runs before all of it is trusted. Without a person there it is not done unasked. */
async function gatesOnBase(cli: Cli, seen: Seen, { check, notes }: { check: boolean | undefined; notes: string[] }) {
  const { look, checkout, items, isKept } = seen;
  if (!(check ?? (cli.isInteractive && !cli.json))) return undefined;
  const hasGates = isKept || Object.keys(look.proposal.gates).length > 0;
  if (hasGates && checkout.hasCommit && items.every(({ trusted }) => trusted)) return checkBase(cli);
  if (check)
    notes.push('The gates were not run: that takes a gate, a commit, and your trust in what the repository brings.');
  return undefined;
}

function repositoryAround(cwd: string): string {
  const found = findRepository(cwd);
  if (found !== undefined) return found;
  const bare = bareAround(cwd);
  throw new ReefError(
    'not_a_repository',
    bare === undefined
      ? `${cwd} is not in a git repository. To make one: git init && git add -A && git commit -m "start"`
      : `${bare} is a bare repository without files to work on. Clone it, and run \`reef init\` in the clone.`,
  );
}

function bareAround(folder: string): string | undefined {
  if (['HEAD', 'objects', 'refs'].every((name) => existsSync(join(folder, name)))) return folder;
  return dirname(folder) === folder ? undefined : bareAround(dirname(folder));
}

function settled(state: ConfigState, { isMeant, isWritten }: { isMeant: boolean; isWritten: boolean }): ConfigOutcome {
  if (isMeant && !isWritten) return 'would_write';
  if (isWritten) return state === 'new' ? 'written' : 'replaced';
  return state === 'different' ? 'kept' : state === 'same' ? 'same' : 'none';
}

type Asked = Pick<TrustItem, 'name' | 'trusted'>;

/** What there will be to trust, without starting a daemon. A file that is not written yet is not trusted. */
async function trustAhead({ env }: Cli, root: string, isMeant: boolean): Promise<Asked[]> {
  const project = new Project({ root, trust: new TrustFile(trustPath(env)), clock: systemClock });
  const { items } = await project.trust({ hashes: [] }, { by: 'init', surface: 'cli' });
  if (!isMeant) return items;
  return [...items.filter(({ name }) => name !== PROJECT_CONFIG), { name: PROJECT_CONFIG, trusted: false }];
}

/** Shows what is not trusted yet and asks. Without a person or `--yes`, nothing is shown or trusted. */
async function offerTrust(cli: Cli, yes: boolean): Promise<Asked[]> {
  const { items } = await cli.client().call('trust', {});
  const open = items.filter(isOpen);
  if (open.length === 0 || !(yes || cli.isInteractive)) return items;
  if (!cli.json) for (const item of open) cli.out(shown(cli, item));
  return (await trustShown(cli, open, yes))?.items ?? items;
}
