import { resolve } from 'node:path';
import { checkoutOf } from '../../../base/home.ts';
import { isOver } from '../../../protocol/is-over.ts';
import type { OperationInput, OperationOutput } from '../../../protocol/operations.ts';
import type { Client } from '../../client/client.ts';
import { jobDetails } from '../../render/job.ts';
import { parseSeconds } from '../../render/quantities.ts';
import { sandboxWords } from '../../render/sandbox.ts';
import { type Cli, type Command, textArgument } from '../cli.ts';
import { exitCodeOf } from './exit-codes.ts';
import { type Page, printEvents, readPages } from './output.ts';
import { waitFor } from './wait.ts';

type SpawnInput = OperationInput<'spawn'>;

interface SpawnOptions extends Omit<SpawnInput, 'agent' | 'task' | 'worktree' | 'budget' | 'parentId' | 'maxDepth'> {
  worktree?: true | string;
  budgetTokens?: number;
  budgetTurns?: number;
  budgetTime?: string;
  parent?: string;
  wait?: true;
  follow?: true;
}

export const spawn: Command<SpawnOptions> = async (cli, [agent = '', task = ''], options) => {
  const input = spawnInput(cli, { agent, task: (await textArgument(cli, task)) ?? '', ...options });
  const client = cli.client();
  const started = await client.call('spawn', input);
  if (started.note !== undefined && !cli.json) cli.talk(started.note);
  if (options.follow) return follow(cli, client, started.agentId);
  if (options.wait) return waitToEnd(cli, client, started.agentId);
  cli.print(started, () => `${started.agentId}  ${started.status}`);
  if (!cli.json) cli.talk(nextCommands(started));
  return 0;
};

function spawnInput(cli: Cli, { agent, task, ...options }: SpawnOptions & { agent: string; task: string }): SpawnInput {
  const { budgetTokens, budgetTurns, budgetTime, cwd, worktree, parent, wait, follow, ...same } = options;
  const seconds = parseSeconds(budgetTime, '--budget-time');
  return {
    agent: absoluteScript(agent, cli.cwd),
    task,
    ...folder(cli, cwd),
    ...(worktree !== undefined && { worktree: worktree === true ? '' : worktree }),
    ...same,
    budget: { tokens: budgetTokens, turns: budgetTurns, seconds },
    parentId: parent,
  };
}

/** An absolute path, because the daemon runs in another folder. */
export function folder(cli: Cli, cwd?: string): { cwd?: string } {
  if (cwd !== undefined) return { cwd: resolve(cli.cwd, cwd) };
  // Inside a job the default is the job's own folder, which the daemon knows.
  if (cli.env.reefSocket) return {};
  return { cwd: checkoutOf(cli.cwd) ?? cli.cwd };
}

export function absoluteScript(agent: string, cwd: string): string {
  const file = agent.startsWith('scripted:') ? agent.slice('scripted:'.length) : undefined;
  return file === undefined ? agent : `scripted:${resolve(cwd, file)}`;
}

function nextCommands({ agentId: id, sandbox }: OperationOutput<'spawn'>): string {
  return [
    `  ${sandboxWords(sandbox)}${sandbox === 'none' ? ': it can reach everything that you can' : ''}`,
    `  reef output ${id} --follow    watch it`,
    `  reef send ${id} "<text>"      talk to it`,
    `  reef kill ${id}               end it`,
  ].join('\n');
}

async function follow(cli: Cli, client: Client, id: string): Promise<number> {
  if (!cli.json) cli.talk(id);
  // A person can answer in another terminal; a script cannot.
  const isEnough = ({ status }: Page) =>
    isOver(status) || status === 'paused' || (status === 'awaiting_input' && !cli.isInteractive);
  await printEvents(cli, readPages(client, { id, isEnough }));
  const { jobs } = await client.call('status', { id });
  const [job] = jobs;
  if (!job) return 1;
  if (job.questions.length > 0) {
    if (cli.json) cli.out(JSON.stringify(job));
    else cli.talk(jobDetails(job, cli.style));
  }
  return exitCodeOf(job);
}

async function waitToEnd(cli: Cli, client: Client, id: string): Promise<number> {
  const { jobs } = await waitFor(client, { ids: [id], until: ['needs_input', 'done', 'idle'] });
  const [job] = jobs;
  if (!job) return 1;
  cli.print(job, () => jobDetails(job, cli.style));
  return exitCodeOf(job);
}
