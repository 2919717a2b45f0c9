import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { noCapabilities } from '../../test/support/no-capabilities.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { probeCapabilities } from './capabilities.ts';

function makeTool(folder: string, name: string, script: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, name), 0o755);
}

test('a machine with none of the tools can do nothing', async () => {
  const folder = temporaryFolder();
  expect(await probeCapabilities(folder)).toEqual(noCapabilities);
});

test('a tool that is there and does not work counts as missing', async () => {
  const folder = temporaryFolder();
  for (const name of ['unshare', 'bwrap', 'setpriv', 'perl']) makeTool(folder, name, 'exit 1');
  makeTool(folder, 'timeout', 'shift 3; exec "$@"'); // as one that opens no group
  expect(await probeCapabilities(folder)).toEqual(noCapabilities);
});

test('where only root may make namespaces the user namespace is left out', async () => {
  const folder = temporaryFolder();
  makeTool(folder, 'unshare', 'case "$*" in *--user*) exit 1 ;; esac');
  const { namespaces, unshare } = await probeCapabilities(folder);
  expect({ namespaces, unshare }).toEqual({ namespaces: 'pid', unshare: join(folder, 'unshare') });
});

test('tools are absolute paths', async () => {
  const { namespaces: _, isolatesNetwork: __, sandboxesNetwork: ___, ...tools } = await probeCapabilities();
  const found = Object.values(tools).filter((path) => path !== undefined);
  expect(found.filter((path) => !path.startsWith('/'))).toEqual([]);
});
