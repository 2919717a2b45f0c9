import { fileURLToPath } from 'node:url';
import type { OperationInput } from '../../../protocol/operations.ts';
import type { Colour } from '../render/style.ts';

const script = (name: string) => `scripted:${fileURLToPath(new URL(`./${name}.yaml`, import.meta.url))}`;

/** One lane of the story: a run or a job, and the worktree it works in. */
export interface Lane {
  name: string;
  colour: Colour;
  worktree: string;
  /** Absent for a job without a workflow. */
  runId?: string;
}

interface RunPart {
  name: string;
  colour: Colour;
  run: OperationInput<'run'>;
}

/** Real processes that play a script: no model, no key, no network. The second run plans the file of the first. */
export const runParts: RunPart[] = [
  {
    name: 'rounder',
    colour: 'green',
    run: { task: 'Make the failing test pass', agent: script('rounder'), plan: ['tax.mjs', 'README.md'], accept: true },
  },
  {
    name: 'zero',
    colour: 'yellow',
    run: {
      task: 'Support a rate of zero',
      agent: script('zero-rate'),
      plan: ['tax.mjs', 'zero.test.mjs'],
      accept: true,
    },
  },
];

export const jobPart = {
  name: 'notes',
  colour: 'cyan' as const,
  spawn: { task: 'Write the release notes', agent: script('notes'), worktree: 'release notes', plan: ['NOTES.md'] },
};
