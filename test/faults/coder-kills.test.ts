import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import { stringify } from 'yaml';
import { type Step, type SteppingModel, steppingModel } from '../support/coder/stepping-model.ts';
import { COMPILED } from '../support/compile-cache.ts';
import { GIT_ENV, initRepository, plainGit, writeFiles } from '../support/repository.ts';
import { scale, tier } from '../support/scale.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { verifies } from '../support/verifies.ts';

/** The coder's own program, killed with -9 after each line it writes, and started again as `reef resume` does. */

const HOST = fileURLToPath(new URL('../../src/programs/native-coder.ts', import.meta.url));
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
beforeAll(async () => {
  model = await steppingModel(STEPS);
});
afterAll(() => model.close());

/** A repository, a folder of the job beside it, and the configuration of a user. */
class Place {
  readonly root = temporaryFolder();
  readonly checkout = join(this.root, 'repo');
  readonly job = join(this.root, 'home', 'jobs', 'job-1');
  #launches = 0;

  constructor() {
    const client = {
      type: 'openai-compatible',
      name: 'local',
      api_base: model.url,
      api_key: 'none',
      models: [{ name: 'm' }],
    };
    writeFiles(this.root, { 'config/reef/config.yaml': stringify({ clients: [client], ...ALLOWED }) });
    const big = Array.from({ length: BIG }, (_, n) => [`big-${n}.txt`, `one\n${LINES(n)}`]);
    // The same commit every time: its id is part of the prompt.
    const date = '@1700000000 +0000';
    const git = plainGit(this.checkout, { ...GIT_ENV, GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date });
    initRepository(this.checkout, { 'a.txt': 'alpha\n', ...Object.fromEntries(big) }, git);
  }

  get env(): Record<string, string> {
    const { root } = this;
    return {
      PATH: process.env.PATH ?? '',
      HOME: root,
      NODE_COMPILE_CACHE: COMPILED,
      XDG_CONFIG_HOME: join(root, 'config'),
      REEF_SOCKET: join(this.job, 'door', 'sock'),
      REEF_JOB_DIR: this.job,
    };
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
    }
  },
  tier() === 'test' ? 900_000 : 1_800_000,
);

function ledgerOf({ job }: Place): { epoch: number; segments: { kind: string; hash: string }[] }[] {
  const text = readFileSync(join(job, 'context.jsonl'), 'utf8');
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
}
