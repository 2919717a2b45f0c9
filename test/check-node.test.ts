import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { ROOT } from './support/source-files.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const SCRIPT = join(ROOT, 'scripts/check-node.cjs');

function refusal(version: string): string {
  return `reef needs Node 22.18 or newer, this is ${version}.
  in this repository    npm rebuild node          fetches the pinned Node 24 (its install script must be allowed)
  without scripts       npm i --no-save node-linux-${process.arch}@${packageJson.devDependencies.node}
  elsewhere             install Node 22.18 or newer and repeat the command
`;
}

function run(file: string, args: string[]) {
  const { status, stdout, stderr } = spawnSync(file, args, { encoding: 'utf8' });
  return { status, stdout, stderr };
}

/** A Node on this machine that is too old, other than the one running. */
function oldNode(): { file: string; version: string } | undefined {
  for (const file of ['/usr/bin/node', '/usr/local/bin/node'].filter((candidate) => existsSync(candidate))) {
    const version = run(file, ['--version']).stdout.trim();
    const [major = 0, minor = 0] = version.slice(1).split('.').map(Number);
    if (major > 0 && (major < 22 || (major === 22 && minor < 18))) return { file, version };
  }
  return undefined;
}

describe('check-node', () => {
  const folder = temporaryFolder();

  function asVersion(version: string): string[] {
    const shim = join(folder, `${version}.cjs`);
    writeFileSync(shim, `Object.defineProperty(process, 'version', { value: '${version}' });`);
    return ['--require', shim, SCRIPT];
  }

  test.each(['v20.20.2', 'v22.17.1', 'v6.17.1'])('Node %s is refused with exit 69 and what to do', (version) => {
    expect(run(process.execPath, asVersion(version))).toEqual({ status: 69, stdout: '', stderr: refusal(version) });
  });

  test.each(['v22.18.0', 'v24.21.0', 'v26.0.0'])('Node %s is accepted and named', (version) => {
    expect(run(process.execPath, asVersion(version))).toEqual({ status: 0, stdout: `node ${version}\n`, stderr: '' });
  });

  test('a required check is silent on a good Node', () => {
    const program = `require(${JSON.stringify(SCRIPT)})`;
    expect(run(process.execPath, ['-e', program])).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  const old = oldNode();
  if (old) {
    test(`the old Node of this machine is refused (${old.version})`, () => {
      expect(run(old.file, [SCRIPT])).toEqual({ status: 69, stdout: '', stderr: refusal(old.version) });
    });

    test(`a linked reef runs on the Node of its checkout where the machine's is too old (${old.version})`, () => {
      const reef = join(ROOT, 'bin/reef.cjs');
      expect(run(old.file, [reef, '--version'])).toEqual({
        status: 0,
        stdout: `${packageJson.version}\n`,
        stderr: '',
      });
      expect(run(old.file, [reef, 'no-such-command']).status).toBe(2);
    });
  }
});

test('every npm script that people call starts with the check', () => {
  // npm itself calls `dependencies` during `npm ci`, with whatever Node there is, and is all that `sbom` runs.
  const { dependencies: _, sbom: __, ...scripts } = packageJson.scripts;
  const without = Object.entries(scripts).filter(([, line]) => !/^node scripts\/check-node\.cjs && \S/.test(line));
  expect(without).toEqual([]);
});

test('the floor is one number: package.json says what the check refuses', () => {
  expect(packageJson.engines.node).toBe('>=22.18');
  expect(readFileSync(SCRIPT, 'utf8')).toContain('Node 22.18 or newer');
});
