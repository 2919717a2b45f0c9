import type { Adapter } from '../adapter.ts';
import { command, description, terminal } from './command.ts';
import { encode } from './encode.ts';
import { finish } from './outcome.ts';
import { parse } from './parse.ts';
import { type ClaudeState, initialState } from './state.ts';

/** Claude Code over its stream-json control protocol. */
export const claudeAdapter: Adapter<ClaudeState> = {
  describe: () => description,
  command,
  terminal,
  initial: initialState,
  parse,
  encode,
  finish,
};
