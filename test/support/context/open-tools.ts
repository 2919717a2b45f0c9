import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { CodeIndex } from '../../../src/context/code-index/code-index.ts';
import { ParserPool } from '../../../src/context/lang/parser-pool.ts';
import { ToolSet } from '../../../src/context/server/tools.ts';
import type { CodeToolArgs, CodeToolName, CodeToolResult } from '../../../src/protocol/code.ts';
import { makeRepository } from '../repository.ts';

/** The real tools on a real repository with the real parser, in this process. */
export function openTools(files: Record<string, string>) {
  const repository = makeRepository(files);
  const pool = new ParserPool({ workers: 1, parseMs: 60_000 });
  const { git, checkout: worktree } = repository;
  const settings = { git, worktree, storeFile: join(repository.root, 'code.db'), workers: 1, engine: 'test' };
  const open = () => new ToolSet({ open: () => CodeIndex.open({ ...settings, parser: async () => pool }), workers: 1 });
  let tools = open();
  onTestFinished(async () => {
    await tools.close();
    await pool.close();
  });
  const call = async (name: CodeToolName, args: object) => tools.call(name, args, new AbortController().signal);
  return {
    repository,
    call,
    /** A complete answer. */
    ask: async <N extends CodeToolName>(name: N, args: CodeToolArgs<N>) =>
      (await call(name, { ...args, require: 'complete' })).structuredContent as CodeToolResult<N>,
    /** As after a server's idle end: what it held in memory is gone. */
    restart: async () => {
      await tools.close();
      tools = open();
    },
  };
}
