import { readdirSync, readFileSync, truncateSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { newNonce, survivorsOf } from '../../../../test/support/programs.ts';
import { writeFiles } from '../../../../test/support/repository.ts';
import { ragWorld, runCommand } from '../../../../test/support/runtime/rag.ts';
import { zip } from '../../../../test/support/runtime/zip.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { until } from '../../../../test/support/wait.ts';
import { probeCapabilities } from '../../../process/capabilities.ts';
import type { CommandSpec } from '../../tools/command.ts';
import { runLoader } from './command-loader.ts';
import { docxToText } from './docx.ts';
import { linksOf } from './html.ts';
import { loadText } from './load-text.ts';
import { documentsOf } from './sources.ts';

const run = runCommand();
const capabilities = await probeCapabilities();
const said = (work: Promise<string>) => work.catch((error) => `${error.code}: ${error.message}`);
const TOO_LONG = 'loader_failed: The text is larger than 1 MiB';
const load = (command: string, content = 'x') =>
  said(loadText('/a.txt', Buffer.from(content), { cwd: '/', run, loaders: { txt: command } }));

verifies('X-68').test('a loader that writes too much, to its output or its file, gives nothing', async () => {
  const big = '/bin/sh -c \'head -c 2000000 /dev/zero | tr "\\0" a\'';
  const enough = await load(big, 'x'.repeat(30_000));
  expect([await load(big), await load(`${big.slice(0, -1)} > "$0"' $2`), enough.length]).toEqual([
    TOO_LONG,
    TOO_LONG,
    2_000_000,
  ]);
});

verifies('X-68').test('a loader has 60 seconds, and its whole tree ends with them or with the build', async () => {
  const nonce = newNonce();
  const given: (number | undefined)[] = [];
  const hurried = (spec: CommandSpec) => {
    given.push(spec.timeoutMs);
    return run({ ...spec, timeoutMs: 200 });
  };
  const command = `/bin/sh -c 'sleep 600.${nonce} & sleep 600.${nonce}'`;
  const late = await said(runLoader({ command, input: 'x', isOffline: true }, { cwd: '/', run: hurried }));
  const left = survivorsOf(nonce);
  const building = new AbortController();
  const place = { cwd: '/', run, signal: building.signal };
  const aborted = runLoader({ command, input: 'x', isOffline: true }, place).catch(({ code }) => code);
  await until('it runs', () => survivorsOf(nonce).length === 2);
  building.abort();
  expect({ late, given, left, aborted: await aborted, after: survivorsOf(nonce) }).toEqual({
    late: 'loader_failed: Loading took longer than 60 s',
    given: [60_000],
    left: [],
    aborted: 'cancelled',
    after: [],
  });
});

verifies('X-68')
  .needs(capabilities.isolatesNetwork, 'no network namespaces here')
  .test('a loader of files has no network; one that is called by its name has what its user wrote it for', async () => {
    const world = ragWorld();
    const server = createServer((_, response) => response.end('from the network'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const fetcher = `${process.execPath} -e 'fetch("${url}").then((r) => r.text()).then(console.log, () => console.log("no way"))'`;
    world.write('a.odd', 'x');
    const texts: string[] = [];
    const settings = { cwd: world.root, run, loaders: { odd: fetcher, web: fetcher }, fetch };
    for await (const document of documentsOf(['a.odd', 'web:anything'], settings)) texts.push(await document.text());
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect(texts).toEqual(['no way\n', 'from the network\n']);
  });

verifies('X-68').test('a loader that writes on and on is stopped before its file is larger than its room', async () => {
  const world = ragWorld();
  const seen = join(world.root, 'largest');
  const command = `/bin/sh -c 'head -c 50000000 /dev/zero > "$0"; wc -c < "$0" > ${seen}' $2`;
  expect([await load(command), Number(readFileSync(seen, 'utf8')) < 1_050_000]).toEqual([TOO_LONG, true]);
});

verifies('X-68').test('a loader that was to write a file and did not says so', async () => {
  expect(await load('/bin/sh -c true $2')).toBe('loader_failed: /bin/sh did not write the file $2');
});

verifies('X-68').test('a pipe, a device and a file that is too large are listed, and hold nothing up', async () => {
  const world = ragWorld();
  world.write('docs/a.md', 'A');
  world.write('docs/large.md', '');
  truncateSync(join(world.root, 'docs/large.md'), 2 ** 26 + 1);
  const made = await run({
    file: 'mkfifo',
    args: [join(world.root, 'docs/pipe.md')],
    cwd: '/',
    signal: new AbortController().signal,
  });
  const settings = { cwd: world.root, run, loaders: {}, fetch };
  const found: string[] = [];
  for await (const document of documentsOf(['docs/*.md', 'docs/pipe.md', '/dev/zero'], settings))
    found.push((await said(document.text())).replaceAll(`${world.root}/`, ''));
  expect([made.code, found]).toEqual([
    0,
    [
      'A',
      'loader_failed: docs/large.md is larger than 64 MiB',
      'loader_failed: It is neither a file nor a folder: docs/pipe.md',
      'loader_failed: It is neither a file nor a folder: docs/pipe.md',
      'loader_failed: It is neither a file nor a folder: /dev/zero',
    ],
  ]);
});

verifies('X-68').test('a document of nothing but beginnings is read in one pass', () => {
  // Searched to its end from each of them, a megabyte would take minutes.
  const texts = ['<w:t ', '<w:br '].map((tag) => docxToText(zip('word/document.xml', `${tag.repeat(170_000)}</w:p>`)));
  const links = linksOf(`${'<a '.repeat(300)}href${' '.repeat(12_000_000)}`, 'http://host/');
  expect([texts, links]).toEqual([['', ''], []]);
});

verifies('X-68').test('a Word document that unpacks to a hundred times its size is refused before it is', () => {
  const bomb = zip('word/document.xml', '<w:p><w:t>a</w:t></w:p>'.repeat(200_000));
  expect(bomb.length).toBeLessThan(20_000);
  expect(() => docxToText(bomb)).toThrow(expect.objectContaining({ code: 'loader_failed' }));
});

verifies('X-124', 'X-68').test(
  'a hostile archive writes nothing anywhere and is text or a refusal, never a crash',
  async () => {
    const names = [
      '../../evil',
      '/etc/evil',
      '..\\..\\evil',
      'word/../../evil',
      'C:\\evil',
      'word/document.xml/../../evil',
      '~/evil',
    ];
    const world = ragWorld();
    const settings = { cwd: world.root, run, loaders: {}, fetch };
    for (const [n, name] of names.entries())
      for (const end of ['docx', 'zip', 'jar', 'epub'])
        writeFiles(world.root, { [`docs/${n}.${end}`]: zip(name, 'evil') });
    const before = readdirSync(world.root, { recursive: true }).sort();
    const found: string[] = [];
    for await (const document of documentsOf(['docs/**'], settings)) found.push(await said(document.text()));
    expect(found.filter((text) => text.startsWith('loader_failed')).length).toBeGreaterThan(0);
    expect(readdirSync(world.root, { recursive: true }).sort()).toEqual(before);
    const whole = zip('word/document.xml', '<w:p><w:t>a</w:t></w:p>');
    const spoilt = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(spoilt, (changes) => {
        const bytes = Buffer.from(whole);
        for (const [at, value] of changes) bytes[at] = value;
        try {
          return typeof docxToText(bytes) === 'string';
        } catch (error) {
          return (error as { code?: string }).code === 'loader_failed';
        }
      }),
      { numRuns: 3_000 },
    );
  },
);
