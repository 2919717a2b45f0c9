/**
 * node scripts/complete-lockfile.mjs [package-lock.json]
 *
 * npm leaves a platform's optional package out of the lockfile when the registry in use does not carry it, and `npm ci`
 * then refuses the lockfile wherever that platform's npm expects it. This adds the missing entries; run it after
 * every `npm install`. They carry no integrity hash, since nobody here has seen the package.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const OPERATING_SYSTEMS = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
];
const PROCESSORS = ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64'];

/** What a package such as @swc/core-linux-arm64-gnu runs on, read from its name. */
function platformOf(name) {
  const words = name.split(/[/-]/).map((word) => (word === 'windows' ? 'win32' : word));
  const os = OPERATING_SYSTEMS.filter((word) => words.includes(word));
  const cpu = PROCESSORS.filter((word) => words.includes(word));
  const libc = words.some((word) => word.startsWith('musl'))
    ? 'musl'
    : words.some((word) => word.startsWith('gnu')) && 'glibc';
  return {
    ...(cpu.length > 0 && { cpu }),
    ...(os.length > 0 && { os }),
    ...(os.includes('linux') && libc && { libc: [libc] }),
  };
}

/** Optional dependencies that no entry of the lockfile answers. */
function missingEntries(packages) {
  return Object.entries(packages).flatMap(([path, parent]) =>
    Object.entries(parent.optionalDependencies ?? {})
      .filter(([name]) => !packages[`node_modules/${name}`] && !packages[`${path}/node_modules/${name}`])
      .map(([name, range]) => {
        const version = range.replace(/^npm:.*@/, '').replace(/^[\^~]/, '');
        return [
          `node_modules/${name}`,
          { version, optional: true, ...(parent.dev && { dev: true }), ...platformOf(name) },
        ];
      }),
  );
}

const file = process.argv[2] ?? 'package-lock.json';
const lock = JSON.parse(readFileSync(file, 'utf8'));
const added = missingEntries(lock.packages);
const entries = Object.entries({ ...lock.packages, ...Object.fromEntries(added) });
lock.packages = Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added.length} entries added to ${file}`);
