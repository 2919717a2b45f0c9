import { chmodSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PATH } from '../../../../test/support/programs.ts';
import { ragWorld, runCommand, type World } from '../../../../test/support/runtime/rag.ts';
import { zip } from '../../../../test/support/runtime/zip.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { DEFAULT_LOADERS } from '../../config/app-config.ts';
import { wordsOfCommand } from './command-loader.ts';
import { docxToText } from './docx.ts';
import { htmlToText, linksOf } from './html.ts';
import { documentsOf } from './sources.ts';

/** Name → text of all documents, or why there is none. */
async function texts(world: World, sources: string[], loaders: Record<string, string> = {}) {
  const found: Record<string, string> = {};
  for await (const document of documentsOf(sources, { cwd: world.root, run: runCommand({ PATH }), loaders, fetch })) {
    const name = document.source.replace(world.root, '').replace(/http:\/\/[^/]+/, 'host');
    found[name] = await document.text().catch((error) => error.code);
  }
  return found;
}

verifies('R-46').test('a source is a path, a folder, a glob or a named loader', async () => {
  const world = ragWorld();
  world.write('docs/a.md', 'A');
  world.write('docs/deep/b.ts', 'B');
  world.write('docs/.hidden/c.md', 'hidden');
  world.write('docs/node_modules/d.md', 'installed');
  world.write('data.csv', 'x');
  expect({
    path: await texts(world, ['data.csv']),
    folder: await texts(world, ['docs']),
    glob: await texts(world, ['docs/**/*.{ts,md}', '*.nothing']),
    loader: await texts(world, ['upper:docs/a.md'], { upper: '/bin/sh -c \'tr a-z A-Z <"$0"; echo from $0\' $1' }),
    missing: await texts(world, ['nowhere']),
  }).toEqual({
    path: { '/data.csv': 'x' },
    folder: { '/docs/a.md': 'A', '/docs/deep/b.ts': 'B' },
    glob: { '/docs/a.md': 'A', '/docs/deep/b.ts': 'B', '*.nothing': 'loader_failed' },
    loader: { 'upper:docs/a.md': 'A' + 'from docs/a.md\n' },
    missing: { '/nowhere': 'loader_failed' },
  });
});

verifies('R-161').test('a loader that prints a list of documents gives each of them', async () => {
  const world = ragWorld();
  const list = [
    { path: 'repo/a.md', contents: 'A' },
    { path: 'b.md', contents: 'B', other: 1 },
  ];
  world.write('list.json', JSON.stringify(list));
  world.write('words.json', '["no", "documents"]');
  const loaders = { git: '/bin/cat list.json', say: "/bin/echo '{{WORD}} $1", words: '/bin/cat words.json' };
  const settings = { cwd: world.root, run: runCommand(), fetch, loaders };
  const reveal = async (words: string[]) => words.map((word) => word.replace('{{WORD}}', 'open'));
  const found: Record<string, string> = {};
  for await (const document of documentsOf(['git:repo', 'say:x', 'words:y'], { ...settings, reveal })) {
    found[document.source] = await document.text();
  }
  expect(found).toEqual({
    'git:repo/a.md': 'A',
    'git:repo/b.md': 'B',
    'say:x': 'open x\n',
    'words:y': '["no", "documents"]',
  });
});

verifies('R-46').test('a configured command wins, its output may be a file, and it sees no shell', async () => {
  const world = ragWorld();
  world.write('a.pdf', 'content');
  world.write('b $(touch x).odt', 'odd');
  const loaders = { pdf: '/bin/echo loaded $1', odt: '/bin/cp $1 $2', md: '/bin/false', rtf: 'no-such-program $1' };
  world.write('c.md', 'text');
  world.write('d.rtf', 'text');
  expect(await texts(world, ['a.pdf', 'b $(touch x).odt', 'c.md', 'd.rtf'], loaders)).toEqual({
    '/a.pdf': `loaded ${world.root}/a.pdf\n`,
    '/b $(touch x).odt': 'odd',
    '/c.md': 'loader_failed',
    '/d.rtf': 'loader_failed',
  });
});

const WORD = zip(
  'word/document.xml',
  '<w:document><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Keys</w:t></w:r></w:p>' +
    '<w:p><w:r><w:t xml:space="preserve">a &lt;b&gt; </w:t><w:tab/><w:t>c</w:t></w:r></w:p></w:document>',
);

