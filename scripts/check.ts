/** npm run check: every gate but the tests, side by side, with one line each and the whole output of those that failed. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { sourceFiles } from '../test/support/source-files.ts';

interface Gate {
  name: string;
  command: [file: string, ...args: string[]];
  /** Reads the output of a gate that succeeded: what to show, or why it is no success after all. */
  judge?: (output: string) => { note: string; ok: boolean };
}

const FOLDERS = ['src', 'test', 'scripts', 'bench', 'bin', 'web'].filter((folder) => existsSync(folder));

/** A cruiser that cannot parse TypeScript finds nothing and says that nothing is wrong. */
function judgeCount(output: string): { note: string; ok: boolean } {
  const cruised = Number(/(\d+) modules/.exec(output)?.[1] ?? 0);
  const expected = sourceFiles('src').length;
  const ok = cruised > 0 && cruised >= expected;
  return { note: `cruised ${cruised} modules${ok ? '' : `, src alone has ${expected}`}`, ok };
}

const GATES: Gate[] = [
  { name: 'types', command: ['tsc', '-p', '.', '--noEmit'] },
  { name: 'types of page', command: ['tsc', '-p', 'web', '--noEmit'] },
  { name: 'lint, format', command: ['biome', 'ci', '.', '--error-on-warnings', '--colors=off'] },
  { name: 'layers', command: ['depcruise', ...FOLDERS, '--config', '.dependency-cruiser.cjs'], judge: judgeCount },
  { name: 'unused code', command: ['knip', '--no-progress', '--no-config-hints'] },
  {
    name: 'only tested',
    command: ['knip', '--production', '--config', 'knip.production.ts', '--no-progress', '--no-config-hints'],
  },
  { name: 'tree', command: ['node', 'scripts/figures.ts', '--check'] },
  {
    name: 'lockfile',
    command: ['node', 'scripts/complete-lockfile.mjs', '--check'],
    judge: (output) => ({ note: output.trim(), ok: true }),
  },
  { name: 'commits', command: ['node', 'scripts/check-commits.ts'] },
];

function run([file, ...args]: Gate['command']): Promise<{ output: string; ok: boolean }> {
  return new Promise((resolve) => {
    const child = spawn(`node_modules/.bin/${file}`, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.on('error', (error) => resolve({ output: `${error.message}\n`, ok: false }));
    child.on('close', (code) => resolve({ output: Buffer.concat(chunks).toString(), ok: code === 0 }));
  });
}

async function pass(gate: Gate): Promise<boolean> {
  const started = performance.now();
  const { output, ok: exited } = await run(gate.command);
  const { note, ok } = exited && gate.judge ? gate.judge(output) : { note: '', ok: exited };
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const line = `${ok ? 'ok  ' : 'FAIL'}  ${gate.name.padEnd(14)}${seconds.padStart(5)} s  ${note}`;
  process.stdout.write(`${line.trimEnd()}\n${ok ? '' : `${output.trimEnd()}\n`}`);
  return ok;
}

const passed = await Promise.all(GATES.map(pass));
process.exitCode = passed.every(Boolean) ? 0 : 1;
