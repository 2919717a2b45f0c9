import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { z } from 'zod';
import { ROOT } from '../../../test/support/source-files.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { SHIPPED, shippedWorkflow } from '../shipped/shipped.ts';
import { readSource } from './check-manifest.ts';
import { workflowJsonSchema } from './manifest-file.ts';

verifies('W-04').test('the published schema is current; else run node scripts/generate-workflow-schema.ts', () => {
  expect(readFileSync(join(ROOT, 'schemas/workflow.schema.json'), 'utf8')).toBe(workflowJsonSchema());
});

verifies('W-04').test('it is of 2020-12, takes the shipped files in both shapes, and refuses what is none', () => {
  const schema = JSON.parse(workflowJsonSchema());
  const file = z.fromJSONSchema(schema);
  const fits = (value: unknown) => file.safeParse(value).success;
  const shipped = SHIPPED.map((name) => {
    const { text, path } = shippedWorkflow(name);
    return readSource(text, path).value as { nodes: object };
  });
  expect([schema.$schema, ...shipped.map(fits), ...shipped.map(({ nodes }) => fits(nodes))]).toEqual([
    'https://json-schema.org/draft/2020-12/schema',
    true,
    true,
    true,
    true,
  ]);
  expect([fits([]), fits({ N: { entry_block: 'N__B' } }), fits({ nodes: { N: 3 } })]).toEqual([false, false, false]);
});
