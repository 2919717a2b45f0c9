import type { Answer, Effect, Encoded, Json, Outgoing } from '../../../src/agents/adapter.ts';
import { codexAdapter } from '../../../src/agents/codex/adapter.ts';
import type { CodexState } from '../../../src/agents/codex/state.ts';
import { baseHost, baseSpec } from './codex-replay.ts';

export const THREAD = 'thread-1';
export const TURN = 'turn-1';

/** A conversation held by hand: lines in, effects out. */
export class Talk {
  state: CodexState;

  constructor(state: CodexState = codexAdapter.initial(baseSpec, baseHost)) {
    this.state = state;
  }

  hear(json: Json, skeleton = false): Effect[] {
    const { state, effects } = codexAdapter.parse(this.state, { stream: 'out', json, skeleton });
    this.state = state;
    return effects;
  }

  note(method: string, params: Json): Effect[] {
    return this.hear({ method, params });
  }

  say(outgoing: Outgoing): Encoded<CodexState> {
    const encoded = codexAdapter.encode(this.state, outgoing);
    if ('state' in encoded) this.state = encoded.state;
    return encoded;
  }

  send(messageId: string, text: string): Json | Encoded<CodexState> {
    const encoded = this.say({ kind: 'message', messageId, text });
    return 'lines' in encoded ? JSON.parse(encoded.lines.join('')) : encoded;
  }

  answer(request: Json, answers: Answer[]): Json | Encoded<CodexState> {
    const requestId = JSON.stringify((request as { id: Json }).id);
    const encoded = this.say({ kind: 'answer', requestId, requestLine: JSON.stringify(request), answers });
    return 'lines' in encoded ? JSON.parse(encoded.lines.join('')) : encoded;
  }
}

export function opened(): Talk {
  const talk = new Talk();
  talk.hear({ id: 1, result: { userAgent: 'reef/0.166.0 (x)' } });
  talk.hear({ id: 2, result: { thread: { id: THREAD }, model: 'm', cwd: '/repo' } });
  return talk;
}

export const turn = (id: string, status: string, more: Record<string, Json> = {}) => ({
  threadId: THREAD,
  turn: { id, status, items: [], ...more },
});

export function busy(): Talk {
  const talk = opened();
  talk.send('first', 'go');
  talk.hear({ id: 3, result: { turn: { id: TURN } } });
  talk.note('turn/started', turn(TURN, 'inProgress'));
  talk.note('item/started', {
    threadId: THREAD,
    turnId: TURN,
    item: { type: 'userMessage', id: 'u', clientId: 'first', content: [] },
  });
  return talk;
}

export const input = (text: string) => [{ type: 'text', text, text_elements: [] }];
export const allow: Answer = { kind: 'permission', decision: 'allow_always' };
export const deny: Answer = { kind: 'permission', decision: 'deny' };
export const declined = (requestId: number): Effect => ({
  do: 'write',
  line: `{"id":${requestId},"result":{"decision":"decline"}}`,
});
export const refused = (id: number | string, method: string): Effect => ({
  do: 'write',
  line: JSON.stringify({ id, error: { code: -32601, message: `Reef does not serve ${method}` } }),
});
