import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { engineFile, grammarFile } from './grammars.ts';
import { largestFunction } from './wasm-code.ts';

const SCRIPT = Array.from({ length: 400 }, (_, at) => `if [ "$a" = ${at} ]; then echo "\${b[${at}]}"; fi\n`).join('');
const CODE = Array.from({ length: 400 }, (_, at) => `func a${at}(b int) int {\n\tc := b * ${at}\n\treturn c\n}\n`).join(
  '',
);

/** The sizes of the functions each compiler was given, in ascending order, while a text was parsed often. */
function compiled(language: string, text: string): Record<'Liftoff' | 'TurboFan', number[]> {
  const program = `
    const { Engine } = await import(${JSON.stringify(new URL('./engine.ts', import.meta.url).href)});
    const engine = await Engine.start();
    const loaded = engine.load('${language}');
    for (let times = 0; times < 20; times++) engine.parse(${JSON.stringify(text)}, loaded, () => false)?.delete();
  `;
  // Each function is compiled well at the moment it has run often enough, not some time later.
  const flags = ['--trace-wasm-compilation-times', '--wasm-sync-tier-up'];
  const printed = execFileSync(process.execPath, [...flags, '--input-type=module', '-e', program], {
    encoding: 'utf8',
  });
  const sizes = (compiler: string) => {
    const lines = printed.split('\n').filter((line) => line.includes(`using ${compiler}`));
    return lines.map((line) => Number(/bodysize (\d+)/.exec(line)?.[1])).sort((a, b) => a - b);
  };
  return { Liftoff: sizes('Liftoff'), TurboFan: sizes('TurboFan') };
}

verifies('C-043', 'C-078').test(
  'tree-sitter and grammars of small functions are compiled well where they run often, a large lexer never',
  () => {
    const sizeOf = (file: string) => largestFunction(readFileSync(file));
    const sizes = { engine: sizeOf(engineFile()), go: sizeOf(grammarFile('go')), bash: sizeOf(grammarFile('bash')) };
    const [go, bash] = [compiled('go', CODE), compiled('bash', SCRIPT)];
    expect(go.TurboFan).toContain(sizes.engine);
    expect(go.TurboFan).toContain(sizes.go);
    expect(bash.Liftoff).toContain(sizes.bash);
    expect(bash.TurboFan).toContain(sizes.engine);
    expect(bash.TurboFan.at(-1)).toBe(sizes.engine);
  },
);
