import { ReefError } from '../../protocol/errors.ts';
import type { Job } from '../../protocol/jobs.ts';
import type { Adapter } from '../adapter.ts';

/** The adapter as this job needs it. */
export function forMode(adapter: Adapter, mode: Job['mode']): Adapter {
  return mode === 'headful' ? atTerminal(adapter) : adapter;
}

/** The same agent behind its own terminal: it speaks to people, so nothing is parsed, and what it is told is typed. */
function atTerminal(adapter: Adapter): Adapter {
  const { terminal } = adapter;
  const { title } = adapter.describe();
  if (!terminal) throw new ReefError('headful_unsupported', `${title} has no terminal that Reef can open`);
  return {
    describe: adapter.describe,
    command: terminal,
    initial: () => null,
    parse: (state) => ({ state, effects: [] }),
    encode: () => ({ refuse: 'send_unsupported', message: `${title} is told nothing but by its keyboard` }),
    finish: () => undefined,
  };
}
