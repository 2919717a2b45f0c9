import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { isTest, ROOT, sourceFiles } from '../../../test/support/source-files.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { type ErrorCode, errorRow } from '../../protocol/error-table.ts';

verifies('R-74').test('failures of the runtime have the status their kind demands', () => {
  const table: [number, ErrorCode[]][] = [
    [400, ['bad_request', 'config_invalid', 'script_invalid']],
    [401, ['unauthorized']],
    [404, ['not_found', 'model_unknown', 'tool_unknown']],
    [409, ['invalid_state', 'needs_human']],
    [499, ['cancelled']],
    [502, ['provider_auth', 'provider_rejected', 'provider_stream_broken', 'keys_exhausted', 'script_exhausted']],
    [500, ['internal', 'turn_step_limit', 'tool_loop']],
  ];
  const found = table.map(([, codes]) => [[...new Set(codes.map((code) => errorRow(code).status))], codes]);
  expect(found).toEqual(table.map(([status, codes]) => [[status], codes]));
});

verifies('R-09').test(
  'of the runtime only the MCP room imports sockets: models, tools and loaders are given a fetch',
  () => {
    const sockets = /from '(?:node:)?(?:net|tls|http|https|http2|dgram|dns|dns\/promises)'|\bglobalThis\.fetch\(/;
    const own = sourceFiles('src/runtime').filter((path) => !isTest(path) && !path.startsWith('src/runtime/mcp/'));
    const offenders = own.filter((path) => sockets.test(readFileSync(join(ROOT, path), 'utf8')));
    expect({ offenders, looked: own.length > 50 }).toEqual({ offenders: [], looked: true });
  },
);
