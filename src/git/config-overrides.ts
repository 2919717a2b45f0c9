import { join, resolve } from 'node:path';
import { ReefError } from '../protocol/errors.ts';
import { type Checkout, isSameCheckout, readCheckout, redirected, stampOf } from './checkout.ts';
import { namedOverrides, type Overrides } from './hardening.ts';
import { nulFields } from './nul-fields.ts';

/** Runs git with the fixed overrides only, for the questions that come first. */
export type AskGit = (dir: string, args: readonly string[]) => Promise<Buffer>;

interface Entry {
  /** Files outside the repository that took part: the user's and the system's. */
  origins: readonly string[];
  stamp: string;
  overrides: Overrides;
}

const MOST_ENTRIES = 500;

/** Drivers of a repository that run all the same, because a person saw and trusted what they run. */
export interface OpenDrivers {
  /** What the choice depends on beside git's own configuration. */
  files: readonly string[];
  /** Such as `filter.lfs`. Gets what git would run, such as `filter.lfs.clean` and its command. */
  choose(settings: ReadonlyMap<string, string>): Promise<readonly string[]>;
}

/**
 * Checks before every command that git still finds the checkout we recorded, and which names of its configuration must be
 * overridden. Both depend on files only, so git is asked again only after one of them changed.
 */
export function createCheckoutCheck(ask: AskGit, open?: OpenDrivers): (checkout: Checkout) => Promise<Overrides> {
  const known = new Map<string, Entry>();
  const filesOf = (checkout: Checkout) => [...ownFiles(checkout), ...(open?.files ?? [])];

  const withoutOpen = async (overrides: Overrides, toplevel: string): Promise<Overrides> => {
    if (open === undefined || !overrides.some(([key]) => isDriver(key))) return overrides;
    const names = await open.choose(await driverSettings(ask, toplevel));
    return overrides.filter(([key]) => !(isDriver(key) && names.includes(sectionOf(key))));
  };

  const learn = async (checkout: Checkout): Promise<Overrides> => {
    const { toplevel } = checkout;
    const own = filesOf(checkout);
    const first = await tryStamp(own);
    refuseOther(checkout, await askCheckout(ask, toplevel));
    const { keys, origins, includes } = await readConfig(ask, toplevel);
    const overrides = await withoutOpen(namedOverrides(keys), toplevel);
    const stamp = await tryStamp([...own, ...origins]);
    known.delete(toplevel);
    // Equal stamps before and after: git read what the files say now.
    const isSure = !includes && first !== undefined && first === (await tryStamp(own));
    if (isSure && stamp !== undefined) known.set(toplevel, { origins, stamp, overrides });
    const [oldest] = known.keys();
    if (known.size > MOST_ENTRIES && oldest !== undefined) known.delete(oldest);
    return overrides;
  };

  return async (checkout) => {
    refuseOther(checkout, await readCheckout(checkout.toplevel));
    const entry = known.get(checkout.toplevel);
    const stamp = entry && (await tryStamp([...filesOf(checkout), ...entry.origins]));
    return entry !== undefined && stamp === entry.stamp ? entry.overrides : learn(checkout);
  };
}

/** What changes files on their way in, out and in merges. A diff driver only shows, and everything else acts on more than files. */
function isDriver(key: string): boolean {
  return /^(?:filter|merge)\./.test(key);
}

/** `filter.lfs` of `filter.lfs.clean`; the name between may hold dots. */
function sectionOf(key: string): string {
  return key.slice(0, key.lastIndexOf('.'));
}

/** What git has configured for drivers, by key. */
export async function driverSettings(ask: AskGit, toplevel: string): Promise<Map<string, string>> {
  const fields = [...nulFields(await ask(toplevel, ['config', '--list', '-z']))].map((field) => field.toString('utf8'));
  const pairs = fields.map((field): [string, string] => {
    const end = field.indexOf('\n');
    return end === -1 ? [field, ''] : [field.slice(0, end), field.slice(end + 1)];
  });
  return new Map(pairs.filter(([key]) => isDriver(key)));
}

/** Git itself complains about files that cannot be read; nothing is remembered of them. */
function tryStamp(files: readonly string[]): Promise<string | undefined> {
  return stampOf(files).catch(() => undefined);
}

/** The files of a repository that decide where it is and how it is configured, present or not. */
function ownFiles({ toplevel, gitDir, commonDir }: Checkout): string[] {
  const pointers = gitDir === commonDir ? [] : [join(toplevel, '.git'), join(gitDir, 'commondir')];
  return [...pointers, join(commonDir, 'config'), join(gitDir, 'config.worktree')];
}

/** An include may depend on the branch or on files that do not exist yet: such a configuration is read each time. */
async function readConfig(ask: AskGit, toplevel: string) {
  const listed = await ask(toplevel, ['config', '--list', '-z', '--show-origin', '--name-only']);
  const fields = [...nulFields(listed)];
  const keys = fields.filter((_, index) => index % 2 === 1);
  const files = fields.filter((_, index) => index % 2 === 0).map((origin) => origin.toString('utf8'));
  const isFile = (origin: string) => origin.startsWith('file:');
  const origins = [...new Set(files.filter(isFile))].map((origin) => resolve(toplevel, origin.slice('file:'.length)));
  const includes = keys.some((key) => /^include(if)?\./i.test(key.toString('utf8')));
  return { keys, origins, includes };
}

/** First contact with a folder a person named, at its top or below. */
export async function locate(ask: AskGit, dir: string): Promise<Checkout> {
  const checkout = await askCheckout(ask, dir);
  const isInside =
    dir === checkout.toplevel || dir.startsWith(checkout.toplevel === '/' ? '/' : `${checkout.toplevel}/`);
  if (!isInside) throw redirected(dir, `is taken by git for a part of ${checkout.toplevel}`);
  refuseOther(await readCheckout(checkout.toplevel), checkout);
  return checkout;
}

/** What git takes a folder for. */
async function askCheckout(ask: AskGit, dir: string): Promise<Checkout> {
  const wanted = ['--is-bare-repository', '--show-toplevel', '--absolute-git-dir', '--git-common-dir'];
  const answer = await ask(dir, ['rev-parse', '--path-format=absolute', ...wanted]).catch((error: unknown) => {
    throw notACheckout(dir, error);
  });
  const [, toplevel, gitDir, commonDir, ...rest] = answer.toString('utf8').split('\n');
  if (!toplevel || !gitDir || !commonDir || rest.length !== 1) throw redirected(dir, 'has a path git cannot name');
  return { toplevel, gitDir, commonDir };
}

function notACheckout(dir: string, cause: unknown): unknown {
  if (!(cause instanceof ReefError) || cause.code !== 'git_failed') return cause;
  if (/not a git repository/i.test(cause.message)) {
    return new ReefError('not_a_repository', `${dir} is not inside a git repository.`, { cause });
  }
  const isBare = /bare repository|must be run in a work tree/i.test(cause.message);
  return isBare ? new ReefError('repo_bare', `${dir} is in a repository without a checkout.`, { cause }) : cause;
}

function refuseOther(record: Checkout, found: Checkout): void {
  if (isSameCheckout(record, found)) return;
  throw redirected(record.toplevel, `leads to ${found.toplevel} of ${found.gitDir} and not to ${record.gitDir}`);
}
