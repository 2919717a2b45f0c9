import { ReefError } from '../../protocol/errors.ts';
import type { InputParts } from '../../runtime/engine/input.ts';
import type { RequestContext } from '../../runtime/state/request-context.ts';
import type { RunCommand } from '../../runtime/tools/command.ts';
import type { Runtime } from './open-runtime.ts';

interface InputHands {
  runtime: Runtime;
  home: string;
  signal: AbortSignal;
}

/** Endings our own loaders read where nothing is configured. */
const OURS = ['pdf', 'docx', 'html', 'htm'];

/** What `.file` and `-f` read with: the same loaders as a RAG has. */
export function inputParts(ctx: RequestContext, { runtime, home, signal }: InputHands): InputParts {
  const { config, cwd, environment } = ctx.app;
  return {
    cwd,
    home,
    shell: environment.REEF_SHELL ?? '/bin/sh',
    run: runtime.run,
    lastReply: ctx.lastMessage?.output === '' ? undefined : ctx.lastMessage?.output,
    loaders: [...new Set([...Object.keys(config.document_loaders), ...OURS])],
    signal,
    load: (source, aborted) => load(ctx, source, { run: runtime.run, signal: aborted }),
  };
}

async function load({ app }: RequestContext, source: string, hands: { run: RunCommand; signal: AbortSignal }) {
  const { documentsOf } = await import('../../runtime/rag/load/sources.ts');
  const settings = {
    cwd: app.cwd,
    loaders: app.config.document_loaders,
    fetch: globalThis.fetch,
    ...hands,
  };
  const pieces: { source: string; text: string }[] = [];
  for await (const document of documentsOf([source], settings)) {
    hands.signal.throwIfAborted();
    pieces.push({ source: document.source, text: await document.text() });
  }
  if (pieces.length === 0) throw new ReefError('bad_request', `There is nothing to read at ${source}`);
  return pieces;
}
