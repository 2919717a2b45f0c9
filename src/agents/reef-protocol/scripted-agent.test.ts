import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { COMPILED } from '../../../test/support/compile-cache.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { eventBodySchema } from '../../protocol/events.ts';
import type { Answer, Effect, Json, LaunchRequest, Outgoing } from '../adapter.ts';
import { reefProtocolAdapter } from './adapter.ts';

const agent = fileURLToPath(new URL('./scripted-agent.ts', import.meta.url));
const scripts = fileURLToPath(new URL('../../../test/fixtures/scripts/', import.meta.url));
const adapter = reefProtocolAdapter('scripted:test');
const PATIENCE_MS = 60_000;

let folder: string;
let running: ChildProcessWithoutNullStreams[];

beforeEach(() => {
  folder = temporaryFolder();
  running = [];
});
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
});

/** A real agent in a fresh folder, heard through the adapter. */
class Job {
  readonly effects: Effect[] = [];
  readonly child: ChildProcessWithoutNullStreams;
  stderr = '';
  private readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  private changed: () => void = () => {};

  constructor(script: string, more: Partial<LaunchRequest> = {}) {
    const spec = { jobId: 'j', cwd: folder, freshSessionId: 'fresh', prompt: '', clientVersion: '1', ...more };
    const command: [string, ...string[]] = [process.execPath, agent, script];
    const { file, args } = adapter.command(spec, { command, agentSandbox: true, settings: {} });
    const env = { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: COMPILED, REEF_JOB: 'the-job' };
    this.child = spawn(file, args, { cwd: folder, env });
    running.push(this.child);
    this.child.stderr.on('data', (chunk) => {
      this.stderr += chunk;
      this.changed();
    });
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      this.effects.push(
        ...adapter.parse(null, { stream: 'out', json: JSON.parse(line) as Json, skeleton: false }).effects,
      );
      this.changed();
    });
    this.ended = new Promise((done) => this.child.once('close', (code, signal) => done({ code, signal })));
  }

  send(outgoing: Outgoing): void {
    const encoded = adapter.encode(null, outgoing);
    if ('lines' in encoded) this.child.stdin.write(encoded.lines.map((line) => `${line}\n`).join(''));
  }

  message(messageId: string, text: string): void {
    this.send({ kind: 'message', messageId, text });
  }

  answer(requestId: string, answer: Answer): void {
    this.send({ kind: 'answer', requestId, requestLine: '', answers: [answer] });
  }

  async until(isThere: (effect: Effect) => boolean, times = 1): Promise<void> {
    await this.untilState(() => this.effects.filter(isThere).length >= times);
  }

  async untilState(isMet: () => boolean): Promise<void> {
    const deadline = Date.now() + PATIENCE_MS;
    while (!isMet()) {
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`waited in vain; so far: ${JSON.stringify(this.effects)} ${this.stderr}`);
      await new Promise<void>((done) => {
        const timer = setTimeout(done, left);
        this.changed = () => {
          clearTimeout(timer);
          done();
        };
      });
    }
  }

  end(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    return this.ended;
  }
}

function write(script: string): string {
  const file = join(folder, 'script.yaml');
  writeFileSync(file, script);
  return file;
}

const isAsk = (effect: Effect) => effect.do === 'ask';
const isEnd = (effect: Effect) => effect.do === 'turn' && effect.is !== 'begun';
const said = (id: string, text: string): Effect[] => [
  { do: 'answer' },
  { do: 'text', kind: 'text', id, text, final: true },
];
const progress = (payload: Extract<Effect, { do: 'emit' }>['event']['payload']) => ({
  do: 'emit',
  event: { type: 'progress', payload },
});
const begun: Effect = { do: 'turn', is: 'begun' };
const over = (outcome: 'done' | 'interrupted', result: string): Effect => ({ do: 'turn', is: 'over', outcome, result });
const allow: Answer = { kind: 'permission', decision: 'allow_once' };

