import type { z } from 'zod';
import { eventBodySchema } from '../../protocol/events.ts';
import type { Adapter, Effect, Json, Outgoing } from '../adapter.ts';
import { badLine } from '../adapter-effects.ts';
import { ackSchema, eventLineSchema, type InputLine, type News, newsSchemas } from './lines.ts';

/** Answers are acknowledged under a prefix that no message has. */
const ANSWER = 'answer:';

/** A program that speaks the reef protocol. It names every line it takes, so nothing is remembered between lines. */
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
      state: [],
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
  if (!eventTypes.has(json.type)) return [{ do: 'unknown', name: json.type }];
  return read(eventLineSchema, json, (event) => ({ do: 'emit', event }));
}

const eventTypes = new Set<string>(eventBodySchema.options.map(({ shape }) => shape.type.value));

function acknowledgement(ack: string): Effect {
  return ack.startsWith(ANSWER) ? { do: 'ack', requestId: ack.slice(ANSWER.length) } : { do: 'ack', messageId: ack };
}

function toNews(name: string, json: Json): Effect[] {
  if (!Object.hasOwn(newsSchemas, name)) return [{ do: 'unknown', name }];
  const schema: z.ZodType<News> = newsSchemas[name as keyof typeof newsSchemas];
  return read(schema, json, (news) =>
    'requestId' in news ? { ...news, requestId: JSON.stringify(news.requestId) } : news,
  );
}

function read<T>(schema: z.ZodType<T>, json: Json, toEffect: (value: T) => Effect): Effect[] {
  const parsed = schema.safeParse(json);
  if (parsed.success) return [toEffect(parsed.data)];
  const [issue] = parsed.error.issues;
  return [badLine(`${issue?.path.join('.')}: ${issue?.message}`)];
}
