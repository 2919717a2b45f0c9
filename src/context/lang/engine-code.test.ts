import { execFileSync } from 'node:child_process';
import { expect } from 'vitest';
import { verifies } from '../../../test/verifies.ts';

/** Larger than any function of tree-sitter itself, smaller than the lexer of the bash grammar. */
const LEXER_BYTES = 100_000;
const SCRIPT = Array.from({ length: 400 }, (_, at) => `if [ "$a" = ${at} ]; then echo "\${b[${at}]}"; fi\n`).join('');
const PROGRAM = `
  const { Engine } = await import(${JSON.stringify(new URL('./engine.ts', import.meta.url).href)});
  const engine = await Engine.start();
  const bash = await engine.load('bash');
  for (let times = 0; times < 20; times++) engine.parse(${JSON.stringify(SCRIPT)}, bash, () => false)?.delete();
`;

verifies('C-043', 'C-078').test(
  'tree-sitter is compiled well where it runs often, and the lexer of a grammar never',
  () => {
    // Each function is compiled well at the moment it has run often enough, not some time later.
    const flags = ['--trace-wasm-compilation-times', '--wasm-sync-tier-up'];
    const printed = execFileSync(process.execPath, [...flags, '--input-type=module', '-e', PROGRAM], {
      encoding: 'utf8',
    });
    const sizes = (compiler: string) => {
      const lines = printed.split('\n').filter((line) => line.includes(`using ${compiler}`));
      return lines.map((line) => Number(/bodysize (\d+)/.exec(line)?.[1])).sort((a, b) => a - b);
    };
    expect(sizes('Liftoff').at(-1)).toBeGreaterThan(LEXER_BYTES);
    expect(sizes('TurboFan').length).toBeGreaterThan(10);
    expect(sizes('TurboFan').at(-1)).toBeLessThan(LEXER_BYTES);
  },
);
