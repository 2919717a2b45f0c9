import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ReefError } from '../../../protocol/errors.ts';
import { ragInfo } from '../../../runtime/state/info.ts';
import { aRag, type CommandDeps, type DotCommand, noAgent } from './command.ts';
import { editorOf } from './general.ts';

/** The name of a RAG that is not kept. */
const UNNAMED = 'temp';

export const ragCommands: readonly DotCommand[] = [
  { name: '.rag', usage: '[NAME]', does: 'Answer from documents', needs: [noAgent], run: enterRag },
  { name: '.edit rag-docs', does: "Edit the list of the RAG's documents", needs: [noAgent, aRag], run: editDocuments },
  {
    name: '.rebuild rag',
    does: "Read the RAG's documents again",
    needs: [aRag],
    async run({ ctx, io, say }) {
      await ctx.rebuildRag({ signal: io.signal });
      say(builtWords(ctx));
    },
  },
  { name: '.sources rag', does: 'Show the sources of the last answer', needs: [aRag], run: showSources },
  { name: '.info rag', does: 'Show the RAG', needs: [aRag], run: ({ ctx, say }) => say(ragInfo(ctx).trimEnd()) },
  { name: '.exit rag', does: 'Leave the RAG', needs: [noAgent, aRag], run: ({ ctx, io }) => ctx.exitRag(io.signal) },
];

async function enterRag({ ctx, io, say }: CommandDeps, args: string): Promise<void> {
  const name = args === '' ? UNNAMED : args;
  const isKnown = existsSync(ctx.app.paths.ragFile(name));
  if (!isKnown || name === UNNAMED) {
    const documents = await askDocuments(ctx, name);
    await ctx.app.rebuildRag({ kind: 'named', name }, { documents, signal: io.signal });
  }
  await ctx.useRag(name, io.signal);
  if (!isKnown) say(builtWords(ctx));
}

async function askDocuments({ ui }: CommandDeps['ctx'], name: string): Promise<string[]> {
  const typed = (await ui?.input('Documents (paths, folders, globs, addresses): ')) ?? '';
  const documents = typed.split(/\s+/).filter((each) => each !== '');
  if (documents.length === 0) throw new ReefError('rag_not_found', `there is no RAG ${name}`);
  return documents;
}

function builtWords(ctx: CommandDeps['ctx']): string {
  const info = (ctx.agentRuntime?.rag ?? ctx.rag)?.value.info();
  const failed = (info?.failed ?? []).map(({ source, reason }) => `\nleft out: ${source}: ${reason}`).join('');
  return `${info?.files ?? 0} files, ${info?.chunks ?? 0} chunks${failed}`;
}

async function editDocuments({ ctx, face, io, say }: CommandDeps): Promise<void> {
  const edit = editorOf(face);
  const before = ctx.rag?.value.info().documents ?? [];
  const folder = await mkdtemp(join(tmpdir(), 'reef-rag-'));
  const file = join(folder, 'documents.txt');
  try {
    await writeFile(file, `${before.join('\n')}\n`, { mode: 0o600 });
    await edit(file);
    const documents = (await readFile(file, 'utf8'))
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
    await ctx.rebuildRag({ documents, signal: io.signal });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  say(builtWords(ctx));
}

function showSources({ sources, say }: CommandDeps): void {
  const hits = sources();
  if (hits.length === 0) throw new ReefError('invalid_state', 'nothing was looked up yet: ask something first');
  say(hits.map(({ source, chunk, score }) => `${source}  chunk ${chunk}  ${score.toFixed(4)}`).join('\n'));
}
