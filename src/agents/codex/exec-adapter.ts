import type { Adapter, Exit } from '../adapter.ts';
import { describeExec } from './describe.ts';
import { execCommand } from './exec-command.ts';
import { type ExecState, execParse } from './exec-parse.ts';
import { sandboxEnd } from './sandbox.ts';

/** Codex through `codex exec --json`, the fallback: one prompt, one turn, one exit, and it can ask nothing. */
export const codexExecAdapter: Adapter<ExecState> = {
  describe: describeExec,
  command: execCommand,
  initial: (_, host) => ({
    isSandboxed: host.agentSandbox,
    isSandboxBroken: false,
    retries: 0,
    result: '',
    answer: 'none',
    openTools: [],
  }),
  parse: execParse,
  encode: (_, { kind }) => ({
    refuse: kind === 'answer' ? 'question_not_found' : 'send_unsupported',
    message: `codex exec hears nothing while it runs, and takes no ${kind}`,
  }),
  finish,
};

function finish(state: ExecState, { stderrTail }: Exit): ReturnType<Adapter['finish']> {
  const lost = /no rollout found for thread id \S+/.exec(stderrTail);
  if (lost) return { code: 'no_session', message: `Codex does not know this conversation: ${lost[0]}` };
  return sandboxEnd(state);
}
