import type { Agent } from './agent.ts';
import { prose } from './words.ts';

/** What broke prompts in recorded runs (S-62); each goes into one run of the set, at the turn named. */
export const HARD_CASES: Readonly<Record<string, (agent: Agent, turn: number) => boolean>> = {
  /** One message of 66,000 tokens. */
  'huge-message': (agent, turn) => at(turn, 9, () => agent.say(agent.test(), prose(agent.random, 72_700, []))),
  'huge-line': (agent, turn) =>
    at(turn, 11, () => {
      const result = `${'x'.repeat(200_000)}\nerror: line too long`;
      agent.say({ tool: 'run_command', args: { command: 'cat dist/bundle.min.js' }, exit: 0, result });
    }),
  /** Nine rewrites of a file, each for the better and after a red test. */
  rewrites: (agent, turn) =>
    within(turn, [8, 26], () => {
      if (turn % 2 === 1) agent.say(agent.test());
      else agent.say(agent.script(undefined, 'src/report/summary.ts'));
    }),
  /** The file is there already, byte for byte. */
  'no-op-writes': (agent, turn) =>
    within(turn, [10, 14], () => {
      const path = 'scripts/check-1.ts';
      const content = agent.project.files.get(path);
      if (content === undefined) return agent.say(agent.script(undefined, path));
      const result = 'File already exists with identical content';
      agent.say({ tool: 'write_file', args: { path, content }, result, noop: true });
    }),
  'outside-changes': (agent, turn) =>
    at(turn, 12, () => {
      const [path = 'README.md', content = ''] = [...agent.project.files][0] ?? [];
      const after = `// formatted\n${content}`;
      agent.project.files.set(path, after);
      agent.say({ ...agent.test(), outside: { [path]: after, 'notes/outside.txt': 'made by a person\n' } });
    }),
};

function at(turn: number, wanted: number, act: () => void): boolean {
  if (turn !== wanted) return false;
  act();
  return true;
}

function within(turn: number, [from, to]: readonly [number, number], act: () => void): boolean {
  if (turn < from || turn >= to) return false;
  act();
  return true;
}
