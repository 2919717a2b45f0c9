import type { Adapter } from '../adapter.ts';
import { command, initial } from './command.ts';
import { describeAppServer } from './describe.ts';
import { encode } from './encode.ts';
import { parse } from './parse.ts';
import { sandboxEnd } from './sandbox.ts';
import type { CodexState } from './state.ts';
import { terminal } from './terminal.ts';

/** Codex through `codex app-server`: a two-way conversation that asks, steers, interrupts and resumes. */
export const codexAdapter: Adapter<CodexState> = {
  describe: describeAppServer,
  command,
  terminal,
  initial,
  parse,
  encode,
  finish: sandboxEnd,
};
