import { lazily } from '../../../base/lazily.ts';
import { type McpFactory, NO_STATS } from '../../../runtime/mcp/factory.ts';

/** The pool of servers, made with the first server: most requests use none and need not pay for its code. */
export function lazyMcpFactory(open: () => Promise<McpFactory>): McpFactory {
  let opened: McpFactory | undefined;
  const factory = lazily(async () => {
    opened = await open();
    return opened;
  });
  return {
    acquire: async (spec, options) => (await factory.get()).acquire(spec, options),
    stats: () => opened?.stats() ?? NO_STATS,
    reload: async (name) => (await factory.made())?.reload(name),
    close: async () => (await factory.made())?.close(),
  };
}
