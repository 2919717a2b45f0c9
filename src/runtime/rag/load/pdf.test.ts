import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect } from 'vitest';
import { makePdf } from '../../../../test/support/runtime/pdf.ts';
import { named, ragWorld, runCommand } from '../../../../test/support/runtime/rag.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { DEFAULT_LOADERS } from '../../config/app-config.ts';
import { loadText, pdfToText } from './load-text.ts';

const run = runCommand();
const KEYS = makePdf([['Signing keys', 'are rotated \\(on Mondays\\).'], ['Second page.']]);
const TEXT = 'Signing keys\nare rotated (on Mondays).\n\nSecond page.';

const read = (content: Uint8Array) =>
  pdfToText(content, { cwd: '/', run }).catch((error) => `${error.code}: ${error.message}`);

verifies('R-46').test('a PDF is read page by page where nothing else is installed for it', async () => {
  const load = (loaders: Readonly<Record<string, string>>) =>
    loadText('/a.pdf', KEYS, { cwd: '/', run: runCommand({ PATH: '/nowhere' }), loaders }).catch(({ code }) => code);
  expect([await load(DEFAULT_LOADERS), await load({}), await load({ pdf: 'another-reader $1' })]).toEqual([
    TEXT,
    TEXT,
    'loader_failed',
  ]);
});

verifies('R-46').test('a PDF whose table of objects is wrong is read all the same, and its loops end', async () => {
  const misled = Buffer.from(KEYS.toString('latin1').replace(/startxref\n\d+/, 'startxref\n7'), 'latin1');
  expect([await read(misled), await read(makePdf([['once']], { isCircular: true }))]).toEqual([TEXT, 'once']);
});

verifies('R-46', 'X-68').test('what cannot be read says why', async () => {
  const id = '<00112233445566778899aabbccddeeff>';
  const encrypt = `<< /Filter /Standard /V 1 /R 2 /P -44 /O <${'ab'.repeat(32)}> /U <${'cd'.repeat(32)}> >>`;
  const files = {
    cut: KEYS.subarray(0, 300),
    words: Buffer.from('no PDF at all'),
    zeros: Buffer.alloc(5000),
    locked: makePdf([['secret']], { trailer: `/ID [${id} ${id}] /Encrypt ${encrypt}` }),
    scanned: makePdf([[]]),
    // Some kilobytes that become more than a megabyte.
    bomb: makePdf([Array(20_000).fill('a'.repeat(70))], { leading: 0 }),
  };
  const said: Record<string, string> = {};
  for (const [name, content] of Object.entries(files)) said[name] = await read(content);
  const unreadable = (why: string) => `loader_failed: The PDF cannot be read: ${why}`;
  expect(said).toEqual({
    cut: unreadable('Invalid PDF structure.'),
    words: unreadable('Invalid PDF structure.'),
    zeros: unreadable('Invalid PDF structure.'),
    locked: unreadable('it is locked by a password'),
    scanned: unreadable('it has no text; its pages may be images'),
    bomb: unreadable('it holds more text than a document of its size can'),
  });
});

verifies('X-68').test('what a PDF wants done when it is opened is not done', async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const catalogue = `/OpenAction << /S /JavaScript /JS (fetch\\("${url}/script"\\)) >> /AcroForm << /XFA (${url}/form) >>
    /AA << /WC << /S /Launch /F (/bin/sh) >> /WS << /S /SubmitForm /F << /FS /URL /F (${url}/submit) >> >> >>`;
  const text = await read(makePdf([['harmless']], { catalogue }));
  await new Promise((resolve) => server.close(resolve));
  expect({ text, asked }).toEqual({ text: 'harmless', asked: [] });
});

verifies('R-46', 'R-45').test('a damaged PDF among good documents is listed, and costs none of them', async () => {
  const world = ragWorld();
  world.write('docs/keys.pdf', KEYS);
  world.write('docs/damaged.pdf', KEYS.subarray(0, 300));
  world.write('docs/notes.md', 'Pelicans fish.');
  const report = await world.library.rebuild(named('docs'), { documents: ['docs'] });
  const lease = await world.cache.load(named('docs'));
  const best = async (question: string) => (await lease?.value.search(question, { top_k: 1 }))?.[0]?.source;
  expect({ report, keys: await best('rotated'), notes: await best('pelicans') }).toEqual({
    report: {
      added: 2,
      unchanged: 0,
      removed: 0,
      failed: [{ source: join(world.root, 'docs/damaged.pdf'), reason: expect.stringContaining('Invalid PDF') }],
    },
    keys: join(world.root, 'docs/keys.pdf'),
    notes: join(world.root, 'docs/notes.md'),
  });
  await lease?.release();
});
