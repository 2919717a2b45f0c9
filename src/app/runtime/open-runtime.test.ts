import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openDesk } from '../../../test/support/runtime/app.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { createContext } from '../../runtime/state/init.ts';

const FILES = {
  'functions/mcp.json': '{"mcpServers": {"a": {"command": "/no/such/program"}}}',
  'rags/docs.yaml': 'document_paths: [.]\n',
};

verifies('R-03').test('opening starts no server, reads no index and writes nothing', async () => {
  await using desk = await openDesk({ script: '[]', files: FILES });
  const { app } = desk.runtime;
  expect([
    app.mcpFactory.stats().spawned,
    existsSync(join(app.paths.ragsDir(), 'docs.sqlite')),
    readdirSync(desk.dir),
    app.config.document_loaders,
    app.config.user_agent,
  ]).toEqual([0, false, ['.config'], { pdf: 'pdftotext $1 -', docx: 'pandoc --to plain $1' }, null]);
});

verifies('R-04').test('each request has a context of its own over one state', async () => {
  await using desk = await openDesk({ script: '- { reply: { text: Yes. }, times: always }' });
  const other = createContext(desk.runtime.app, { workingMode: 'cmd', overrides: { dry_run: true } });
  await desk.type('.set temperature 0.7');
  await desk.type('.session');
  await desk.type('.role code a question');
  expect([
    desk.ctx.app.config.temperature,
    other.app.config.temperature,
    other.app === desk.runtime.app,
    other.session,
    desk.ctx.overrides,
  ]).toEqual([0.7, null, true, undefined, {}]);
  await other.close();
});

verifies('R-35').test('a server that cannot start leaves the rest of the scope at work', async () => {
  await using desk = await openDesk({ script: '- { reply: { text: Yes. } }', files: FILES });
  await desk.type('.set enabled_mcp_servers a');
  expect([[...desk.ctx.toolScope.mcpRuntime.unavailable.keys()], await desk.type('hi')]).toEqual([['a'], ['Yes.']]);
});
