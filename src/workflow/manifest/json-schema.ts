import { z } from 'zod';
import { manifestFileSchema } from '../../protocol/workflow.ts';

/** What a workflow file may hold, for editors and `reef workflow schema`. Written as the formatter would. */
export function workflowJsonSchema(): string {
  const schema = z.toJSONSchema(manifestFileSchema, { target: 'draft-2020-12', io: 'input' });
  const text = JSON.stringify(schema, null, 2);
  const flat = text.replace(/\[\n\s+([^[\]{}]+?)\n\s+\]/g, (_, items: string) => `[${items.split(/,\s+/).join(', ')}]`);
  return `${flat}\n`;
}
