import { enableCompileCache } from 'node:module';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

const EXIT_TO_RESTART = 75;

/** `main.ts --worktree DIR --store FILE`: answers for one worktree over its stdio, and ends with its input. */
const { values } = parseArgs({ options: { worktree: { type: 'string' }, store: { type: 'string' } } });
const { worktree, store } = values;
if (worktree === undefined || store === undefined) {
  process.stderr.write('usage: main.ts --worktree DIR --store FILE\n');
  process.exit(2);
}

// In the store's folder, which is all a server may write; before the rest is loaded, or it is of no use.
enableCompileCache(join(dirname(store), 'compile-cache'));
const [{ RpcLines }, { createServer }] = await Promise.all([import('./rpc-lines.ts'), import('./server.ts')]);

await serve(worktree, store);

async function serve(root: string, storeFile: string): Promise<void> {
  const server = createServer({ worktree: root, storeFile }, () => void end(EXIT_TO_RESTART));
  let isEnding = false;
  const end = async (code: number) => {
    if (isEnding) return;
    isEnding = true;
    await server.close();
    process.exit(code);
  };
  new RpcLines(process.stdin, process.stdout, server);
  // Whoever started us has closed its end or died.
  process.stdin.once('end', () => void end(0));
  process.stdin.once('error', () => void end(0));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void end(0));
}
