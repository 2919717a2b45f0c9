import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { CodeIndex } from '../../../src/context/code-index/code-index.ts';
import type { CodeParser } from '../../../src/context/lang/contract.ts';
import { ParserPool } from '../../../src/context/lang/parser-pool.ts';
import { ToolSet } from '../../../src/context/server/tools.ts';
import type { Git } from '../../../src/git/git-command.ts';
import type { CodeToolArgs, CodeToolName, CodeToolResult } from '../../../src/protocol/code.ts';
import type { TestRepository } from '../repository.ts';

/** Real tools on a real repository, every git command and every parse of which is noted. */
export async function openNoted(repository: TestRepository, worktree = repository.checkout) {
  const commands: string[] = [];
  const parsed: string[] = [];
  const gates: (() => void)[] = [];
  let isHeld = false;
  const pool = new ParserPool({ workers: 1, parseMs: 60_000 });
  const parser: CodeParser = {
    prepare: () => {},
    async extract(source, language, signal) {
      parsed.push(/\/\/ (\S+)/.exec(Buffer.from(source).toString())?.[1] ?? '');
      if (isHeld) await new Promise<void>((resolve) => gates.push(resolve));
      return pool.extract(source, language, signal);
    },
    classify: (...args) => pool.classify(...args),
    close: () => pool.close(),
  };
  const git = noted(repository.git, commands);
  const storeFile = join(repository.root, 'code.db');
  const settings = { git, worktree, storeFile, workers: 1, engine: 'test' };
  const index = await CodeIndex.open({ ...settings, parser: async () => parser });
  const tools = new ToolSet({ open: async () => index, workers: 1 });
  const hold = (held: boolean) => {
    isHeld = held;
    if (!held) for (const pass of gates.splice(0)) pass();
  };
  const close = async () => {
    hold(false);
    await tools.close();
    await pool.close();
  };
  onTestFinished(close);
  const ask = async <N extends CodeToolName>(name: N, args: CodeToolArgs<N>) => {
    const { structuredContent } = await tools.call(name, args, new AbortController().signal);
    return structuredContent as CodeToolResult<N>;
  };
  return { commands, parsed, index, storeFile, ask, hold, close };
}

function noted(git: Git, commands: string[]): Git {
  return new Proxy(git, {
    get(target, key, receiver) {
      const value = Reflect.get(target, key, receiver);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        commands.push([String(key), ...args.flat().filter((each) => typeof each === 'string')].join(' '));
        return value.apply(target, args);
      };
    },
  });
}

export const sweepsIn = (commands: readonly string[]) => commands.filter((line) => /ls-files/.test(line)).length;
