import { ReefError } from '../../../protocol/errors.ts';
import type { ScopeOptions } from '../../repl/enter.ts';
import type { Command } from '../cli.ts';

export const chat: Command<ScopeOptions> = async (cli, _words, options) => {
  if (!cli.isInteractive) throw new ReefError('no_tty', 'a chat needs a terminal');
  const { runRepl } = await import('../../repl/repl.ts');
  return runRepl(cli, options);
};
