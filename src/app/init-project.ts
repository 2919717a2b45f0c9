import { existsSync, lstatSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setAside, writeAtomic } from '../base/atomic-file.ts';
import type { Clock } from '../base/clock.ts';
import { commandFrom } from '../base/command-line.ts';
import { refusePath } from '../base/safe-path.ts';
import type { Checkout } from '../git/checkout.ts';
import type { Git } from '../git/git-command.ts';
import { findCommit, readIdentity } from '../git/repository.ts';
import { readStatus } from '../git/status.ts';
import { ReefError } from '../protocol/errors.ts';
import { GATES, type Gate } from '../protocol/workflow.ts';
import { PROJECT_CONFIG, readOverlay, readProjectFile } from '../workflow/project/project-config.ts';
import { type Proposal, proposalBelow, proposeProject } from '../workflow/project/propose.ts';
import type { ProjectFolder, Suggestion } from '../workflow/project/toolchain.ts';
import type { RunCommand } from './what-runs.ts';

export interface ProjectLook {
  root: string;
  /** Where the proposal was found, relative to the root; empty for the root itself. */
  folder: string;
  proposal: Proposal;
  /** Of gates and set-up, where they run. */
  commands: RunCommand[];
  /** Folders that could be proposed, when neither the root nor the current folder has commands. */
  elsewhere: string[];
}

export type CommandWish = Gate | 'setup';

interface LookRequest {
  root: string;
  /** The current folder, relative to the root. */
  below: string;
  /** Commands a person named; they replace those that were found. */
  said: Partial<Record<CommandWish, string>>;
}

/** Proposes the commands of the root, or of the current folder if the root has none. Gates run at the root of a worktree. */
export async function lookAtProject({ root, below, said }: LookRequest): Promise<ProjectLook> {
  const atRoot = await proposeProject(await folderAt(root));
  const isBelow = below !== '' && Object.keys(atRoot.gates).length === 0;
  const here = isBelow ? await proposeProject(await folderAt(join(root, below))) : atRoot;
  const folder = isBelow && here.toolchains.length > 0 ? below : '';
  const own = folder === '' ? atRoot : here;
  const theirs = wishesOf(said);
  const proposal = withWishes(folder === '' ? own : proposalBelow(own, folder), theirs);
  const found = Object.entries(commandsOf(own)).filter(([name]) => !Object.hasOwn(theirs, name));
  const commands = [
    ...found.map(([name, { command }]) => ({ of: wordFor(name), command, folder })),
    ...Object.entries(theirs).map(([name, { command }]) => ({ of: wordFor(name), command })),
  ];
  const isNothing = proposal.toolchains.length === 0 && Object.keys(proposal.gates).length === 0;
  return {
    root,
    folder,
    proposal,
    commands,
    elsewhere: isNothing ? await recognisedBelow(root) : [],
  };
}

const wordFor = (name: string) => (name === 'setup' ? 'set-up' : name);

type Commands = Partial<Record<CommandWish, Suggestion>>;

function wishesOf(said: LookRequest['said']): Commands {
  const wishes = Object.entries(said).map(([name, text]) => {
    if (text.trim() === '') throw new ReefError('bad_request', 'a command is empty');
    return [name, { command: commandFrom(text), because: 'you said so' }];
  });
  return Object.fromEntries(wishes);
}

function commandsOf({ gates, setup }: Proposal): Commands {
  return { ...gates, ...(setup && { setup }) };
}

function withWishes(proposal: Proposal, wishes: Commands): Proposal {
  const { setup, ...gates } = { ...commandsOf(proposal), ...wishes };
  const alternatives = proposal.alternatives.filter((each) => !Object.hasOwn(wishes, each.for));
  return { ...proposal, gates, alternatives, ...(setup && { setup }) };
}

async function folderAt(root: string): Promise<ProjectFolder> {
  const names = new Set(await readdir(root));
  return {
    names,
    // A link out of the repository is not followed; an unreadable file counts as absent.
    read: async (name) =>
      names.has(name.split('/')[0] ?? '') ? readProjectFile(root, name).catch(() => undefined) : undefined,
  };
}

