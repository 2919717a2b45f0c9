import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import type { JobView } from '../../src/protocol/job-operations.ts';
import { makeWorld, type World } from './harness.ts';
import { eventually } from './real.ts';

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
}

export const call = (name: string, args: Record<string, unknown> = {}): ToolCall => ({ name, arguments: args });

/** A real daemon, real processes, a model that plays a script. */
export function teamWorld(
  agents: Record<string, Record<string, unknown>>,
  config: Record<string, unknown> = {},
): TeamWorld {
  const world = makeWorld('reef-team-');
  const dir = join(world.root, 'config', 'reef');
  const write = (path: string, text: string) => {
    const file = join(dir, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  const script = join(world.root, 'model.yaml');
  world.configure({
    model: 'scripted:play',
    clients: [{ type: 'scripted', models: [{ name: 'play', script, supports_function_calling: true }] }],
    ...config,
  });
  for (const [name, spec] of Object.entries(agents)) {
    write(`agents/${name}/config.yaml`, stringify({ instructions: `You are ${name}.`, ...spec }));
  }
  return {
    ...world,
    write,
    play: (lines) => writeFileSync(script, stringify(lines.map(toEntry), { aliasDuplicateObjects: false })),
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
    async results(id) {
      const events = await world.events(id);
      return events.flatMap(({ type, payload }) =>
        type === 'progress' && payload.kind === 'tool_result' ? [payload.text] : [],
      );
    },
  };
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
