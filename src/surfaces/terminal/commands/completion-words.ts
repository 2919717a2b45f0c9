import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { AdapterRegistry } from '../../../agents/registry.ts';
import { findRepository } from '../../../base/home.ts';
import { isOver } from '../../../protocol/is-over.ts';
import { listAgents } from '../../../runtime/agent-spec/load.ts';
import { readConfig } from '../../../runtime/config/user-config.ts';
import { createPaths } from '../../../runtime/paths.ts';
import { findManifest } from '../../../workflow/manifest/manifest-file.ts';
import { SHIPPED } from '../../../workflow/shipped/shipped.ts';
import type { Client } from '../../client/client.ts';
import { oneLine } from '../../render/columns.ts';
import { shortAgent, shortIds } from '../../render/short-names.ts';
import { openRuntimeAlone } from '../chat/conversation.ts';
import type { Cli } from '../cli.ts';
import type { Looked, Word } from './complete-line.ts';
import { type Listed, namesOf } from './runtime-folder.ts';

const WIDTH = 60;
const bare = (values: readonly string[]): Word[] => values.map((value) => ({ value, about: '' }));

/** What a shell offers besides commands and options. It starts no daemon: where none runs there are no tasks at work. */
export const WORDS: Record<Looked, (cli: Cli) => Promise<Word[]>> = {
  ids: (cli) =>
    ofDaemon(cli, async (client) => {
      const [runs, jobs] = [await runsOf(client), await jobsOf(client)];
      return [{ value: '@last', about: 'the newest' }, ...shortened([...runs, ...jobs])];
    }),
  runs: (cli) =>
    ofDaemon(cli, async (client) => [{ value: '@last', about: 'the newest' }, ...shortened(await runsOf(client))]),
  worktrees: (cli) =>
    ofDaemon(cli, async (client) => {
      const { worktrees } = await client.call('worktrees', { all: false });
      return shortened(worktrees.map(({ id, title, status }) => ({ value: id, about: `${status}: ${title}` })));
    }),
  questions: (cli) =>
    ofDaemon(cli, async (client) => {
      const { questions } = await client.call('inbox', {});
      return questions.map(({ questionId, question }) => ({ value: questionId, about: question }));
    }),
  async agents({ env }) {
    const known = new AdapterRegistry(() => readConfig(env).agents).names();
    const own = listAgents(createPaths(env.all, env.home)).map((name) => `native:${name}`);
    return bare([...new Set([...known, ...own])]);
  },
  async workflows({ cwd }) {
    const repository = findRepository(cwd);
    const read = (path: string) => readFile(join(repository ?? cwd, path), 'utf8').catch(() => undefined);
    const file = await findManifest(read);
    return bare([...SHIPPED, ...Object.keys(file ? (parse(file.text)?.nodes ?? {}) : {})]);
  },
  models: (cli) => named(cli, 'models'),
  roles: (cli) => named(cli, 'roles'),
  sessions: (cli) => named(cli, 'sessions'),
  macros: (cli) => named(cli, 'macros'),
  rags: (cli) => named(cli, 'rags'),
  chatAgents: (cli) => named(cli, 'agents'),
};

/** As one line beside its value. */
export const aboutLine = ({ about }: Word): string => oneLine(about, WIDTH);

async function named(cli: Cli, what: Listed): Promise<Word[]> {
  const { app } = await openRuntimeAlone(cli);
  return bare(await namesOf(app, what));
}

async function ofDaemon(cli: Cli, look: (client: Client) => Promise<Word[]>): Promise<Word[]> {
  const client = cli.client();
  return (await client.daemon()) ? look(client) : [];
}

async function runsOf(client: Client): Promise<Word[]> {
  const { runs } = await client.call('runs', {});
  return runs.map(({ runId, task, status }) => ({ value: runId, about: `${status}: ${task}` }));
}

/** Those at work first. */
async function jobsOf(client: Client): Promise<Word[]> {
  const { jobs } = await client.call('status', {});
  const sorted = [...jobs].sort((a, b) => Number(isOver(a.status)) - Number(isOver(b.status)));
  return sorted.map(({ id, agent, task, status }) => ({ value: id, about: `${shortAgent(agent)} ${status}: ${task}` }));
}

function shortened(words: readonly Word[]): Word[] {
  const short = shortIds(words.map(({ value }) => value));
  return words.map(({ value, about }) => ({ value: short(value), about }));
}
