import { runBenches } from '../run-benches.ts';
import { benchMetaTools, benchPool, benchTransitions } from './mcp.ts';
import { benchIndex, benchQuality } from './rag.ts';

await runBenches({
  pool: benchPool,
  transitions: benchTransitions,
  'meta-tools': benchMetaTools,
  quality: benchQuality,
  index: benchIndex,
});
