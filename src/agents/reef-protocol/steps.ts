import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { defined } from '../../base/defined.ts';
import { unlessAborted } from '../../base/wait.ts';
import { TAG_VARIABLE } from '../../process/process-table.ts';
import { run } from '../../process/run.ts';
import type { ErrorCode } from '../../protocol/error-table.ts';
import type { Answer } from '../adapter.ts';
import { unifiedDiff } from '../unified-diff.ts';
import type { ReefConnection } from './connection.ts';
import type { OutputLine } from './lines.ts';
import type { Step } from './script.ts';

const SHELL_TIMEOUT_MS = 600_000;
const FLOOD_CHUNK = 500;

/** What lasts from step to step, and from turn to turn. */
export interface Stage {
  talk: ReefConnection;
  cwd: string;
  env: Record<string, string>;
  variables: Map<string, string>;
  /** The last thing that was said: the result of the turn. */
  said: string;
  nextId(): number;
}

/** The script ends its turn as failed. */
export class Failure extends Error {
  readonly turn: Extract<OutputLine, { is: 'failed' }>;

  constructor(code: string, message: string, retryable: boolean) {
    super(message);
    this.turn = { do: 'turn', is: 'failed', code: code as ErrorCode, message, retryable };
  }
}

export async function playSteps(steps: Step[], stage: Stage, signal: AbortSignal): Promise<void> {
  for (const step of steps) {
    signal.throwIfAborted();
    await actions[step.do](stage, step.with as never, signal);
  }
  signal.throwIfAborted();
}

type Argument<N extends Step['do']> = Extract<Step, { do: N }>['with'];
type Actions = {
  [N in Step['do']]: (stage: Stage, argument: Argument<N>, signal: AbortSignal) => Promise<void> | void;
};

const actions: Actions = {
  say: (stage, text) => {
    stage.said = fill(stage, text);
    stage.talk.write({ do: 'answer' });
    stage.talk.write({ do: 'text', kind: 'text', id: `m${stage.nextId()}`, text: stage.said, final: true });
  },
  think: (stage, text) => {
    stage.talk.write({ do: 'text', kind: 'thinking', id: `m${stage.nextId()}`, text: fill(stage, text), final: true });
  },
  edit: playEdit,
  shell: playShell,
  ask: playAsk,
  permit: playPermit,
  withdraw: ({ talk }) => {
    if (!talk.withdrawLast('agent')) throw new Failure('agent_error', 'withdraw: no question is open', false);
  },
  sleep: async (_, ms, signal) => {
    await setTimeout(ms, undefined, { signal });
  },
  usage: ({ talk }, { scope, partial, costUsd, ...tokens }) => {
    const cost = costUsd === undefined ? undefined : { usd: costUsd, scope };
    talk.write({ do: 'usage', report: { tokens: { ...tokens, scope }, ...defined({ cost }), partial } });
  },
  emit: ({ talk }, line) => talk.writeRaw(typeof line === 'string' ? line : JSON.stringify(line)),
  stderr: (stage, text) => {
    process.stderr.write(`${fill(stage, text)}\n`);
  },
  fail: (stage, { code, message, retryable }) => {
    throw new Failure(code, fill(stage, message), retryable);
  },
  deaf: () => {
    process.on('SIGTERM', () => {});
  },
  crash: async (_, signal) => {
    process.kill(process.pid, signal ?? 'SIGKILL');
    await setTimeout(10_000);
  },
  exit: (_, code) => process.exit(code),
  repeat: async (stage, { times, steps }, signal) => {
    for (let round = 0; round < times; round++) await playSteps(steps, stage, signal);
  },
  choose: async (stage, cases, signal) => {
    const message = stage.variables.get('message') ?? '';
    const chosen = cases.find(({ when }) => when === undefined || message.includes(when));
    await playSteps(chosen?.steps ?? [], stage, signal);
  },
  flood: async ({ talk }, { events }, signal) => {
    for (let at = 1; at <= events; at++) {
      talk.write({ type: 'progress', payload: { kind: 'text', text: `flood ${at}` } });
      if (at % FLOOD_CHUNK !== 0) continue;
      await setImmediate();
      signal.throwIfAborted();
    }
  },
};

