import { printable } from '../../../base/printable.ts';
import { table } from '../../render/columns.ts';
import { type Command, operationCommand } from '../cli.ts';

export const showState = operationCommand(
  'repo_state',
  ([worktree], { section }: { section?: 'files' | 'tasks' | 'runs' | 'diff' }) => ({ worktree, section }),
  ({ text }) => printable(text) || 'Nothing has happened here yet.',
);

export const readArtifact: Command<{ job?: string; grep?: string }> = async (cli, [id = ''], options) => {
  const client = cli.client();
  const pages: string[] = [];
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const page: { text: string; nextOffset?: number | undefined } = await client.call('artifact_read', {
      id,
      offset,
      ...options,
    });
    pages.push(page.text);
    offset = page.nextOffset;
  }
  cli.print({ id, text: pages.join('') }, () => printable(pages.join('')));
  return 0;
};

interface Segment {
  kind: string;
  provenance: string;
  tokens: number;
}

/** One line per prompt: tokens of Reef's own text, of the whole, and those that the provider read from its cache. */
export const listPrompts: Command<object> = async (cli, [id = '']) => {
  const found = await cli.client().call('context_calls', { id });
  const rows = found.calls.map((call) => {
    const segments = (call.segments ?? []) as Segment[];
    const own = segments.filter(({ provenance }) => provenance === 'reef').reduce((sum, { tokens }) => sum + tokens, 0);
    const code = segments.find(({ kind }) => kind === 'code')?.tokens;
    const reported = (call.reported ?? {}) as { input?: number; cacheRead?: number };
    const cells = [
      `t${call.turn}`,
      `epoch ${call.epoch}`,
      `own ${own}`,
      code === undefined ? '' : `code ${code}`,
      `whole ${call.estimated}`,
      `reported ${reported.input ?? '–'}`,
      `cached ${reported.cacheRead ?? '–'}`,
    ];
    return cells.map((text) => ({ text }));
  });
  const { artifacts, again } = found.reads;
  const reads = `read back: ${artifacts} artifacts, ${again} files that had been read the same way before`;
  cli.print(found, () => `${table(rows, cli.style.width)}\n${reads}`);
  return 0;
};

/** A hook has two seconds; the rest is for the start of this program. */
const HOOK_MS = 1_500;

/** For the hooks of other agents: never delays one, and prints nothing instead of an error. */
export const stateHook: Command<object> = async (cli) => {
  const text = await cli
    .client()
    .call('repo_state', {}, { signal: AbortSignal.timeout(HOOK_MS) })
    .then(
      (found) => found.text,
      () => undefined,
    );
  if (text !== undefined) cli.out(text);
  return 0;
};
