import type { Payload } from './payload.ts';
import { duration } from './quantities.ts';
import type { Colour } from './style.ts';

const RESULT_LINES = 8;
const THINKING_LINES = 6;

const dim = (text: string): Entry => ({ mark: '·', text, colour: 'dim' });
const warn = (text: string): Entry => ({ mark: '!', text, colour: 'yellow' });

/** What Reef answers with no, by the reason it gives. */
const DENIALS = new Set(['readonly', 'question_too_large']);

/** A kind that a newer Reef has written is shown as JSON. */
export function progressEntry(payload: Payload): Entry {
  const kind = payload.text('kind');
  return KINDS[kind]?.(payload) ?? dim(payload.json());
}

const KINDS: Record<string, (payload: Payload) => Entry> = {
  text: (p) => ({ mark: ' ', text: p.text('text') }),
  thinking: (p) => ({ mark: '·', text: p.text('text'), colour: 'dim', lines: THINKING_LINES }),
  tool_result: (p) => toolResult(p),
  session: (p) => dim(words('session', p.text('sessionId'), p.text('model'), p.text('agentVersion'))),
  queued: (p) => dim(`waits for a free slot, number ${p.number('position') ?? '?'} in the queue`),
  turn: (p) => dim(`turn ${p.number('n') ?? '?'}`),
  retry: (p) => warn(retry(p)),
  rate_limit: (p) => warn(words('rate limit', p.text('message'), p.text('resumeAt') && `until ${p.text('resumeAt')}`)),
  usage: (p) => dim(usageWords(p.object('usage'))),
  budget: (p) => warn(`${p.number('used')} of ${p.number('limit')} ${p.text('what')} used`),
  plan: (p) => ({ mark: '☰', text: p.list('entries').map(planLine).join('\n') }),
  subagent: (p) => dim(words('sub-agent', p.text('id'), p.text('state'), p.text('text'))),
  withdrawn: (p) => dim(`the question was withdrawn (${p.text('by')})`),
  auto_answered: (p) => {
    const grant = p.text('grant');
    const done = DENIALS.has(grant) ? 'denied' : 'allowed';
    return { mark: done === 'denied' ? '✗' : '✓', text: `Reef ${done} it (${grant})`, colour: 'yellow' };
  },
  warning: (p) => warn(p.text('message') + times(p.number('count'))),
  raw: (p) => dim(words('unknown message', p.text('name'), p.text('ref'))),
  'context.rolled': (p) =>
    dim(
      `prompt shortened (${p.text('reason')}): ${p.number('tokensBefore')} → ${p.number('tokensAfter')} tokens of history`,
    ),
  'context.cache_miss': (p) => dim(`the provider did not cache the prompt; first difference: ${p.text('segment')}`),
  'repostate.divergence': (p) => warn(`${p.text('path')} was changed by somebody else`),
  'repostate.detected': (p) => dim(`${p.text('detector').replaceAll('_', ' ')}: ${p.text('action')}`),
};

function toolResult(p: Payload): Entry {
  const exit = p.number('exitCode');
  const ok = p.is('ok');
  const head = [
    exit !== undefined && exit !== 0 ? `exit ${exit}` : '',
    p.text('closedBy') && `ended by ${p.text('closedBy')}`,
  ];
  const text = [head.filter(Boolean).join(', '), p.text('text').trimEnd()].filter(Boolean).join('\n');
  return {
    mark: ok ? '✓' : '✗',
    text: text || (ok ? 'done' : 'failed'),
    colour: ok ? 'dim' : 'red',
    lines: RESULT_LINES,
  };
}

function retry(p: Payload): string {
  const max = p.number('max');
  const delay = p.number('delayMs');
  const attempt = `retry ${p.number('attempt') ?? '?'}${max === undefined ? '' : ` of ${max}`}`;
  return words(attempt, delay === undefined ? '' : `in ${duration(delay)}`, p.text('message'));
}

export function usageWords(usage: Payload): string {
  const money = usage.number('costUsd');
  const cost = money === undefined ? '' : `, $${money.toFixed(2)}`;
  return `${usage.number('input') ?? 0} tokens in, ${usage.number('output') ?? 0} out${cost}`;
}

function planLine(entry: Payload): string {
  const marks: Record<string, string> = { completed: '☑', in_progress: '▸' };
  return `${marks[entry.text('status')] ?? '☐'} ${entry.text('text')}`;
}

export function times(count: number | undefined): string {
  return count !== undefined && count > 1 ? ` (${count} times)` : '';
}

function words(...parts: string[]): string {
  return parts.filter(Boolean).join(' ');
}

export interface Entry {
  mark: string;
  text: string;
  colour?: Colour;
  /** How many lines are shown before the rest is only counted. Absent: all. */
  lines?: number;
}
