import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import type { JobView } from '../../src/protocol/job-operations.ts';
import { eventually } from '../support/wait.ts';
import type { Seat } from './chat-rig.ts';
import { makeWorld, type World } from './harness.ts';
import { REEF, type Said } from './runtime-rig.ts';

export interface ToolCall {
  name: string;
  arguments?: Record<string, unknown>;
}

/** An entry of the scripted model: when this agent sees that, it says or does this. */
export interface Line {
  agent: string;
  user?: string;
  tool?: string;
  /** What that tool has to have answered. */
  result?: string;
  says?: string;
  does?: ToolCall[];
  delay_ms?: number;
  times?: number | 'always';
}

export interface TeamWorld extends World {
  /** Files below the configuration folder. */
  write(path: string, text: string): string;
  play(lines: readonly Line[]): void;
  start(agent: string, task: string, more?: Record<string, unknown>): Promise<string>;
  /** The child of a job by its agent, once there is one. */
  child(parentId: string, agent: string): Promise<JobView>;
  results(id: string): Promise<string[]>;
  /** Somebody else's program, which says `Here.` and does not end; this agent may start it. */
  stranger(parent: string): string;
  /** A command of a person, in the repository unless told, as a process. */
  begin(args: readonly string[], cwd?: string): Command;
  /** Where a person sits at a terminal. */
  seat: Seat;
  /** The job that a person's own agent is, once it has children. */
  chatJob(agent: string): Promise<JobView>;
}

export interface Command {
  process: ChildProcess;
  /** What it said so far. */
  said: { stdout: string; stderr: string };
  done: Promise<Said>;
}

export const call = (name: string, args: Record<string, unknown> = {}): ToolCall => ({ name, arguments: args });

export const FAMILY = { boss: { can_spawn_agents: true }, lead: { can_spawn_agents: true }, hand: {} };
/** Two deep, where something is asked. */
export const DEEP: Line[] = [
  { agent: 'boss', user: 'Begin', does: [call('agent__spawn', { agent: 'lead', prompt: 'Lead it' })] },
  { agent: 'boss', tool: 'agent__spawn', does: [call('agent__collect', { id: 'lead' })] },
  { agent: 'boss', tool: 'agent__collect', does: [call('agent__collect', { id: 'lead' })] },
  { agent: 'boss', tool: 'agent__collect', says: 'All is painted.' },
  { agent: 'lead', user: 'Lead it', does: [call('agent__spawn', { agent: 'hand', prompt: 'Do it' })] },
  { agent: 'lead', tool: 'agent__spawn', does: [call('agent__collect', { id: 'hand' })] },
  { agent: 'lead', tool: 'agent__collect', does: [call('agent__collect', { id: 'hand' })] },
  { agent: 'lead', tool: 'agent__collect', says: 'The hand has painted.' },
  { agent: 'hand', user: 'Do it', does: [call('user__ask', { question: 'Red or blue?', options: ['red', 'blue'] })] },
  { agent: 'hand', tool: 'user__ask', says: 'It is painted.' },
];

/** A real daemon, real processes, a model that plays a script. */
export function teamWorld(
  agents: Record<string, Record<string, unknown>>,
  config: Record<string, unknown> = {},
): TeamWorld {
  const world = makeWorld();
  const dir = join(world.root, 'config', 'reef');
  const write = (path: string, text: string) => {
    const file = join(dir, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  const script = join(world.root, 'model.yaml');
  const all = {
    model: 'scripted:play',
    clients: [{ type: 'scripted', models: [{ name: 'play', script, supports_function_calling: true }] }],
    ...config,
  };
  world.configure(all);
  const describe = (name: string, more = {}) =>
    write(`agents/${name}/config.yaml`, stringify({ instructions: `You are ${name}.`, ...agents[name], ...more }));
  for (const name of Object.keys(agents)) describe(name);
  return {
    ...world,
    write,
    stranger(parent) {
      const agent = world.script('stranger', [{ say: 'Here.' }, { sleep: 600_000 }]);
      world.configure({ ...all, reef: { ...Object(config.reef), agents: { [agent]: {} } } });
      describe(parent, { spawnable_agents: [...Object.keys(agents), agent] });
      return agent;
    },
    play: (lines) => writeFileSync(script, scriptOf(lines)),
    async start(agent, task, more = {}) {
      return (await world.client.call('spawn', { agent: `native:${agent}`, task, ...more })).agentId;
    },
    async child(parentId, agent) {
      const all = () => world.client.call('status', {});
      const isIt = (job: JobView) => job.parentId === parentId && job.agent.endsWith(agent);
      const { jobs } = await eventually(all, (found) => found.jobs.some(isIt));
      const child = jobs.find(isIt);
      if (!child) throw new Error(`no child ${agent}`);
      return child;
    },
    begin: (args, cwd = world.repository) => begin(world, args, cwd),
    seat: {
      ...{ root: world.root, cwd: world.repository, env: { ...world.env, TERM: 'xterm-256color', LANG: 'C.UTF-8' } },
      write(path, text) {
        const file = join(world.root, path);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, text);
        return file;
      },
    },
    async chatJob(agent) {
      const all = async () => ((await world.client.daemon()) ? (await world.client.call('status', {})).jobs : []);
      const isIt = (job: JobView) => job.agent === `chat:${agent}`;
      const found = (await eventually(all, (jobs) => jobs.some(isIt))).find(isIt);
      if (!found) throw new Error(`no job of ${agent}`);
      return found;
    },
    async results(id) {
      const events = await world.events(id);
      return events.flatMap(({ type, payload }) =>
        type === 'progress' && payload.kind === 'tool_result' ? [payload.text] : [],
      );
    },
  };
}

function begin({ env }: World, args: readonly string[], cwd: string): Command {
  const child = spawn(process.execPath, [REEF, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said.stderr += text;
  });
  return { process: child, said, done: once(child, 'close').then(([code]) => ({ ...said, code })) };
}

/** The file of a scripted model that plays these lines. */
export function scriptOf(lines: readonly Line[]): string {
  return stringify(lines.map(toEntry), { aliasDuplicateObjects: false });
}

function toEntry({ agent, user, tool, result, says = '', does = [], delay_ms = 0, times = 1 }: Line) {
  return {
    when: {
      agent,
      ...(user !== undefined && { last_user: user }),
      ...(tool !== undefined && { last_tool: tool }),
      ...(result !== undefined && { last_result: result }),
    },
    reply: { text: says, tool_calls: does, delay_ms },
    times,
  };
}
