import { writeFileSync } from 'node:fs';
import { workflowJsonSchema } from '../src/workflow/manifest/manifest-file.ts';

/** `node scripts/generate-workflow-schema.ts`: the JSON Schema that editors and `reef workflow schema` use (W-04). */
const path = new URL('../schemas/workflow.schema.json', import.meta.url);
writeFileSync(path, workflowJsonSchema());
