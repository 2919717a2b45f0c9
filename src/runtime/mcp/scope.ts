import type { Lease } from '../../base/lease.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { AcquireOptions, McpFactory, McpHandle, McpRuntime, McpServerSpec } from './factory.ts';

export interface ScopeOptions extends Omit<AcquireOptions, 'logPath'> {
  logPathOf?(name: string): string;
  /** Once per server that could not be had. */
  warn?(error: ReefError): void;
}

/**
 * All servers of a scope, started side by side. One that fails is noted and the rest works; one that is `required`, or an
 * abort, undoes it all.
 */
export async function acquireRuntime(
  factory: Pick<McpFactory, 'acquire'>,
  specs: Iterable<McpServerSpec>,
  { logPathOf, warn, signal, timeoutMs }: ScopeOptions = {},
): Promise<McpRuntime> {
  const undo = new AbortController();
  const both = signal ? AbortSignal.any([signal, undo.signal]) : undo.signal;
  const servers = new Map<string, Lease<McpHandle>>();
  const unavailable = new Map<string, ReefError>();
  const one = async (spec: McpServerSpec) => {
    try {
      servers.set(spec.name, await factory.acquire(spec, { signal: both, timeoutMs, logPath: logPathOf?.(spec.name) }));
    } catch (error) {
      if (both.aborted) return;
      unavailable.set(spec.name, toReefError(error));
      if (spec.required) undo.abort(error);
      else warn?.(toReefError(error));
    }
  };
  const wanted = [...specs];
  await Promise.all(wanted.map(one));
  if (both.aborted) {
    await releaseRuntime({ servers, unavailable });
    throw signal?.aborted
      ? new ReefError('cancelled', 'The transition was cancelled', { cause: signal.reason })
      : both.reason;
  }
  return { servers: inOrder(wanted, servers), unavailable };
}

export async function releaseRuntime(runtime: McpRuntime): Promise<void> {
  await Promise.all([...runtime.servers.values()].map((lease) => lease.release()));
}

/** In the order of the request, not in that in which they started. */
function inOrder<T>(specs: readonly McpServerSpec[], found: ReadonlyMap<string, T>): Map<string, T> {
  return new Map(
    specs.flatMap(({ name }) => {
      const value = found.get(name);
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}
