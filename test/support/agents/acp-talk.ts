import { acpAdapter } from '../../../src/agents/acp/adapter.ts';
import type { AcpState } from '../../../src/agents/acp/state.ts';
import type {
  Answer,
  Effect,
  Encoded,
  Json,
  LaunchRequest,
  MachineFacts,
  Outgoing,
} from '../../../src/agents/adapter.ts';

export const agent = acpAdapter('acp:test', { command: ['test-agent', 'acp'] });
export const spec: LaunchRequest = {
  jobId: 'j',
  cwd: '/repo',
  freshSessionId: 'f',
  prompt: '',
  clientVersion: '1.2.3',
};
export const machine: MachineFacts = { command: ['/bin/test-agent', 'acp'], agentSandbox: true, settings: {} };

/** For tests: a conversation with an agent that says what the test wants it to say. */
export class Talk {
  state: AcpState;
  private readonly asked = new Map<string, string>();

  constructor(more: Partial<LaunchRequest> = {}, settings: MachineFacts['settings'] = {}) {
    this.state = agent.initial({ ...spec, ...more }, { ...machine, settings });
  }

  hear(message: object, skeleton = false): Effect[] {
    const json = { jsonrpc: '2.0', ...message } as { [key: string]: Json };
    if ('id' in json && 'method' in json) this.asked.set(JSON.stringify(json.id), JSON.stringify(json));
    const { state, effects } = agent.parse(this.state, { stream: 'out', json, skeleton });
    this.state = state;
    return effects;
  }

  update(update: { sessionUpdate: string; [key: string]: unknown }): Effect[] {
    return this.hear({ method: 'session/update', params: { sessionId: 's', update } });
  }

  send(outgoing: Outgoing): Encoded<AcpState> {
    const encoded = agent.encode(this.state, outgoing);
    if ('state' in encoded) this.state = encoded.state;
    return encoded;
  }

  lines(outgoing: Outgoing): Json[] {
    const encoded = this.send(outgoing);
    return 'lines' in encoded ? encoded.lines.map((line) => JSON.parse(line) as Json) : [encoded];
  }

  message(messageId: string, text = 'do it'): Json[] {
    return this.lines({ kind: 'message', messageId, text });
  }

  answer(id: string | number, ...answers: Answer[]): Json[] {
    const requestId = JSON.stringify(id);
    return this.lines({ kind: 'answer', requestId, requestLine: this.asked.get(requestId) ?? '', answers });
  }

  interrupt(messageId = 'stop'): Json[] {
    return this.lines({ kind: 'interrupt', messageId });
  }

  /** As far as an open prompt, with id 3. */
  static working(): Talk {
    const talk = Talk.ready();
    talk.message('m1');
    return talk;
  }

  static ready(): Talk {
    const talk = new Talk();
    talk.hear(initialized);
    talk.hear({ id: 2, result: { sessionId: 's' } });
    return talk;
  }
}

export const initialized = { id: 1, result: { protocolVersion: 1, agentCapabilities: { loadSession: true } } };
export const chunk = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: 'hi' } };
export const written = (effects: Effect[]) =>
  effects.flatMap((effect) => (effect.do === 'write' ? [JSON.parse(effect.line) as Json] : []));
