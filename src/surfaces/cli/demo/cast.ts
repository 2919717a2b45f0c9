import { fileURLToPath } from 'node:url';
import type { OperationInput } from '../../../protocol/operations.ts';
import type { Colour } from '../render/style.ts';

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

const AGENT = 'native:coder';

/** Reef's own agent with models that play a script: real processes, real files, real gates; no key and no network. */
export const runParts: RunPart[] = [
  {
    name: 'rounder',
    colour: 'green',
    run: {
      task: 'Make the failing test pass',
      ...{ agent: AGENT, model: 'demo:rounder', plan: ['tax.mjs', 'README.md'], accept: true },
    },
  },
  {
    name: 'zero',
    colour: 'yellow',
    // The same file as the first: it waits.
    run: {
      task: 'Support a rate of zero',
      ...{ agent: AGENT, model: 'demo:zero', plan: ['tax.mjs', 'zero.test.mjs'], accept: true },
    },
  },
];

export const jobPart = {
  name: 'notes',
  colour: 'cyan' as const,
  spawn: {
    task: 'Write the release notes',
    ...{ agent: AGENT, model: 'demo:notes', worktree: 'release notes', plan: ['NOTES.md'] },
  },
};

/** The user's configuration for the demo: three models, each a script beside this file. */
export const demoConfig = {
  reef: { timings: { linger: 100 } },
  clients: [
    {
      type: 'scripted',
      name: 'demo',
      models: ['rounder', 'zero', 'notes'].map((name) => ({
        name,
        script: fileURLToPath(new URL(`./${name}.yaml`, import.meta.url)),
      })),
    },
  ],
};
