/**
 * node scripts/complete-lockfile.mjs [--check] [package-lock.json]
 *
 * npm leaves a platform's optional package out of the lockfile when the registry in use does not carry it, and `npm ci`
 * then refuses the lockfile wherever that platform's npm expects it. This adds the missing entries, with the hash of those that
 * the registry knows; run it after every `npm install`. `--check` refuses any other package without a hash.
 */
import { spawnSync } from 'node:child_process';
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

/** Anything without a hash may be exchanged on its way. Allowed is a tool of another platform, which no user of Reef installs. */
const isUnverified = ([path, entry]) => path !== '' && !entry.link && entry.integrity === undefined;
const isOfAnotherPlatform = ({ optional, dev, os, cpu }) =>
  optional === true && dev === true && (os ?? cpu) !== undefined;

function withHash([path, entry]) {
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const { stdout } = spawnSync('npm', ['view', `${name}@${entry.version}`, 'dist.integrity'], { encoding: 'utf8' });
  const integrity = /^sha512-\S+$/m.exec(stdout ?? '')?.[0];
  const { version, ...rest } = entry;
  return [path, integrity === undefined ? entry : { version, integrity, ...rest }];
}

const isCheck = process.argv.includes('--check');
const file = process.argv.slice(2).find((word) => word !== '--check') ?? 'package-lock.json';
const lock = JSON.parse(readFileSync(file, 'utf8'));
if (isCheck) {
  const unverified = Object.entries(lock.packages).filter(isUnverified);
  const bad = unverified.filter(([, entry]) => !isOfAnotherPlatform(entry));
  for (const [path] of bad) console.log(`${path} has no integrity: run node scripts/complete-lockfile.mjs`);
  console.log(`${unverified.length} packages of other platforms without a hash`);
  process.exitCode = bad.length > 0 ? 1 : 0;
} else {
  const added = missingEntries(lock.packages);
  const all = Object.entries({ ...lock.packages, ...Object.fromEntries(added) });
  const entries = all.map((entry) => (isUnverified(entry) ? withHash(entry) : entry));
  lock.packages = Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`${added.length} entries added to ${file}`);
}
