import { asList, asObject, asText } from '../model-server/wire.ts';
import type { LineProcess, Message } from './line-process.ts';
import type { AgentName } from './real-agents.ts';

/** The least of an agent's two-way protocol: begin a turn, see a question, say yes or take the last option, see the end. */
export interface Driver {
  args: string[];
  begin(agent: LineProcess, cwd: string): Promise<void>;
  /** What a question is about; undefined: the message asks nothing. */
  asks(message: Message): string | undefined;
  answer(question: Message): Message;
  isOver(message: Message): boolean;
  said(end: Message, messages: Message[]): string;
}

/** Answers every question of a turn, and tells what was asked and what the agent said. */
export async function converse(agent: LineProcess, driver: Driver): Promise<{ asked: string[]; said: string }> {
  const asked: string[] = [];
  for (;;) {
    const message = await agent.until((each) => driver.asks(each) !== undefined || driver.isOver(each));
    const question = driver.asks(message);
    if (question === undefined) return { asked, said: driver.said(message, agent.messages) };
    asked.push(question);
    agent.send(driver.answer(message));
  }
}

const lastLabel = (question: Message) => asText(asList(question.options).at(-1)?.label);

const claude: Driver = {
  args: [
    ...['-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'],
    ...['--permission-prompt-tool', 'stdio', '--strict-mcp-config', '--setting-sources', 'user'],
  ],
  async begin(agent) {
    const message = { role: 'user', content: [{ type: 'text', text: 'Go' }] };
    agent.send({ type: 'user', message, parent_tool_use_id: null, session_id: '' });
  },
  asks: ({ type, request }) => (type === 'control_request' ? asText(asObject(request).tool_name) : undefined),
  answer({ request_id, request }) {
    const input = asObject(asObject(request).input);
    const questions = asList(input.questions);
    const answers = Object.fromEntries(questions.map((each) => [each.question, lastLabel(each)]));
    const changed = questions.length > 0 ? { updatedInput: { ...input, answers } } : {};
    const response = { behavior: 'allow', ...changed };
    return { type: 'control_response', response: { subtype: 'success', request_id, response } };
  },
  isOver: ({ type }) => type === 'result',
  said: ({ result }) => asText(result),
};

async function call(agent: LineProcess, request: { id: number; method: string; params: Message }): Promise<Message> {
  agent.send({ jsonrpc: '2.0', ...request });
  const { result, error } = await agent.until(({ id, method }) => id === request.id && method === undefined);
  if (result === undefined) throw new Error(`${request.method}: ${JSON.stringify(error)}`);
  return asObject(result);
}

const codex: Driver = {
  args: ['app-server'],
  async begin(agent, cwd) {
    const clientInfo = { name: 'reef', title: 'Reef', version: '0.1.0' };
    const params = { clientInfo, capabilities: { experimentalApi: true } };
    await call(agent, { id: 1, method: 'initialize', params });
    agent.send({ method: 'initialized' });
    const config = { 'features.default_mode_request_user_input': true };
    const limits = { approvalPolicy: 'on-request', sandbox: 'workspace-write' };
    const { thread } = await call(agent, { id: 2, method: 'thread/start', params: { cwd, ...limits, config } });
    const input = [{ type: 'text', text: 'Go', text_elements: [] }];
    await call(agent, { id: 3, method: 'turn/start', params: { threadId: asObject(thread).id, input } });
  },
  asks: ({ id, method }) => (id === undefined || method === undefined ? undefined : asText(method)),
  answer({ id, params }) {
    const questions = asList(asObject(params).questions);
    const answers = Object.fromEntries(questions.map((each) => [each.id, { answers: [lastLabel(each)] }]));
    return { id, result: questions.length > 0 ? { answers } : { decision: 'accept' } };
  },
  isOver: ({ method }) => method === 'turn/completed',
  said: ({ params }) => asText(asList(asObject(asObject(params).turn).items).at(-1)?.text),
};

function acp(args: string[], methodId?: string): Driver {
  return {
    args,
    async begin(agent, cwd) {
      const clientCapabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false };
      await call(agent, { id: 1, method: 'initialize', params: { protocolVersion: 1, clientCapabilities } });
      if (methodId !== undefined) await call(agent, { id: 2, method: 'authenticate', params: { methodId } });
      const { sessionId } = await call(agent, { id: 3, method: 'session/new', params: { cwd, mcpServers: [] } });
      const params = { sessionId, prompt: [{ type: 'text', text: 'Go' }] };
      agent.send({ jsonrpc: '2.0', id: 4, method: 'session/prompt', params });
    },
    asks({ method, params }) {
      const { kind } = asObject(asObject(params).toolCall);
      return method === 'session/request_permission' ? asText(kind) : undefined;
    },
    answer({ id, params }) {
      const option = asList(asObject(params).options).find(({ kind }) => kind === 'allow_once');
      return { jsonrpc: '2.0', id, result: { outcome: { outcome: 'selected', optionId: option?.optionId } } };
    },
    isOver: ({ id, method }) => id === 4 && method === undefined,
    said(_end, messages) {
      const updates = messages.map(({ params }) => asObject(asObject(params).update));
      const chunks = updates.filter(({ sessionUpdate }) => sessionUpdate === 'agent_message_chunk');
      return chunks.map(({ content }) => asText(asObject(content).text)).join('');
    },
  };
}

export const drivers: Record<AgentName, Driver> = {
  claude,
  codex,
  gemini: acp(['--acp'], 'gemini-api-key'),
  opencode: acp(['acp']),
};