const MOST_FOLDERS = 200;
const HIDDEN = /^\.|^node_modules$|^vendor$/;

/** Looks at folders one and two levels down. */
async function recognisedBelow(root: string): Promise<string[]> {
  const first = await foldersIn(root, '');
  const second = (await Promise.all(first.map((folder) => foldersIn(root, folder)))).flat();
  const found = [...first, ...second].slice(0, MOST_FOLDERS).map(async (folder) => {
    const { gates } = await proposeProject(await folderAt(join(root, folder)));
    return Object.keys(gates).length > 0 ? [folder] : [];
  });
  return (await Promise.all(found)).flat();
}

async function foldersIn(root: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && !HIDDEN.test(entry.name))
    .map(({ name }) => join(folder, name));
}

export function hasCommands(proposal: Proposal): boolean {
  return Object.keys(commandsOf(proposal)).length > 0;
}

const HEAD = `# What Reef runs in the worktrees of this repository. Written by \`reef init\`; yours to change, and in effect after
# \`reef trust\`. git does not see this file; \`git add -f ${PROJECT_CONFIG}\` shares it with a team.
`;

/** Commands in flow style; JSON strings are valid YAML. */
export function configText({ gates, setup }: Proposal): string {
  const line = (name: string, { command, because }: Suggestion) =>
    `    ${name}: [${command.map((word) => JSON.stringify(word)).join(', ')}] # ${because.replaceAll(/\s+/g, ' ')}\n`;
  const commands = GATES.flatMap((gate) => (gates[gate] ? [line(gate, gates[gate])] : [])).join('');
  return `${HEAD}reef:\n${setup ? `  worktree:\n${line('setup', setup)}` : ''}${commands && `  gates:\n${commands}`}`;
}

export type ConfigState = 'none' | 'new' | 'same' | 'different';

/** Throws when the file that is there cannot be used, so that it does not fail in the first run. */
export async function configState(root: string, text: string, isEmpty: boolean): Promise<ConfigState> {
  const before = await readProjectFile(root, PROJECT_CONFIG);
  if (before === undefined) return isEmpty ? 'none' : 'new';
  readOverlay(before);
  return before === text ? 'same' : 'different';
}

/** Sets an earlier file aside, and returns where. */
export async function writeConfig(root: string, text: string, clock: Clock): Promise<string | undefined> {
  const path = join(root, PROJECT_CONFIG);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  if (lstatSync(dirname(path)).isSymbolicLink()) throw refusePath(PROJECT_CONFIG, 'leads through a link');
  const aside = existsSync(path) ? setAside(path, clock, 'before') : undefined;
  await writeAtomic(path, text, { mode: 0o644 });
  return aside;
}

export interface CheckoutLook {
  hasCommit: boolean;
  hasIdentity: boolean;
  /** Files with changes that no commit has. */
  changed: number;
  /** Folders that the tools leave behind and that git does not ignore. */
  notIgnored: string[];
}

export async function lookAtCheckout(git: Git, root: string, leaves: readonly string[]): Promise<CheckoutLook> {
  const checkout = await git.locate(root);
  const ignored = await Promise.all(leaves.map((name) => isIgnored(git, checkout, name)));
  const status = await readStatus(git, checkout);
  return {
    hasCommit: (await findCommit(git, checkout, 'HEAD')) !== undefined,
    hasIdentity: (await readIdentity(git, checkout)) !== undefined,
    changed: status.filter(({ path }) => !path.startsWith('.reef/')).length,
    notIgnored: leaves.filter((_, index) => !ignored[index]),
  };
}

/** With a slash, because most patterns are for folders, which may not exist yet. `check-ignore` takes no literal names. */
async function isIgnored(git: Git, checkout: Checkout, folder: string): Promise<boolean> {
  const { code } = await git.call(checkout, ['--no-literal-pathspecs', 'check-ignore', '--quiet', '--', `${folder}/`], {
    okCodes: [0, 1],
  });
  return code === 0;
}
