import type { Command } from '../cli.ts';
import { shellQuote } from '../render/shell-quote.ts';

/** Prints the command that joins the terminal of a headful job: `eval "$(reef attach ID)"`. */
export const attach: Command<object> = async (cli, [id = '']) => {
  const info = await cli.client().attach(id);
  cli.print(info, () => [info.file, ...info.args].map(shellQuote).join(' '));
  return 0;
};
