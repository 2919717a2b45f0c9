import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from './support/verifies.ts';

const ROOT = join(import.meta.dirname, '..');

verifies('X-71').test(
  'the list of what Reef is made of names each locked package with its version and its hash',
  () => {
    const said = execFileSync('npm', ['run', '--silent', 'sbom'], { cwd: ROOT, maxBuffer: 256 * 1024 * 1024 });
    const { bomFormat, components } = JSON.parse(said.toString());
    const listed = new Map<string, { hashes?: unknown[] }>(
      components.map((each: { name: string; version: string }) => [`${each.name}@${each.version}`, each]),
    );
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
    const locked = Object.entries<{ version: string; optional?: boolean; integrity?: string }>(packages)
      .filter(([path, { optional, integrity }]) => path !== '' && !optional && integrity !== undefined)
      .map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`);
    expect([bomFormat, locked.length > 50]).toEqual(['CycloneDX', true]);
    expect(locked.filter((name) => listed.get(name)?.hashes?.length !== 1)).toEqual([]);
  },
);
