import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { stringify } from 'yaml';
import { jobDir } from '../../src/agents/sandbox.ts';
import type { AgentEvent } from '../../src/protocol/events.ts';
import type { JobView } from '../../src/protocol/job-operations.ts';
import { call, calls, done } from '../support/coder/scene.ts';
import { verifies } from '../support/verifies.ts';
import { ADDS, PROJECT, RunsRig, SUBTRACTS, visitsOf } from './runs-rig.ts';

/** Reef's own coder as a job: its questions, its tools, its state, and what a kill of either side costs it. */

let rig: RunsRig;
beforeAll(async () => {
  rig = new RunsRig({ ...PROJECT, 'sum.mjs': SUBTRACTS });
  const models = ['fixer', 'killed', 'blocks', 'first', 'second'].map((name) => ({ name, script: `${name}.yaml` }));
  rig.world.configure({
    model: 'demo:blocks',
    clients: [{ type: 'scripted', name: 'demo', models }],
    reef: { permissions: [{ tool: 'run_command', action: 'allow' }], timings: { linger: 0 } },
  });
  await rig.trust();
});
afterAll(() => rig.close());

function script(name: string, entries: unknown[]): void {
  writeFileSync(
    join(rig.world.root, 'config', 'reef', `${name}.yaml`),
    stringify(entries, { aliasDuplicateObjects: false }),
  );
}

/** Results of its calls, in order. */
function resultsOf(events: readonly AgentEvent[]): string[] {
  return events.flatMap((event) =>
    event.type === 'progress' && event.payload.kind === 'tool_result' ? [event.payload.text] : [],
  );
}

verifies('S-54', 'S-55', 'S-56', 'S-50', 'S-52', 'S-38').test(
  'the coder mends a failing test in a worktree, asks through the inbox, and outlives the daemon',
  async () => {
    script('fixer', [
      call('todo', { op: 'set', items: ['mend sum'] }),
      calls(['read_file', { path: 'sum.mjs' }], ['read_file', { path: 'sum.test.mjs' }]),
      call('run_command', { command: 'npm test' }),
      call('ask_user', { question: 'May sum add?', options: ['yes', 'no'] }),
      call('edit_file', { path: 'sum.mjs', old: 'a - b', new: 'a + b' }),
      call('code_search', { query: 'sum' }),
      call('get_symbol', { name: 'sum', include_source: true }),
      call('run_command', { command: 'npm test' }),
      calls(
        ['todo', { op: 'complete', id: 'k1' }],
        ['artifact_read', { id: 't2' }],
        ['read_file', { path: 'sum.mjs' }],
      ),
      done('sum adds now; npm test passes.'),
    ]);
    const spawned = await rig.json(
      'spawn',
      'native:coder',
      'make the test pass',
      '--model',
      'demo:fixer',
      '--worktree',
    );
    const id: string = spawned.agentId;
    const { cwd } = await rig.world.until(id, ({ status }) => status === 'awaiting_input', 60_000);
    const before = await rig.world.killDaemon();
    const { questions } = await rig.json('inbox');
    const answered = await rig.reef('send', id, '--option', 'yes');
    const { status } = await rig.world.until(id, ({ endedAt }) => endedAt !== undefined, 60_000);
    const events = await rig.world.events(id);
    const results = resultsOf(events);
    expect([status, answered.code, questions.map((each: { question: string }) => each.question)]).toEqual([
      'completed',
      0,
      ['May sum add?'],
    ]);
    expect((await rig.world.client.daemon())?.pid).not.toBe(before);
    expect([results[3]?.startsWith('exit 1\n'), results[4], results[8]?.startsWith('exit 0\n')]).toEqual([
      true,
      'yes',
      true,
    ]);
    // Its own worktree, where it adds; the user's checkout still subtracts.
    expect([results[6], results[7]]).toEqual([expect.stringContaining('a + b'), expect.stringContaining('a + b')]);
    expect([
      readFileSync(join(cwd, 'sum.mjs'), 'utf8'),
      readFileSync(join(rig.world.repository, 'sum.mjs'), 'utf8'),
    ]).toEqual([ADDS, SUBTRACTS]);
    const last = events.at(-1);
    expect(last?.type === 'completed' && last.payload.result).toBe('sum adds now; npm test passes.');
    const edits = events.flatMap((event) =>
      event.type === 'file_edit' && !event.payload.outside ? [event.payload.path] : [],
    );
    expect(edits).toEqual(['sum.mjs']);

    const state = await rig.reef('state', cwd);
    expect([state.code, state.out]).toEqual([0, expect.stringMatching(/sum\.mjs \(\w{6}, 36 bytes\).*modified t5/)]);
    const listed = await rig.reef('state', 'calls', id);
    const own = [...listed.out.matchAll(/own (\d+)/g)].map(([, tokens]) => Number(tokens));
    expect([listed.code, own.length, own.filter((tokens) => tokens >= 5_000)]).toEqual([0, 10, []]);
    // What the index shows for the task, or that it was not ready, stands in each of them and is no text of Reef's own.
    expect([...listed.out.matchAll(/ code \d+ /g)]).toHaveLength(10);
    expect(listed.out.trimEnd().split('\n').at(-1)).toBe(
      'read back: 1 artifacts, 1 files that had been read the same way before',
    );
    const artifact = await rig.reef('state', 'artifact', 't2', '--job', id);
    expect([artifact.code, artifact.out]).toEqual([0, expect.stringContaining('>>> read_file\nsum.mjs\n<<<\n')]);
  },
  120_000,
);