describe('a script', () => {
  verifies('A-120').test('asks, waits for leave, runs, edits and tells it all in order', async () => {
    const job = new Job(`${scripts}database.yaml`);
    job.message('m1', 'users');
    await job.until(isAsk);
    job.answer('"q3"', { kind: 'choice', labels: ['SQLite'], ids: ['SQLite'] });
    await job.until(isAsk, 2);
    expect(existsSync(join(folder, 'approved.txt'))).toBe(false);
    job.answer('"q4"', allow);
    await job.until(isEnd);
    const path = join(folder, 'config/database.txt');
    const tokens = { input: 100, output: 20, cacheRead: 0, cacheWrite: 0, reasoning: 0, scope: 'more' };
    const result = 'You chose SQLite, and the permission was "allow".';
    const choices = ['PostgreSQL', 'SQLite'].map((label) => ({ id: label, label }));
    const input = { command: ['touch', 'approved.txt'] };
    expect(job.effects).toEqual([
      { do: 'session', sessionId: 'fresh', cwd: folder },
      { do: 'ack', messageId: 'm1' },
      begun,
      { do: 'text', kind: 'thinking', id: 'm1', text: 'How should "users" be stored?', final: true },
      ...said('m2', 'I have a question first.'),
      {
        do: 'ask',
        requestId: '"q3"',
        questions: [
          {
            kind: 'choice',
            question: 'Which database should I use?',
            choices,
            multi: false,
            freeText: false,
            secret: false,
            header: 'Database',
          },
        ],
      },
      { do: 'ack', requestId: '"q3"' },
      {
        do: 'ask',
        requestId: '"q4"',
        questions: [{ kind: 'permission', question: `Allow shell: ${JSON.stringify(input)}?`, tool: 'shell', input }],
      },
      { do: 'ack', requestId: '"q4"' },
      {
        do: 'emit',
        event: {
          type: 'tool_call',
          payload: { id: 't5', name: 'shell', tool: 'shell', title: 'touch approved.txt', input },
        },
      },
      progress({ kind: 'tool_result', id: 't5', ok: true, text: '', exitCode: 0 }),
      {
        do: 'emit',
        event: {
          type: 'tool_call',
          payload: {
            id: 't6',
            name: 'edit',
            tool: 'edit',
            title: 'config/database.txt',
            input: { path: 'config/database.txt' },
          },
        },
      },
      {
        do: 'emit',
        event: {
          type: 'file_edit',
          payload: { id: 't6', path, kind: 'add', diff: '@@ -0,0 +1,1 @@\n+database = SQLite\n' },
        },
      },
      progress({ kind: 'tool_result', id: 't6', ok: true, text: 'wrote config/database.txt' }),
      { do: 'usage', report: { tokens, cost: { usd: 0.01, scope: 'more' }, partial: false } },
      ...said('m7', result),
      over('done', result),
    ]);
    expect([readFileSync(path, 'utf8'), existsSync(join(folder, 'approved.txt'))]).toEqual([
      'database = SQLite\n',
      true,
    ]);
  });

  test('tells only events of the contract', async () => {
    const job = new Job(write('- edit: { path: a, content: x }\n- shell: [cat, a]\n- flood: { events: 3 }\n'));
    job.message('m1', 'go');
    await job.until(isEnd);
    const events = job.effects.flatMap((effect) => (effect.do === 'emit' ? [effect.event] : []));
    expect(events.flatMap((event) => eventBodySchema.safeParse(event).error?.issues ?? [])).toEqual([]);
  });

  test('goes on after a refusal, without what was refused', async () => {
    const job = new Job(write('- permit: { tool: t, steps: [{ say: allowed }] }\n- say: "{answer}"\n'));
    job.message('m1', 'go');
    await job.until(isAsk);
    job.answer('"q1"', { kind: 'permission', decision: 'deny' });
    await job.until(isEnd);
    expect(job.effects.at(-1)).toEqual(over('done', 'deny'));
  });

  test('tells how a tool failed', async () => {
    const job = new Job(
      write('- shell: [sh, -c, "echo no >&2; exit 3"]\n- edit: { path: script.yaml/x, content: x }\n'),
    );
    job.message('m1', 'go');
    await job.until(isEnd);
    const results = job.effects.flatMap((effect) =>
      effect.do === 'emit' && effect.event.type === 'progress' ? [effect.event.payload] : [],
    );
    expect(results).toEqual([
      { kind: 'tool_result', id: 't1', ok: false, text: 'no\n', exitCode: 3 },
      { kind: 'tool_result', id: 't2', ok: false, text: expect.stringContaining('script.yaml') },
    ]);
  });

  test('runs commands under the mark of its job', async () => {
    const job = new Job(write('- shell: [sh, -c, "echo $REEF_JOB"]\n'));
    job.message('m1', 'go');
    await job.until(isEnd);
    expect(job.effects).toContainEqual(
      progress({ kind: 'tool_result', id: 't1', ok: true, text: 'the-job\n', exitCode: 0 }),
    );
  });

  verifies('A-43').test('can take a question back, and a late answer is only acknowledged', async () => {
    const job = new Job(write('- ask: { question: Who?, wait: false }\n- withdraw\n- say: never mind\n'));
    job.message('m1', 'go');
    await job.until(isEnd);
    job.answer('"q1"', { kind: 'text', text: 'me' });
    await job.until((effect) => effect.do === 'ack' && 'requestId' in effect);
    expect(job.effects.slice(3)).toEqual([
      { do: 'ask', requestId: '"q1"', questions: [{ kind: 'text', question: 'Who?', freeText: true, secret: false }] },
      { do: 'withdraw', requestId: '"q1"', by: 'agent' },
      ...said('m2', 'never mind'),
      over('done', 'never mind'),
      { do: 'ack', requestId: '"q1"' },
    ]);
  });

  test('can fail, warn, and write what it likes', async () => {
    const job = new Job(
      write('- stderr: careful\n- emit: { do: limit, message: enough }\n- fail: { message: broken }\n'),
    );
    job.message('m1', 'go');
    await job.until(isEnd);
    await job.untilState(() => job.stderr === 'careful\n');
    expect(job.effects.slice(3)).toEqual([
      { do: 'limit', message: 'enough' },
      { do: 'turn', is: 'failed', code: 'agent_error', message: 'broken', retryable: false },
    ]);
  });

  test('can repeat and flood, and every line arrives', async () => {
    const job = new Job(`${scripts}flood.yaml`);
    job.message('m1', 'go');
    await job.until(isEnd);
    const texts = job.effects.flatMap((effect) =>
      effect.do === 'emit' && effect.event.type === 'progress' && effect.event.payload.kind === 'text'
        ? [effect.event.payload.text]
        : [],
    );
    expect(texts).toEqual(Array.from({ length: 20_000 }, (_, at) => `flood ${at + 1}`));
  });
});

