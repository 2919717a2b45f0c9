import { printable } from '../../../base/printable.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { BuildReport } from '../../../runtime/rag/stored/build.ts';
import { interruptible } from '../../repl/interrupt.ts';
import { openPlace } from '../../repl/open.ts';
import { askNobody } from '../../repl/person.ts';
import { printList } from '../../repl/print-list.ts';
import type { Command } from '../cli.ts';

export const list: Command<object> = (cli) => printList(cli, 'rags');

/** A file that cannot be read is told, and the rest is searchable. */
export const build: Command<object> = (cli, [name = '', ...documents]) =>
  interruptible(async (signal) => {
    const { app } = await openPlace({ cli, ask: askNobody, isOneShot: true });
    const change = { ...(documents.length > 0 && { documents }), signal };
    const report = (await app.ports.rebuildRag({ kind: 'named', name }, change)) as BuildReport;
    cli.print(report, () => {
      const failed = report.failed.map(({ source, reason }) => `left out: ${source}: ${reason}`);
      const counts = `${report.added} new or changed, ${report.unchanged} unchanged, ${report.removed} removed`;
      return [counts, ...failed].map(printable).join('\n');
    });
    return 0;
  });

export const search: Command<object> = async (cli, [name = '', question = '']) => {
  const { app } = await openPlace({ cli, ask: askNobody, isOneShot: true });
  const rag = await app.ragCache.load({ kind: 'named', name });
  if (!rag) throw new ReefError('rag_not_found', `there is no RAG ${name}`);
  try {
    const { rag_top_k, rag_reranker_model } = app.config;
    const { settings } = rag.value;
    const hits = await rag.value.search(question, {
      top_k: settings.top_k ?? rag_top_k,
      reranker_model: settings.reranker_model ?? rag_reranker_model,
    });
    cli.print({ hits }, () =>
      hits.map((hit) => printable(`${hit.source}  chunk ${hit.chunk}  ${hit.score.toFixed(4)}`)).join('\n'),
    );
    return 0;
  } finally {
    await rag.release();
  }
};
