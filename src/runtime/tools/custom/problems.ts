import { existsSync, readFileSync } from 'node:fs';
import { findOnPath } from '../../../base/programs.ts';
import type { CustomTool, CustomToolDeps } from './custom-tool.ts';

const TIMEOUT_MS = 15_000;
/** Names each script with a mistake, and the mistake. */
const SYNTAX = 'for file; do said=$(bash -n "$file" 2>&1) || printf "%s\\0%s\\0" "$file" "$said"; done';

/** Why tools cannot work on this machine, by their files. It runs none of them. */
export async function problemsOf(
  tools: readonly CustomTool[],
  { run, functionsDir, utilsFile, variables }: CustomToolDeps,
): Promise<ReadonlyMap<string, string>> {
  const problems = new Map<string, string>();
  const scripts: string[] = [];
  for (const { file, programs } of tools) {
    const missing = programs.filter((name) => findOnPath(name, variables.PATH ?? '') === undefined);
    if (missing.length > 0) problems.set(file, `it needs ${missing.join(' and ')}, which is not installed`);
    else if (file.endsWith('.sh') && lacksUtils(file, utilsFile))
      problems.set(file, `it reads ${utilsFile}, which is missing`);
    else if (file.endsWith('.sh')) scripts.push(file);
  }
  if (scripts.length === 0) return problems;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const spec = { file: 'bash', args: ['-c', SYNTAX, 'bash', ...scripts], cwd: functionsDir, signal };
  const said = (await run(spec)).stdout.split('\0');
  for (let at = 0; at + 1 < said.length; at += 2) {
    const [file = '', words = ''] = said.slice(at);
    problems.set(file, `bash cannot read it: ${words.split('\n')[0]?.replace(`${file}: `, '')}`);
  }
  return problems;
}

function lacksUtils(file: string, utilsFile: string): boolean {
  return !existsSync(utilsFile) && readFileSync(file, 'utf8').includes('LLM_PROMPT_UTILS_FILE');
}
