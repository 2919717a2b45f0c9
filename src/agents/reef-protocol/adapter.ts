import type { z } from 'zod';
import type { Adapter, Effect, Json, Outgoing } from '../adapter.ts';
import { ackSchema, eventLineSchema, type InputLine, newsSchemas } from './lines.ts';

/** Answers are acknowledged by a name of their own, which no message has. */
const ANSWER = 'answer:';

/** A program that speaks the reef protocol. It names every line it takes, so there is nothing to remember between lines. */
export function reefProtocolAdapter(name: string): Adapter<null> {
  return {
    describe: () => ({
      name,
      title: name,
      executable: 'node',
      versionArgs: [],
      install: 'it is part of Reef',
      login: 'it needs no log-in',
      asks: ['permission', 'choice', 'text'],
      busyMessage: 'queues',
      resumes: true,
      ignoresRepeats: true,
      stateDirs: [],
      passEnv: [],
    }),
    command: (spec, machine) => {
      const [file, ...given] = machine.command;
      const session = spec.sessionId === undefined ? ['--session', spec.freshSessionId] : ['--resume', spec.sessionId];
      const model = spec.model === undefined ? [] : ['--model', spec.model];
      const env = { ...spec.mcp?.env, ...(spec.jobDir === undefined ? {} : { REEF_JOB_DIR: spec.jobDir }) };
      return { file, args: [...given, ...session, ...model], env, stdin: 'fifo', greeting: [] };
    },
    initial: () => null,
    parse: (state, line) => ({ state, effects: line.stream === 'out' ? toEffects(line.json) : [] }),
    encode: (state, outgoing) => ({ state, lines: [JSON.stringify(toInput(outgoing))] }),
    finish: (_, { code, stderrTail }) => {
      const invalid = code === 2 ? /^script_invalid: (.+)$/m.exec(stderrTail)?.[1] : undefined;
      return invalid === undefined ? undefined : { code: 'script_invalid', message: invalid };
    },
  };
}

function toInput(outgoing: Outgoing): InputLine {
  if (outgoing.kind === 'message') return { id: outgoing.messageId, text: outgoing.text };
  if (outgoing.kind === 'interrupt') return { id: outgoing.messageId, interrupt: true };
  const { requestId, answers } = outgoing;
  return { id: `${ANSWER}${requestId}`, requestId: JSON.parse(requestId) as string | number, answers };
}

function toEffects(json: Json): Effect[] {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return [badLine('not an object')];
  if ('ack' in json) return read(ackSchema, json, ({ ack }) => acknowledgement(ack));
  if (typeof json.do === 'string') return toNews(json.do, json);
  if (typeof json.type !== 'string') return [badLine('neither ack, do nor type')];
  const isKnown = eventTypes.has(json.type);
  return isKnown
    ? read(eventLineSchema, json, (event) => ({ do: 'emit', event }))
    : [{ do: 'unknown', name: json.type }];
}

const eventTypes = new Set([
  'progress',
  'tool_call',
  'file_edit',
  'error',
  'started',
  'needs_input',
  'input_sent',
  'completed',
]);

function acknowledgement(ack: string): Effect {
  return ack.startsWith(ANSWER) ? { do: 'ack', requestId: ack.slice(ANSWER.length) } : { do: 'ack', messageId: ack };
}

function toNews(name: string, json: Json): Effect[] {
  switch (name) {
    case 'ask':
      return read(newsSchemas.ask, json, (ask) => ({ ...ask, requestId: JSON.stringify(ask.requestId) }));
    case 'withdraw':
      return read(newsSchemas.withdraw, json, (news) => ({ ...news, requestId: JSON.stringify(news.requestId) }));
    case 'text':
    case 'session':
    case 'usage':
    case 'answer':
    case 'turn':
    case 'limit':
      return read<Effect>(newsSchemas[name], json, (news) => news);
    default:
      return [{ do: 'unknown', name }];
  }
}

function read<T>(schema: z.ZodType<T>, json: Json, toEffect: (value: T) => Effect): Effect[] {
  const parsed = schema.safeParse(json);
  if (parsed.success) return [toEffect(parsed.data)];
  const [issue] = parsed.error.issues;
  return [badLine(`${issue?.path.join('.')}: ${issue?.message}`)];
}

function badLine(message: string): Effect {
  const payload = { code: 'bad_line', scope: 'line', fatal: false, retryable: false, message } as const;
  return { do: 'emit', event: { type: 'error', payload } };
}
