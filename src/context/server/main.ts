import { enableCompileCache } from 'node:module';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

const EXIT_TO_RESTART = 75;

/** `main.ts --worktree DIR --store FILE`: answers questions about one worktree on its stdio. It ends with its input. */
const { values } = parseArgs({ options: { worktree: { type: 'string' }, store: { type: 'string' } } });
const { worktree, store } = values;
if (worktree === undefined || store === undefined) {
  process.stderr.write('usage: main.ts --worktree DIR --store FILE\n');
  process.exit(2);
}

// The folder of the store is the only place a server may write to. The cache must be on before the rest is loaded.
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
  // The parent process has closed its end or died.
  process.stdin.once('end', () => void end(0));
  process.stdin.once('error', () => void end(0));
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void end(0));
}