describe('messages', () => {
  verifies('A-48').test('that come during a turn get a turn of their own, a repeated one gets none', async () => {
    const job = new Job(
      write('steps: [{ ask: { question: Ready? } }]\nonMessage: [{ say: "{message}, {task}, {answer}" }]\n'),
    );
    job.message('m1', 'one');
    await job.until(isAsk);
    job.message('m2', 'two');
    job.message('m2', 'two');
    job.message('m3', 'three');
    job.answer('"q1"', { kind: 'text', text: 'yes' });
    await job.until(isEnd, 3);
    const ack = (messageId: string): Effect => ({ do: 'ack', messageId });
    expect([job.effects.filter(({ do: what }) => what === 'ack'), job.effects.filter(isEnd)]).toEqual([
      [ack('m1'), ack('m2'), ack('m2'), ack('m3'), { do: 'ack', requestId: '"q1"' }],
      [over('done', ''), over('done', 'two, one, yes'), over('done', 'three, one, yes')],
    ]);
  });

  test('without steps for them are answered', async () => {
    const job = new Job(write('- say: hi\n'));
    job.message('m1', 'one');
    job.message('m2', 'two');
    await job.until(isEnd, 2);
    expect(job.effects.at(-1)).toEqual(over('done', 'ok: two'));
  });

  test('after a resume begin where the script says', async () => {
    const job = new Job(`${scripts}database.yaml`, { sessionId: 'old', model: 'big' });
    job.message('m1', 'more');
    job.message('m2', 'and more');
    await job.until(isEnd, 2);
    expect([job.effects[0], ...job.effects.filter(isEnd)]).toEqual([
      { do: 'session', sessionId: 'old', model: 'big', cwd: folder },
      over('done', 'back again: more'),
      over('done', 'noted: and more'),
    ]);
  });

  test('that are none are complained about, and the agent goes on', async () => {
    const job = new Job(write('- say: hi\n'));
    job.child.stdin.write('hello\n{"id":1}\n');
    job.message('m1', 'one');
    await job.until(isEnd);
    await job.untilState(() => job.stderr.split('\n').length > 2);
    expect(job.stderr).toBe('not a line of the reef protocol: hello\nnot a line of the reef protocol: {"id":1}\n');
  });
});

