import { ReefError } from '../../../protocol/errors.ts';
import type { Cli } from '../cli.ts';

/** `-` reads it from standard input: for secrets, and for more than an argument can hold. */
export async function textArgument(cli: Cli, text: string | undefined): Promise<string | undefined> {
  if (text !== '-') return text;
  const read = await cli.stdin();
  if (read === '') throw new ReefError('bad_request', 'text: standard input was empty');
  return read;
}
