import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseJson } from '../../../base/safe-json.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { OperationInput, OperationOutput } from '../../../protocol/operations.ts';
import type { Client } from '../../client/client.ts';
import { type Cli, type Command, textArgument } from '../cli.ts';

interface ReviewOptions {
  comment?: string[];
  file?: string;
  ok?: true;
  key?: string;
}

type Review = OperationInput<'review'>;

export const review: Command<ReviewOptions> = async (cli, [id = '', given], { comment = [], file, ok, key }) => {
  const client = cli.client();
  const text = await textArgument(cli, given);
  const written = file === undefined ? {} : await readReview(cli, file);
  const here = comment.length > 0 ? await locate(client, id, comment) : [];
  const reviewed = await client.call('review', {
    ...written,
    worktree: id,
    comments: [...(written.comments ?? []), ...here],
    ...(text !== undefined && { text }),
    ...(ok && { verdict: 'ok' as const }),
    ...(key !== undefined && { key }),
  });
  cli.print(reviewed, () => SAID[reviewed.how](reviewed.runId ?? reviewed.agentId ?? ''));
  return 0;
};

const SAID: Record<OperationOutput<'review'>['how'], (id: string) => string> = {
  delivered: (id) => `The agent ${id} has been told.`,
  resumed: (id) => `Job ${id} goes on with the review. To watch: reef output ${id} --follow`,
  retried: (id) => `The run goes on as ${id} with the review. To watch: reef run show ${id} --follow`,
  approved: (id) => `Run ${id} is approved. To watch: reef run show ${id} --follow`,
};

/** What it may contain is checked by the operation. */
async function readReview(cli: Cli, file: string): Promise<Partial<Review>> {
  const read = file === '-' ? await cli.stdin() : await readFile(resolve(cli.cwd, file), 'utf8').catch(ifUnreadable);
  const parsed = parseJson(read);
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null)
    throw new ReefError('bad_request', `${file} is not a JSON object${parsed.ok ? '' : `: ${parsed.why}`}`);
  return parsed.value;
}

function ifUnreadable(cause: Error): never {
  throw new ReefError('bad_request', `--file: ${cause.message}`, { cause });
}

const PLACE = /^(.+?):(-?)(\d{1,9}):\s*(.+)$/s;

/** Comments on the files as they are at this moment. */
async function locate(client: Client, id: string, given: readonly string[]): Promise<NonNullable<Review['comments']>> {
  const blobs = blobsIn(await client.call('diff', { id }));
  return given.map((comment) => {
    const [, path = '', minus, line, text = ''] = PLACE.exec(comment) ?? [];
    if (text === '')
      throw new ReefError('bad_request', `--comment: expected "FILE:LINE: what you say", not "${comment}"`);
    const side = minus === '-' ? 'old' : 'new';
    const blob = blobs.get(path)?.[side];
    if (blob === undefined) throw new ReefError('bad_request', `--comment: ${path} is not changed in this worktree`);
    return { path, side, line: Number(line), blob, text };
  });
}

interface Sides {
  old: string;
  new: string;
}

/** The ids of both sides of each file. The parts of a patch come in the order of the files; a change of type has two. */
function blobsIn({ files, patch }: OperationOutput<'diff'>): Map<string, Sides> {
  const parts = patch.split(/^(?=diff --git )/m).values();
  const blobs = new Map<string, Sides>();
  for (const { path, status } of files) {
    const of = [parts.next().value, ...(status === 'T' ? [parts.next().value] : [])].join('');
    const [, before, after] = /^index ([0-9a-f]+)\.\.([0-9a-f]+)/m.exec(of) ?? [];
    if (before !== undefined && after !== undefined) blobs.set(path, { old: before, new: after });
  }
  return blobs;
}