describe('an interrupt', () => {
  const interrupt: Outgoing = { kind: 'interrupt', messageId: 'i1' };

  test('ends a sleeping turn, and the next message is heard', async () => {
    const job = new Job(`${scripts}slow.yaml`);
    job.message('m1', 'go');
    await job.until(({ do: what }) => what === 'text');
    job.send(interrupt);
    await job.until(isEnd);
    job.message('m2', 'still there?');
    await job.until(isEnd, 2);
    expect(job.effects.slice(2)).toEqual([
      begun,
      ...said('m1', 'working'),
      { do: 'ack', messageId: 'i1' },
      over('interrupted', 'working'),
      { do: 'ack', messageId: 'm2' },
      begun,
      ...said('m2', 'ok: still there?'),
      over('done', 'ok: still there?'),
    ]);
  });

  verifies('A-43').test('ends a turn that asks, and takes its questions back', async () => {
    const job = new Job(write('- ask: { question: Who?, wait: false }\n- permit: { tool: t }\n'));
    job.message('m1', 'go');
    await job.until(isAsk, 2);
    job.send(interrupt);
    await job.until(isEnd);
    expect(job.effects.slice(-4)).toEqual([
      { do: 'ack', messageId: 'i1' },
      { do: 'withdraw', requestId: '"q2"', by: 'interrupt' },
      { do: 'withdraw', requestId: '"q1"', by: 'interrupt' },
      over('interrupted', ''),
    ]);
  });

  test('that comes with the message ends its turn at once', async () => {
    const job = new Job(`${scripts}slow.yaml`);
    await job.until(({ do: what }) => what === 'session');
    job.child.stdin.write('{"id":"m1","text":"go"}\n{"id":"i1","interrupt":true}\n');
    await job.until(isEnd);
    expect(job.effects.slice(1)).toEqual([
      { do: 'ack', messageId: 'm1' },
      { do: 'ack', messageId: 'i1' },
      begun,
      over('interrupted', ''),
    ]);
  });

  test('ends a flood', async () => {
    const job = new Job(write('- flood: { events: 10000000 }\n'));
    job.message('m1', 'go');
    await job.until(({ do: what }) => what === 'emit');
    job.send(interrupt);
    await job.until(isEnd);
    expect(job.effects.at(-1)).toEqual(over('interrupted', ''));
  });

  test('without a turn is only acknowledged', async () => {
    const job = new Job(write('- say: hi\n'));
    job.send(interrupt);
    job.message('m1', 'go');
    await job.until(isEnd);
    expect(job.effects.at(-1)).toEqual(over('done', 'hi'));
  });
});

describe('the end', () => {
  const ending = async (steps: string) => {
    const job = new Job(write(steps));
    job.message('m1', 'go');
    return job.end();
  };

  verifies('A-120').test('is the code or the signal the script says', async () => {
    expect([await ending('- exit: 7\n'), await ending('- crash\n'), await ending('- crash: SIGTERM\n')]).toEqual([
      { code: 7, signal: null },
      { code: null, signal: 'SIGKILL' },
      { code: null, signal: 'SIGTERM' },
    ]);
  });

  test('is SIGTERM when idle, unless the script is deaf to it', async () => {
    const idle = new Job(write('- say: hi\n'));
    idle.message('m1', 'go');
    await idle.until(isEnd);
    idle.child.kill('SIGTERM');
    expect(await idle.end()).toEqual({ code: null, signal: 'SIGTERM' });

    const deaf = new Job(`${scripts}deaf.yaml`);
    deaf.message('m1', 'go');
    await deaf.until(({ do: what }) => what === 'text');
    deaf.child.kill('SIGTERM');
    deaf.send({ kind: 'interrupt', messageId: 'i1' });
    await deaf.until(isEnd);
    expect(deaf.child.exitCode).toBe(null);
    deaf.child.kill('SIGKILL');
    expect(await deaf.end()).toEqual({ code: null, signal: 'SIGKILL' });
  });

  test('comes when nobody will write any more', async () => {
    const job = new Job(write('- say: hi\n'));
    job.message('m1', 'go');
    job.child.stdin.end();
    expect([await job.end(), job.effects.at(-1)]).toEqual([{ code: 0, signal: null }, over('done', 'hi')]);
  });

  verifies('A-120').test('comes at once for what is no script, with its line', async () => {
    const bad = new Job(write('- say: hi\n- dance: 1\n'));
    const missing = new Job(join(folder, 'none.yaml'));
    expect([await bad.end(), bad.stderr, await missing.end(), missing.stderr]).toEqual([
      { code: 2, signal: null },
      'script_invalid: line 2: there is no step "dance"\n',
      { code: 2, signal: null },
      expect.stringMatching(/^script_invalid: ENOENT/),
    ]);
  });
});
