import { ReefError } from '../../src/protocol/errors.ts';
import type { Caller, Core, JobView, OperationName } from '../../src/protocol/operations.ts';
import { sampleEntry, sampleEvent, sampleJob } from './samples.ts';

export interface CoreCall {
  operation: OperationName;
  input: unknown;
  caller: Caller;
}

/**
 * The smallest thing that keeps the contract of `Core`: one job, which exists, and no other. It lets the surfaces be
 * tested for what they add; what the operations do is proved against the real one.
 */
export function smallCore(job: JobView = sampleJob(), changes: Partial<Core> = {}): { core: Core; calls: CoreCall[] } {
  const calls: CoreCall[] = [];
  const ref = () => ({ agentId: job.id, status: job.status });
  const find = (id: string) => {
    if (id !== '@last' && !job.id.startsWith(id)) throw new ReefError('job_not_found', `no job ${id}`);
  };
  const core: Core = {
    spawn: async () => ref(),
    status: async ({ id }) => {
      if (id !== undefined) find(id);
      return { jobs: [job] };
    },
    send: async ({ id }) => {
      find(id);
      return { ...ref(), delivered: true, messageId: 'm1' };
    },
    output: async ({ id }) => {
      find(id);
      return {
        ...ref(),
        events: [sampleEvent('progress', { kind: 'text', text: 'hello' })],
        nextCursor: '1',
        truncated: false,
      };
    },
    kill: async ({ id }) => {
      find(id);
      return { agentId: job.id, status: 'killed', finalOutput: 'last words' };
    },
    wait: async () => ({ met: true, jobs: [job] }),
    interrupt: async ({ id }) => {
      find(id);
      return { agentId: job.id, status: 'paused' };
    },
    resume: async ({ id }) => {
      find(id);
      return { agentId: job.id, status: 'queued', launch: 2 };
    },
    inbox: async () => ({ questions: job.questions.map((question) => sampleEntry(question)) }),
    ...changes,
  };
  const recorded = Object.entries(core).map(([name, run]) => [
    name,
    (input: unknown, caller: Caller, signal: AbortSignal) => {
      calls.push({ operation: name as OperationName, input, caller });
      return run(input as never, caller, signal);
    },
  ]);
  return { core: Object.fromEntries(recorded) as Core, calls };
}