verifies('R-46').test(
  'a default command that is not installed gives way to our own loader, a configured one does not',
  async () => {
    const world = ragWorld();
    world.write('a.docx', WORD);
    const absent = { docx: 'pandoc-that-is-not-there $1' };
    const run = runCommand({ PATH: '/nowhere' });
    const load = async (loaders: Record<string, string>) => {
      for await (const document of documentsOf(['a.docx'], { cwd: world.root, run, loaders, fetch })) {
        return await document.text().catch((error) => error.code);
      }
    };
    expect([await load(DEFAULT_LOADERS), await load({}), await load(absent)]).toEqual([
      '# Keys\n\na <b> \tc',
      '# Keys\n\na <b> \tc',
      'loader_failed',
    ]);
  },
);

test('a folder that cannot be read and a link that leads nowhere fail alone', async () => {
  const world = ragWorld();
  world.write('docs/a.md', 'A');
  symlinkSync('/nowhere', join(world.root, 'docs/broken.md'));
  world.write('locked/secret/b.md', 'B');
  world.write('locked/open.md', 'C');
  chmodSync(join(world.root, 'locked/secret'), 0);
  const found = await texts(world, ['docs/*.md', 'locked']);
  chmodSync(join(world.root, 'locked/secret'), 0o700);
  const isRoot = process.getuid?.() === 0;
  expect(found).toEqual({
    '/docs/a.md': 'A',
    '/docs/broken.md': 'loader_failed',
    '/locked/open.md': 'C',
    ...(isRoot ? { '/locked/secret/b.md': 'B' } : { '/locked/secret': 'loader_failed' }),
  });
});

test('what is no Word document says so', () => {
  const broken = [Buffer.from('PK'), zip('other.xml', ''), WORD.subarray(0, 60)];
  const codes = broken.map((file) => {
    try {
      return docxToText(file);
    } catch (error) {
      return (error as { code: string }).code;
    }
  });
  expect(codes).toEqual(['loader_failed', 'loader_failed', 'loader_failed']);
});

test('a page is read as its text, with headings and lists', () => {
  const page =
    '<!doctype html><head><title>x</title></head><body><nav>menu</nav><h2>Keys &amp; <b>locks</b></h2>' +
    '<p>One\n two&nbsp;three &#x1F511;</p><ul><li>a<li>b</ul><script>alert("<p>")</script><!-- <p>no</p> --></body>';
  expect(htmlToText(page)).toBe('## Keys & locks\n\nOne two three 🔑\n\n- a\n- b');
});

test('links are absolute and leave out what is no page', () => {
  const html =
    '<a href="b.html#x">b</a><a class=y href=\'/c?d=1&amp;e=2\'>c</a><a href="mailto:a@b">m</a><a href="http://[">bad</a>';
  expect(linksOf(html, 'http://host/docs/a.html')).toEqual(['http://host/docs/b.html', 'http://host/c?d=1&e=2']);
});

test('a command is split as it is written', () => {
  expect(wordsOfCommand(`a 'b c' "d e"f g\\h`)).toEqual(['a', 'b c', 'd ef', 'g\\h']);
});

async function site(pages: Record<string, string>) {
  const server = createServer((request, response) => {
    const page = pages[request.url ?? ''];
    const type = request.url?.endsWith('.txt') ? 'text/plain' : 'text/html; charset=utf-8';
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': type }).end(page);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

verifies('R-46').test('a URL is one page, and url/** all pages below it, each once', async () => {
  const world = ragWorld();
  await using web = await site({
    '/docs': '<h1>Home</h1><a href="/docs/a">a</a><a href="/docs/b.txt#part">b</a><a href="/other">no</a>',
    '/docs/a': '<p>A</p><a href="/docs">up</a><a href="/docs/gone">gone</a>',
    '/docs/b.txt': 'plain <b>',
    '/other': 'elsewhere',
  });
  expect({
    one: await texts(world, [`${web.url}/docs/a`]),
    all: await texts(world, [`${web.url}/docs/**`]),
  }).toEqual({
    one: { 'host/docs/a': 'A\nupgone' },
    all: {
      'host/docs': '# Home\n\nabno',
      'host/docs/a': 'A\nupgone',
      'host/docs/b.txt': 'plain <b>',
      'host/docs/gone': 'loader_failed',
    },
  });
});