function fill({ variables }: Stage, text: string): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => variables.get(name) ?? whole);
}

type ToolEnd = { ok: boolean; text: string; exitCode?: number };

/** Every call is followed by its result, whatever happens between them. */
async function playTool(
  stage: Stage,
  call: Omit<Extract<OutputLine, { type: 'tool_call' }>['payload'], 'id'>,
  use: (id: string) => Promise<ToolEnd>,
): Promise<void> {
  const id = `t${stage.nextId()}`;
  stage.talk.write({ type: 'tool_call', payload: { id, ...call } });
  const end = await use(id).catch((error: unknown) => ({ ok: false, text: String(error) }));
  stage.talk.write({ type: 'progress', payload: { kind: 'tool_result', id, ...end } });
}

async function playEdit(stage: Stage, { path, content }: Argument<'edit'>): Promise<void> {
  const [title, after] = [fill(stage, path), fill(stage, content)];
  const file = resolve(stage.cwd, title);
  await playTool(stage, { name: 'edit', tool: 'edit', title, input: { path: title } }, async (id) => {
    const before = await readFile(file, 'utf8').catch(() => undefined);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, after);
    const kind = before === undefined ? 'add' : 'update';
    stage.talk.write({ type: 'file_edit', payload: { id, path: file, kind, diff: unifiedDiff(before ?? '', after) } });
    return { ok: true, text: `wrote ${title}` };
  });
}

async function playShell(stage: Stage, argv: Argument<'shell'>): Promise<void> {
  const command = argv.map((word) => fill(stage, word));
  await playTool(stage, { name: 'shell', tool: 'shell', title: command.join(' '), input: { command } }, async () => {
    // `run` tags what it starts as its own. A job's commands need the job's tag, or killing the job would miss them.
    const tag = `${TAG_VARIABLE}=${stage.env[TAG_VARIABLE] ?? ''}`;
    const { env, cwd } = stage;
    const result = await run({ file: '/usr/bin/env', args: [tag, ...command], cwd, env, timeoutMs: SHELL_TIMEOUT_MS });
    const text = `${result.stdout}${result.stderr}`;
    return { ok: result.code === 0, text, ...defined({ exitCode: result.code }) };
  });
}

async function playAsk(stage: Stage, ask: Argument<'ask'>, signal: AbortSignal): Promise<void> {
  const { options, multi, freeText, secret, header, as, wait } = ask;
  const choices = options?.map((label) => ({ id: label, label }));
  const kind = choices ? 'choice' : 'text';
  const takes = { ...(choices && { choices, multi }), freeText: freeText || !choices, secret, ...defined({ header }) };
  const question = fill(stage, ask.question);
  const answered = stage.talk.ask(`q${stage.nextId()}`, [{ kind, question, ...takes }]);
  const kept = answered.then((answers) => keep(stage, answers, as));
  if (wait) await unlessAborted(kept, signal);
}

async function playPermit(stage: Stage, permit: Argument<'permit'>, signal: AbortSignal): Promise<void> {
  const { tool, input, diff, as, steps } = permit;
  const question = `Allow ${tool}: ${JSON.stringify(input)}?`;
  const asked = { kind: 'permission', question, tool, input, ...defined({ diff }) } as const;
  const answered = stage.talk.ask(`q${stage.nextId()}`, [asked]);
  const answer = await unlessAborted(answered, signal);
  keep(stage, answer, as);
  if (toText(answer) === 'allow') await playSteps(steps, stage, signal);
}

function keep({ variables }: Stage, answers: Answer[], as: string | undefined): void {
  variables.set('answer', toText(answers));
  if (as !== undefined) variables.set(as, toText(answers));
}

function toText([answer]: Answer[]): string {
  if (answer?.kind === 'permission') return answer.decision === 'deny' ? 'deny' : 'allow';
  if (answer?.kind === 'choice') return [...answer.labels, answer.text ?? []].flat().join(', ');
  return answer?.text ?? '';
}
