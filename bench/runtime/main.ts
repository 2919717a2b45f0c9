import { runBenches } from '../run-benches.ts';
import { benchStart } from '../start.ts';
import { benchHeadings } from './headings.ts';
import { benchMetaTools, benchPool, benchTransitions } from './mcp.ts';
import { benchIndex, benchQuality } from './rag.ts';
import { benchTerminal } from './terminal.ts';

await runBenches({
  start: benchStart,
  pool: benchPool,
  transitions: benchTransitions,
  'meta-tools': benchMetaTools,
  quality: benchQuality,
  headings: benchHeadings,
  index: benchIndex,
  terminal: benchTerminal,
});
