import { GATES, type Gate } from '../../protocol/workflow.ts';
import { type FindToolchain, firstOf, suggest, type Toolchain } from './toolchain.ts';

/** Targets that judge as a gate does, best first. */
const TARGETS: Record<Gate, readonly string[]> = {
  lint: ['lint', 'check-style', 'vet'],
  build: ['build', 'compile', 'typecheck'],
  test: ['test', 'tests', 'check'],
};
const SETUP = ['setup', 'bootstrap', 'deps', 'install-deps'] as const;

/** Words before a colon that assigns nothing. */
const RULE = /^([A-Za-z0-9][^:=#\n]*):(?![=:])/gm;

export const findMake: FindToolchain = async ({ names, read }) => {
  const file = firstOf(names, 'GNUmakefile', 'makefile', 'Makefile');
  return file === undefined ? undefined : toolchain('make', file, wordsBefore((await read(file)) ?? '').flat());
};

export const findJust: FindToolchain = async ({ names, read }) => {
  const file = firstOf(names, 'justfile', 'Justfile', '.justfile');
  return file === undefined
    ? undefined
    : toolchain(
        'just',
        file,
        wordsBefore((await read(file)) ?? '').map(([name = '']) => name),
      );
};

/** In a Makefile each word is a target; in a justfile the first is, and the rest are its parameters. */
function wordsBefore(text: string): string[][] {
  return [...text.matchAll(RULE)].map(([, words = '']) => words.trim().split(/\s+/));
}

function toolchain(program: 'make' | 'just', file: string, names: readonly string[]): Toolchain {
  const targets = new Set(names);
  const gates = GATES.flatMap((gate) => {
    const target = TARGETS[gate].find((name) => targets.has(name));
    return target === undefined ? [] : [[gate, suggest(`target "${target}" of ${file}`, program, target)] as const];
  });
  const setup = SETUP.find((name) => targets.has(name));
  return {
    name: program === 'make' ? 'Make' : 'just',
    gates: Object.fromEntries(gates),
    leaves: [],
    ...(setup !== undefined && { setup: suggest(`target "${setup}" of ${file}`, program, setup) }),
  };
}
