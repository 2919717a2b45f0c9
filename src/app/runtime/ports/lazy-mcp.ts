import { lazily } from '../../../base/lazily.ts';
import type { McpFactory, McpStats } from '../../../runtime/mcp/factory.ts';

const NONE: McpStats = Object.freeze({
  spawned: 0,
  active_hit: 0,
  idle_hit: 0,
  miss: 0,
  idle_evicted: 0,
  lru_evicted: 0,
  health_ok: 0,
  health_failed: 0,
});

/** The pool of servers, made with the first server: most requests use none and need not pay for its code. */
export function lazyMcpFactory(open: () => Promise<McpFactory>): McpFactory {
  let opened: McpFactory | undefined;
  const factory = lazily(async () => {
    opened = await open();
    return opened;
  });
  return {
    acquire: async (spec, options) => (await factory.get()).acquire(spec, options),
    stats: () => opened?.stats() ?? NONE,
    reload: async (name) => (await factory.made())?.reload(name),
    close: async () => (await factory.made())?.close(),
  };
}
