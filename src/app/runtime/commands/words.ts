import { ReefError } from '../../../protocol/errors.ts';

/** The first word and all that follows it. */
export function words(text: string): [first: string, rest: string] {
  const [, first = '', rest = ''] = /^(\S*)\s*([\s\S]*)$/.exec(text.trim()) ?? [];
  return [first, rest.trim()];
}

export function required(args: string, usage: string): string {
  if (args !== '') return args;
  throw new ReefError('bad_request', `usage: ${usage}`);
}
