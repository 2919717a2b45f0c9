import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import { stringify } from 'yaml';
import { type Step, type SteppingModel, steppingModel } from '../fixtures/coder/stepping-model.ts';
import { scale, tier } from '../scale.ts';
import { verifies } from '../verifies.ts';

/** The coder's own program, killed with -9 after each line it writes, and started again as `reef resume` does. */

const HOST = fileURLToPath(new URL('../../src/coder-host.ts', import.meta.url));
const BIG = 7;
const ASKED = 'Go on, please.';
const LINES = (n: number) =>
  Array.from({ length: 150 }, (_, line) => `// ${n}: line ${line} says something else\n`).join('');

const STEPS: Step[] = [
  [['todo', { op: 'set', items: ['change a', 'write b'] }]],
  [
    ['read_file', { path: 'a.txt' }],
    ['todo', { op: 'start', id: 'k1' }],
  ],
  [['edit_file', { path: 'a.txt', old: 'alpha', new: 'omega' }]],
  [['run_command', { command: "sed -i 's/one/two/' big-0.txt" }]],
  ...Array.from({ length: BIG }, (_, n): Step => [['read_file', { path: `big-${n}.txt` }]]),
  [['code_search', { query: 'alpha' }]],
  [['write_file', { path: 'b.txt', content: 'beta\n' }]],
  [
    ['todo', { op: 'complete', id: 'k1' }],
    ['todo', { op: 'complete', id: 'k2' }],
  ],
  [['done', { summary: 'All done.' }]],
];

let model: SteppingModel;
const roots: string[] = [];
beforeAll(async () => {
  model = await steppingModel(STEPS);
});
afterAll(async () => {
  await model.close();
  for (const root of roots) rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});

/** A repository, a folder of the job beside it, and the configuration of a user. */
class Place {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'reef-ck-')));
  readonly checkout = join(this.root, 'repo');
  readonly job = join(this.root, 'home', 'jobs', 'job-1');
  #launches = 0;

  constructor() {
    roots.push(this.root);
    for (const folder of [this.checkout, join(this.root, 'config', 'reef')]) mkdirSync(folder, { recursive: true });
    const client = {
      type: 'openai-compatible',
      name: 'local',
      api_base: model.url,
      api_key: 'none',
      models: [{ name: 'm' }],
    };
    writeFileSync(join(this.root, 'config', 'reef', 'config.yaml'), stringify({ clients: [client], ...ALLOWED }));
    writeFileSync(join(this.checkout, 'a.txt'), 'alpha\n');
    for (let n = 0; n < BIG; n++) writeFileSync(join(this.checkout, `big-${n}.txt`), `one\n${LINES(n)}`);
    this.git('init', '-q', '-b', 'main', '--template=');
    this.git('add', '-A');
    this.git('-c', 'user.name=A', '-c', 'user.email=a@example.invalid', 'commit', '-qm', 'first');
  }

  get env(): Record<string, string> {
    const { root } = this;
    return {
      PATH: process.env.PATH ?? '',
      HOME: root,
      XDG_CONFIG_HOME: join(root, 'config'),
      REEF_SOCKET: join(this.job, 'door', 'sock'),
    };
  }

  git(...args: string[]): string {
    // The same commit every time: its id is part of the prompt.
    const env = { ...this.env, GIT_AUTHOR_DATE: '@1700000000 +0000', GIT_COMMITTER_DATE: '@1700000000 +0000' };
    return execFileSync('git', ['-C', this.checkout, ...args], { env, encoding: 'utf8', stdio: 'pipe' }).trim();
  }

  /** Runs until it has written `most` lines, then kills it; or until its turn is over. The lines it wrote. */
  async play(most = Number.POSITIVE_INFINITY): Promise<string[]> {
    const session = this.#launches++ === 0 ? ['--session', 's-1'] : ['--resume', 's-1'];
    mkdirSync(join(this.job, 'door'), { recursive: true });
    const child = spawn(process.execPath, [HOST, ...session, '--model', 'local:m'], {
      cwd: this.checkout,
      env: this.env,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const text = this.#launches === 1 ? 'Change a and write b.' : ASKED;
    child.stdin.write(`${JSON.stringify({ id: `m${this.#launches}`, text })}\n`);
    return heard(child, most);
  }

  files(): string[] {
    return ['a.txt', 'b.txt', 'big-0.txt'].map((path) => readFileSync(join(this.checkout, path), 'utf8').slice(0, 6));
  }

  /** Less what differs between two runs that did the same: where, when, and what Reef has to say anew after a restart. */
  plain(messages: readonly unknown[]): string[] {
    const isOfResume = /The person says: Go on, please|State delta:|All criteria are met: call done/;
    return messages
      .map((message) => JSON.stringify(message))
      .filter((message) => !isOfResume.test(message))
      .map((message) => message.replaceAll(this.root, 'ROOT').replace(/Last updated: [^"\\]+/g, 'Last updated: T'));
  }
}

const ALLOWED = { reef: { permissions: [{ tool: 'run_command', action: 'allow' }] } };

async function heard(child: ChildProcess, most: number): Promise<string[]> {
  const lines: string[] = [];
  const { stdout } = child;
  if (!stdout) throw new Error('no standard output');
  const ended = new Promise((resolve) => child.once('close', resolve));
  for await (const line of createInterface({ input: stdout })) {
    if (lines.length < most) lines.push(line);
    if (lines.length >= most || /"is":"(over|failed)"/.test(line)) child.kill('SIGKILL');
  }
  await ended;
  return lines;
}

verifies('S-19', 'S-16', 'S-54').test(
  'killed after any line it writes, the coder goes on with the same snapshot, epoch and tail',
  async () => {
    const whole = new Place();
    const lines = await whole.play();
    expect(lines.at(-1)).toContain('"result":"All done."');
    // There is no daemon at all here: only the code tools miss it.
    expect(lines.filter((line) => line.includes('daemon_unavailable'))).toHaveLength(1);
    const reference = new Map(model.seen.map(({ step, messages }) => [step, whole.plain(messages)]));
    const epochs = ledgerOf(whole).map(({ epoch }) => epoch);
    expect([reference.size, epochs.at(-1)]).toEqual([STEPS.length, 1]);

    const every = scale('S-19', { test: 14, faults: 1, soak: 1 });
    // Once `done` is answered there is nothing left to go on with.
    const last = lines.findLastIndex((line) => line.includes('"kind":"tool_result"'));
    for (let at = 3; at <= last; at += every) {
      const place = new Place();
      await place.play(at);
      const before = model.seen.length;
      const rest = await place.play();
      const resumed = model.seen.slice(before);
      const [first] = resumed;
      // What it was shown first after the kill is what it would have been shown without.
      expect({ at, prompt: first && place.plain(first.messages) }).toEqual({
        at,
        prompt: reference.get(first?.step ?? 0),
      });
      expect({ at, end: rest.at(-1), files: place.files() }).toEqual({ at, end: lines.at(-1), files: whole.files() });
      rmSync(place.root, { recursive: true, force: true, maxRetries: 5 });
    }
  },
  tier() === 'test' ? 900_000 : 1_800_000,
);

function ledgerOf({ job }: Place): { epoch: number; segments: { kind: string; hash: string }[] }[] {
  const text = readFileSync(join(job, 'context.jsonl'), 'utf8');
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
}