verifies('S-19', 'S-54').test(
  'a coder killed with -9 is resumed with the same snapshot, epoch and tail, and goes on',
  async () => {
    const afterwards = { when: { any_user: 'The person says: go on' } };
    script('killed', [
      { ...afterwards, ...call('ask_user', { question: 'Second?' }) },
      { ...afterwards, ...call('edit_file', { path: 'sum.mjs', old: 'a - b', new: 'a + b' }) },
      { ...afterwards, ...done('Went on.') },
      call('read_file', { path: 'sum.mjs' }),
      call('write_file', { path: 'note.txt', content: 'noted\n' }),
      call('ask_user', { question: 'First?' }),
      call('run_command', { command: 'touch begun; sleep 100' }),
    ]);
    const spawned = await rig.json('spawn', 'native:coder', 'add', '--model', 'demo:killed', '--worktree');
    const id: string = spawned.agentId;
    const { cwd } = await rig.world.until(id, ({ pid }) => pid !== undefined);
    await answer(id, 'First?', 'one');
    await rig.world.until(id, () => existsSync(join(cwd, 'begun')), 60_000);
    const dir = jobDir(rig.world.home.dir, id);
    const log = readFileSync(join(dir, 'context-log.jsonl'), 'utf8');
    const { pid = 0 } = await rig.world.job(id);
    process.kill(coderBehind(pid), 'SIGKILL');
    await rig.world.until(id, ({ endedAt }) => endedAt !== undefined, 60_000);
    const resumed = await rig.reef('resume', id, 'go on');
    await answer(id, 'Second?', 'two');
    const { status } = await rig.world.until(id, (job) => job.status === 'completed', 60_000);
    expect([resumed.code, status]).toEqual([0, 'completed']);
    // Nothing of the log is written anew, and the prompt after it begins with the one before, segment by segment.
    expect(readFileSync(join(dir, 'context-log.jsonl'), 'utf8').startsWith(log)).toBe(true);
    const ledgers = readFileSync(join(dir, 'context.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { epoch: number; segments: { hash: string }[] });
    const hashes = ledgers.map(({ epoch, segments }) => [epoch, ...segments.map(({ hash }) => hash)]);
    const [, , , before = [], after = []] = hashes;
    expect([hashes.length, after.slice(0, before.length)]).toEqual([7, before]);
    expect([readFileSync(join(cwd, 'sum.mjs'), 'utf8'), readFileSync(join(cwd, 'note.txt'), 'utf8')]).toEqual([
      ADDS,
      'noted\n',
    ]);
  },
  120_000,
);

async function answer(id: string, question: string, text: string): Promise<void> {
  const isAsked = ({ questions }: JobView) => questions.some((each) => each.question === question);
  await rig.world.until(id, isAsked, 60_000);
  await rig.world.client.call('send', { id, text });
}

/** The program itself: below the wrapper and whatever contains it. */
function coderBehind(pid: number): number {
  const below = (parent: number): number[] =>
    readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  const isCoder = (each: number) =>
    readFileSync(`/proc/${each}/cmdline`, 'utf8').split('\0')[1]?.endsWith('native-coder.ts');
  for (let level = [pid]; level.length > 0; level = level.flatMap(below)) {
    const found = level.find(isCoder);
    if (found !== undefined) return found;
  }
  throw new Error(`no coder below ${pid}`);
}

verifies('S-70').test(
  'a second coder in the same checkout is told what the first one did as the work of somebody else',
  async () => {
    script('first', [
      call('todo', { op: 'note', text: 'the first one decided this' }),
      call('write_file', { path: 'one.txt', content: 'one\n' }),
      call('run_command', { command: 'echo ran by the first' }),
      done('The first is done.'),
    ]);
    script('second', [call('read_file', { path: 'one.txt' }), done('The second is done.')]);
    const spawn = async (model: string) => {
      const { agentId } = await rig.json('spawn', 'native:coder', `work of ${model}`, '--model', `demo:${model}`);
      const { status } = await rig.world.until(agentId, ({ endedAt }) => endedAt !== undefined, 60_000);
      return { id: agentId as string, status };
    };
    const first = await spawn('first');
    const second = await spawn('second');
    const log = readFileSync(join(jobDir(rig.world.home.dir, second.id), 'context-log.jsonl'), 'utf8');
    const started = log.split('\n').find((line) => line.includes('context.started')) ?? '{}';
    const { snapshot } = JSON.parse(started).payload as { snapshot: string };
    expect([first.status, second.status]).toEqual(['completed', 'completed']);
    expect(snapshot.split('\n').filter((line) => /Story|one\.txt|echo|decided/.test(line))).toEqual([
      expect.stringContaining(`Story: ${second.id} | `),
      expect.stringMatching(new RegExp(`one\\.txt .* created ${first.id}/t2$`)),
      expect.stringContaining(`  ${first.id}/t3 $ echo ran by the first`),
      `Notes: ${first.id}/t1 the first one decided this`,
    ]);
    // Its own turns need no name, and those of the first are marked for a person too.
    const shown = await rig.reef('state');
    expect(shown.out).toMatch(new RegExp(`one\\.txt .* created ${first.id}/t2`));
  },
  180_000,
);

const inBlock = (block: string, entry: object) => ({ when: { any_user: `${block}, visit` }, ...entry });

verifies('S-54').test(
  'a whole workflow runs with the coder as its agent: the gate fails, the fixer mends, the gate passes',
  async () => {
    const [writing, fixing] = ['Feature_Implement__GenerateCode', 'Feature_Troubleshoot__FixCode'];
    script('blocks', [
      inBlock(writing, call('write_file', { path: 'README.md', content: '# sum\n' })),
      inBlock(writing, done('Written.\nSIGNAL:SUCCESS')),
      inBlock(fixing, call('read_file', { path: 'sum.mjs' })),
      inBlock(fixing, call('edit_file', { path: 'sum.mjs', old: 'a - b', new: 'a + b' })),
      inBlock(fixing, done('Mended.\nSIGNAL:SUCCESS')),
      { ...done('Nothing to do.\nSIGNAL:SUCCESS'), times: 'always' },
    ]);
    const ran = await rig.reef('run', 'full-gates', 'make sum add', '--agent', 'native:coder', '--follow');
    const { run, view } = await rig.settled('@last');
    expect([ran.code, ran.err, run.status]).toEqual([0, '', 'success']);
    const visits = visitsOf(view);
    expect(visits.filter((visit) => /GenerateCode|RunTests|FixCode/.test(visit))).toEqual([
      'GenerateCode#1 SUCCESS',
      'RunTests#1 FAILURE',
      'FixCode#1 SUCCESS',
      'RunTests#2 SUCCESS',
    ]);
    const accepted = await rig.reef('worktree', 'accept', '@last');
    expect([accepted.code, rig.git('show', 'HEAD:sum.mjs')]).toEqual([0, ADDS.trimEnd()]);
  },
  240_000,
);
