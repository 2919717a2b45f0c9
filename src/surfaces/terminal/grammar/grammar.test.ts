import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { verifies } from '../../../../test/support/verifies.ts';
import { main } from '../../../programs/reef.ts';
import type { OperationName } from '../../../protocol/operations.ts';

async function reef(args: string[]): Promise<{ code: number; out: string }> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const host = { argv: ['node', 'reef', ...args], env: {}, cwd: () => '/', stdin: new PassThrough(), stdout, stderr };
  const code = await main(host);
  stdout.end();
  stderr.end();
  return { code, out: (await text(stdout)) + (await text(stderr)) };
}

/** Where each operation is found on the command line; a face that lacks one says why. */
const COMMAND_OF: Record<OperationName, string[]> = {
  ...{ spawn: ['spawn'], status: ['status', 'ps'], send: ['send'], output: ['output'], kill: ['kill'], wait: ['wait'] },
  ...{
    interrupt: ['interrupt'],
    resume: ['resume'],
    inbox: ['inbox'],
    run: ['run'],
    runs: ['runs'],
    run_compare: ['compare'],
    run_review: ['compare'],
  },
  ...{
    run_status: ['run show'],
    run_control: ['run resume', 'run hold'],
    run_from_pr: ['run continue'],
    run_follow: ['run', 'run show'],
    run_replay: ['run replay'],
    run_log: ['run log'],
  },
  block_result: [], // only the agent of a block has a result to hand in
  ...{ calls: ['calls list', 'calls show'], call_rerun: ['calls rerun'], trust: ['trust'] },
  ...{ worktrees: ['worktree list'], worktree_create: ['worktree create'], worktree_setup: ['worktree setup'] },
  ...{ diff: ['worktree diff'], accept: ['worktree accept'], worktree_discard: ['worktree discard'] },
  ...{ worktree_restore: ['worktree restore'], worktree_hold: ['worktree hold'], worktree_prune: ['worktree prune'] },
  ...{
    conflicts: ['conflicts'],
    worktree_gates: ['worktree gates'],
    base_gates: ['init'],
    worktree_update: ['worktree update'],
  },
  ...{ worktree_push: ['worktree push'], worktree_pr: ['worktree pr'], worktree_shell: ['worktree shell'] },
  ...{ get_file_outline: ['code outline'], get_directory_outline: ['code tree'], get_symbol: ['code symbol'] },
  ...{ get_callers: ['code callers'], get_callees: ['code callees'] },
  ...{ get_impact: ['code impact'], get_tests: ['code tests'] },
  ...{ get_symbol_references: ['code refs'], find_symbols: ['code find'], code_search: ['code search'] },
  ...{ repo_state: ['state'], artifact_read: ['state artifact'], context_calls: ['state calls'] },
  ...{ usage: ['usage'], job_log: ['output'], events: ['events'], prune: ['prune'], review: ['review'] },
  ask_host: [], // only the proxy of a sandbox asks
  todo: [], // the plan of an agent is the agent's
  ...{ explore_code: ['code explore'], code_index: ['code index', 'code status'], code_slice: ['code slice'] },
};

const EXAMPLE = /Example:\n {2}\$ \S/;

/** Every command that does something, those below others too. */
async function commandsOf(above: string[]): Promise<string[]> {
  const { out } = await reef([...above, '--help']);
  const sections = out.split(/^(?=\S.*:$)/m).filter((section) => !/^(Usage|Options|Arguments|Example)\b/.test(section));
  const listed = sections.filter((section) => /^\S.*:\n/.test(section)).join('');
  const names = [...listed.matchAll(/^ {2}([\w-]+)/gm)].flatMap(([, name = '']) => (name === 'help' ? [] : [name]));
  const below = await Promise.all(names.map((name) => commandsOf([...above, name])));
  const isOwn = above.length > 0 && out.includes('--json');
  return [...(isOwn ? [above.join(' ')] : []), ...below.flat()];
}

verifies('U-01', 'U-05').test('each part of the grammar is read for its own words, and no word is in two', async () => {
  const all = await commandsOf([]);
  for (const name of all)
    expect([name, (await reef([...name.split(' '), '--help'])).out.split('\n')[0]]).toEqual([
      name,
      expect.stringContaining(`Usage: reef ${name}`),
    ]);
});

verifies('U-01').test('every command has --json and an example', async () => {
  const names = await commandsOf([]);
  expect(names).toEqual(expect.arrayContaining(Object.values(COMMAND_OF).flat()));
  for (const name of names) {
    const help = await reef([...name.split(' '), '--help']);
    expect([name, help.code, help.out.includes('--json'), EXAMPLE.test(help.out)]).toEqual([name, 0, true, true]);
  }
  const above = new Set(names.flatMap((name) => (name.includes(' ') ? [name.split(' ')[0] ?? ''] : [])));
  for (const name of above)
    expect([name, (await reef([name, '--help'])).out]).toEqual([name, expect.stringMatching(EXAMPLE)]);
  expect([(await reef([])).code, (await reef(['daemon'])).code]).toEqual([2, 2]);
});

verifies('U-01').test('the help of reef shows every command in a group, what people do most first', async () => {
  const { out } = await reef(['--help']);
  const headings = [...out.matchAll(/^(\S.*):$/gm)].map(([, heading]) => heading);
  expect(headings).toEqual(['Options', 'Work', 'Watch', 'Code', 'Talk to a model', 'Configure', 'Look after Reef']);
  const first = [...out.matchAll(/^[A-Z].*:\n {2}(\S+)/gm)].map(([, name]) => name);
  expect(first).toEqual(['-V,', 'run', 'top', 'code', 'ask', 'init', 'demo']);
  const known = [...out.matchAll(/^ {2}([a-z]+)/gm)].map(([, name]) => name);
  expect(known.filter((name, at) => known.indexOf(name) !== at)).toEqual([]);
});
