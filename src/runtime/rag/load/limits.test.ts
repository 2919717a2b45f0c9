import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { newNonce, survivorsOf, until } from '../../../../test/fixtures/programs/harness.ts';
import { verifies } from '../../../../test/verifies.ts';
import { probeCapabilities } from '../../../process/capabilities.ts';
import type { CommandSpec } from '../../tools/command.ts';
import { ragWorld, runCommand } from '../testing/harness.ts';
import { zip } from '../testing/zip.ts';
import { runLoader } from './command-loader.ts';
import { docxToText } from './docx.ts';
import { loadText } from './load-text.ts';
import { documentsOf } from './sources.ts';

const run = runCommand();
const capabilities = await probeCapabilities();
const said = (work: Promise<string>) => work.catch((error) => `${error.code}: ${error.message}`);
const load = (command: string, content = 'x') =>
  said(loadText('/a.txt', Buffer.from(content), { cwd: '/', run, loaders: { txt: command } }));

verifies('X-68').test('a loader that writes too much, to its output or its file, gives nothing', async () => {
  const big = '/bin/sh -c \'head -c 2000000 /dev/zero | tr "\\0" a\'';
  const more = 'loader_failed: It becomes more than 1 MiB of text';
  const enough = await load(big, 'x'.repeat(30_000));
  expect([await load(big), await load(`${big.slice(0, -1)} > "$0"' $2`), enough.length]).toEqual([
    more,
    more,
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
    late: 'loader_failed: Loading it took longer than 60 s',
    given: [60_000],
    left: [],
    aborted: 'cancelled',
    after: [],
  });
});

verifies('X-68')
  .needs(capabilities.isolatesNetwork, 'no network namespaces here')
  .test('a loader of files has no network; one that is called by its name has what its user wrote it for', async () => {
    using world = ragWorld();
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

verifies('X-68').test('a Word document that unpacks to a hundred times its size is refused before it is', () => {
  const bomb = zip('word/document.xml', '<w:p><w:t>a</w:t></w:p>'.repeat(200_000));
  expect(bomb.length).toBeLessThan(20_000);
  expect(() => docxToText(bomb)).toThrow(expect.objectContaining({ code: 'loader_failed' }));
});
