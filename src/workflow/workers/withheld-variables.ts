import type { RunResult } from '../../base/programs.ts';
import { createSafeDir } from '../../base/safe-dir.ts';
import type { RunGate } from './gates.ts';

const NAME = /\b[A-Z][A-Z0-9_]{2,}\b/g;
/** Where a project says which variables its package manager needs, even if the failure does not. */
const SPEAKING = '.npmrc';
const LARGEST = 64 * 1024;

/**
 * Names in what a failed program wrote the variables of the user's shell that it speaks of and did not get: a token for a
 * registry, say. Only the names: the values are secrets.
 */
export function namingWithheld(runGate: RunGate, shell: Readonly<NodeJS.ProcessEnv>): RunGate {
  return async (spec) => {
    const result = await runGate(spec);
    if (result.code === 0) return result;
    const file = await createSafeDir(spec.cwd)
      .read(SPEAKING, LARGEST)
      .catch(() => Buffer.of());
    const hint = hintFor(`${result.stdout}\n${result.stderr}\n${variablesIn(file.toString('utf8'))}`, shell, spec.env);
    return hint === undefined ? result : { ...result, ...withHint(result, hint, spec.output) };
  };
}

function hintFor(
  text: string,
  shell: Readonly<NodeJS.ProcessEnv>,
  given: Readonly<Record<string, string>>,
): string | undefined {
  const names = [...new Set(text.match(NAME) ?? [])].filter((name) => shell[name] && given[name] === undefined);
  if (names.length === 0) return undefined;
  const list = names.slice(0, 5).join(', ');
  return `Reef did not pass ${list} of your shell, which this speaks of. To pass it: pass_env: [${list}] below \`reef\` in ~/.config/reef/config.yaml\n`;
}

const variablesIn = (text: string) => (text.match(/\$\{\w+\}/g) ?? []).join(' ');

/** A report on stdout stays as it is. */
function withHint({ stdout, stderr }: RunResult, hint: string, output: 'together' | 'apart') {
  const line = Buffer.from(hint);
  return output === 'apart'
    ? { stderr: Buffer.concat([line, stderr]) }
    : { stdout: Buffer.concat([stdout, Buffer.from('\n'), line]) };
}
