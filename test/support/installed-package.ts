import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { disposableFolder } from './temporary-folder.ts';

const ROOT = join(import.meta.dirname, '../..');

export interface InstalledPackage extends Disposable {
  /** `node_modules/reef`, as npm unpacks it. */
  dir: string;
  /** What `node_modules/.bin/reef` leads to. */
  reef: string;
}

/** The package as a user has it: packed by npm, and unpacked among its dependencies, without those of development. */
export function installPackage(): InstalledPackage {
  const folder = disposableFolder();
  const root = folder.path;
  const dir = join(root, 'node_modules', 'reef');
  mkdirSync(dir, { recursive: true });
  execFileSync('npm', ['pack', '--pack-destination', root], { cwd: ROOT, stdio: 'pipe' });
  const { name, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  execFileSync('tar', ['-xzf', join(root, `${name}-${version}.tgz`), '-C', dir, '--strip-components=1']);
  for (const path of dependencies()) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    copy(join(ROOT, path), join(root, path));
  }
  return {
    dir,
    reef: join(dir, 'bin/reef.cjs'),
    [Symbol.dispose]: folder[Symbol.dispose],
  };
}

/** Not a symbolic link: a sandbox shows what lies in the package, not what it leads to. Hard ones are as quick, on one disk. */
function copy(from: string, to: string): void {
  const { status } = spawnSync('cp', ['-al', from, to], { stdio: 'ignore' });
  if (status !== 0) cpSync(from, to, { recursive: true, verbatimSymlinks: true });
}

/** Where npm puts what is no development dependency. */
function dependencies(): string[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: true; devOptional?: true; optional?: true }>;
  };
  return Object.entries(packages).flatMap(([path, { dev, devOptional, optional }]) =>
    /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && !dev && !devOptional && !optional ? [path] : [],
  );
}
