import { stringify } from 'yaml';
import { unlessAborted } from '../../../src/base/wait.ts';
import type { ChatReply, ChatRequest, ModelClient } from '../../../src/runtime/models/client.ts';
import { noUsage } from '../../../src/runtime/models/client.ts';
import { textOf } from '../../../src/runtime/models/message.ts';
import { todoTools } from '../../../src/runtime/tools/builtin/todo.ts';
import { userTools } from '../../../src/runtime/tools/builtin/user.ts';
import { createFunctions } from '../../../src/runtime/tools/tool.ts';
import { LocalJobs } from './local-jobs.ts';
import { openWorld, type World } from './state.ts';

export interface Said {
  text?: string;
  calls?: { name: string; arguments?: unknown }[];
}

/** What a model is shown, in the words a test decides by. */
export interface Seen {
  agent: string;
  request: ChatRequest;
  /** The text of the newest user message. */
  user: string;
  /** The newest tool results, by the name of their tool; none when a person or another agent spoke last. */
  results: Record<string, string>;
  /** How often this agent was asked before. */
  n: number;
}

export interface TeamWorld extends AsyncDisposable {
  world: World;
  jobs: LocalJobs;
  requests: ChatRequest[];
  toolsOf(agent: string): string[];
}

/** Real contexts, servers and indexes; the model is a function of what it sees. */
export async function openTeam(
  agents: Record<string, Record<string, unknown>>,
  answer: (seen: Seen) => Said | Promise<Said>,
  files: Record<string, string> = {},
): Promise<TeamWorld> {
  const requests: ChatRequest[] = [];
  const asked = new Map<string, number>();
  let calls = 0;
  const none = () => Promise.reject(new Error('chats only'));
  const client: ModelClient = {
    async chat(request): Promise<ChatReply> {
      requests.push(request);
      const agent = request.agent ?? '';
      const n = asked.get(agent) ?? 0;
      asked.set(agent, n + 1);
      const answered = Promise.resolve(answer({ agent, request, n, ...sight(request) }));
      const { text = '', calls: made = [] } = await unlessAborted(answered, request.signal);
      const content = [
        ...(text === '' ? [] : [{ type: 'text' as const, text }]),
        ...made.map(({ name, arguments: given = {} }) => {
          calls += 1;
          return { type: 'tool_call' as const, id: `c${calls}`, name, arguments: given };
        }),
      ];
      return { content, finish: made.length > 0 ? 'tool_calls' : 'stop', usage: noUsage, cost: 0 };
    },
    embed: none,
    rerank: none,
  };
  const own = Object.entries(agents).map(([name, spec]) => [
    `agents/${name}/config.yaml`,
    stringify({ instructions: `You are ${name}.`, ...spec }),
  ]);
  const world = await openWorld({
    files: { ...Object.fromEntries(own), ...files },
    ports: (ports) => ({
      models: { ...ports.models, client: () => client },
      tools: {
        ...ports.tools,
        async build(request) {
          const { todoList } = request.context.agentRuntime ?? {};
          const { tools } = await ports.tools.build(request);
          return createFunctions([...tools, ...userTools(), ...(todoList ? todoTools(todoList) : [])]);
        },
      },
    }),
  });
  return {
    world,
    jobs: new LocalJobs(world.app),
    requests,
    toolsOf: (agent) => requests.findLast((request) => request.agent === agent)?.tools?.map(({ name }) => name) ?? [],
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

function sight({ messages }: ChatRequest): Pick<Seen, 'user' | 'results'> {
  const last = messages.at(-1);
  const user = messages.findLast(({ role }) => role === 'user');
  const results = last?.role === 'tool' ? last.content.map(({ name, output }) => [name, output]) : [];
  return { user: user ? textOf(user) : '', results: Object.fromEntries(results) };
}

export const call = (name: string, args: Record<string, unknown> = {}) => ({ name, arguments: args });
