import { expect, test } from 'vitest';
import type { ReadyAgent } from '../../doctor/ready-agents.ts';
import { nextCommands, notesOf } from './init-advice.ts';

type Seen = Parameters<typeof notesOf>[0];

const test_ = { command: ['cargo', 'test'], because: 'Cargo.toml' };
const nothing = { toolchains: [], gates: {}, alternatives: [], notes: [], leaves: [] };
const proposal = { ...nothing, toolchains: ['Rust'], gates: { test: test_ } };
const claude: ReadyAgent = { name: 'claude', title: 'Claude Code', isInstalled: true, login: 'yes' };

function seen({ look, checkout, ...rest }: { [K in keyof Seen]?: Partial<Seen[K]> } = {}): Seen {
  return {
    look: { root: '/r', folder: '', proposal, commands: [], elsewhere: [], ...look },
    checkout: { hasCommit: true, hasIdentity: true, changed: 0, notIgnored: [], ...checkout },
    ...{ missing: [], agents: [claude], items: [], isKept: false, ...(rest as Partial<Seen>) },
  };
}

test('nothing is said of what is as it should be', () => {
  expect(notesOf(seen())).toEqual([]);
});

test.each<[string, Parameters<typeof seen>[0], RegExp[]]>([
  ['another file', { isKept: true }, [/exists and says something else.*reef init --force$/]],
  [
    'another file, and nothing to put in its place',
    { isKept: true, look: { proposal: nothing } },
    [/was not changed: Reef found no test command.*reef init --force --test/],
  ],
  ['nothing', { look: { proposal: nothing } }, [/Reef found no test command here.*reef init --test/]],
  [
    'no test',
    { look: { proposal: { ...nothing, gates: { lint: test_ } } } },
    [/a run needs one: reef init --force --test/],
  ],
  ['what is no gate', { look: { proposal: { ...proposal, notes: ['It never ends.'] } } }, [/^It never ends\.$/]],
  ['a folder', { look: { folder: 'crate' } }, [/changes to crate first/]],
  [
    'no program',
    { missing: [{ of: 'test', program: 'cargo', from: 'path' }] },
    [/test needs cargo, which is not on PATH\. .*install/],
  ],
  [
    'a fresh repository',
    { checkout: { hasCommit: false, hasIdentity: false } },
    [/no commit yet/, /has no name for you/],
  ],
  ['changes', { checkout: { changed: 1, notIgnored: ['target'] } }, [/does not ignore target/, /^1 file has changes/]],
  ['no agent', { agents: [{ ...claude, login: 'no', toDo: 'claude auth login' }] }, [/Claude Code: claude auth login/]],
])('%s is said with what to do', (_, found, notes) => {
  expect(notesOf(seen(found))).toEqual(notes.map((note) => expect.stringMatching(note)));
});

const person = { wanted: 'claude', isInteractive: true, isDry: false };
const typed = (...args: Parameters<typeof nextCommands>) => nextCommands(...args).map(({ type }) => type);

test('what is typed next begins with what is missing', () => {
  const fresh = seen({ checkout: { hasCommit: false }, items: [{ trusted: false }] });
  expect(typed(fresh, { ...person, isDry: true })).toEqual([
    'reef init',
    'git add -A && git commit -m "start"',
    'reef trust',
    'reef run "Add a test for something that has none" --follow',
    'reef inbox',
    'reef diff @last',
    'reef accept @last',
  ]);
});

test('without a test there is no run to begin with, and another agent is named', () => {
  const untested = seen({ look: { proposal: nothing }, agents: [{ ...claude, name: 'codex' }] });
  expect(typed(untested, { ...person, isInteractive: false })).toEqual([
    'reef spawn codex "Write down how this project is tested" --worktree',
    'reef inbox',
    'reef diff @last',
  ]);
});
