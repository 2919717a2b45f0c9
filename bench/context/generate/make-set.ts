import type { Trajectory } from '../trajectory.ts';
import { Agent } from './agent.ts';
import { HARD_CASES } from './hard-cases.ts';
import { makeProject } from './project.ts';
import { Random } from './random.ts';
import { functionName, noun, prose } from './words.ts';

/** As long as recorded runs are: 13 to 145 turns, median 36. */
const LENGTHS = [
  13, 16, 19, 21, 23, 24, 26, 28, 29, 31, 32, 33, 34, 35, 36, 36, 37, 38, 40, 42, 44, 46, 49, 52, 56, 60, 66, 73, 82,
  145,
];
const CASES = new Map<number, string>([
  [22, 'huge-message'],
  [20, 'huge-line'],
  [24, 'rewrites'],
  [12, 'no-op-writes'],
  [17, 'outside-changes'],
]);
const LONG_TASK = 8;
const PER_FILE = 5;
const SYSTEM = `You are a software engineer working in a repository through tools. Think briefly, then call one tool.
Rules: read before you edit; keep changes small; run the tests that concern your change; say when you are done.`;

/** File names and contents of the shipped set. */
export function makeSet(): Map<string, string> {
  const runs = LENGTHS.map((length, index) => makeRun(length, index));
  const files = new Map<string, string>();
  for (let from = 0; from < runs.length; from += PER_FILE) {
    const lines = runs.slice(from, from + PER_FILE).map((run) => `${JSON.stringify(run)}\n`);
    files.set(`synthetic-${String(from / PER_FILE + 1).padStart(2, '0')}.jsonl`, lines.join(''));
  }
  return files;
}

function makeRun(length: number, index: number): Trajectory {
  const random = new Random(1_000 + index * 7_919);
  const project = makeProject(random);
  const repo = Object.fromEntries(project.files);
  const agent = new Agent(random, project);
  const special = CASES.get(index);
  const hard = special === undefined ? undefined : HARD_CASES[special];
  while (agent.turns.length < length) if (!hard?.(agent, agent.turns.length)) agent.step();
  const task = makeTask(random, index === LONG_TASK ? 8_730 : random.between(1_150, 1_500));
  return agent.finish(`${special ?? noun(random)}-${index + 1}`, { system: SYSTEM, task, repo });
}

function makeTask(random: Random, tokens: number): string {
  const wanted = [functionName(random), functionName(random)];
  return `Make ${wanted[0]} agree with ${wanted[1]}.\n\n${prose(random, tokens, wanted)}`;
}
