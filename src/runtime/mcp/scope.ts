import { ReefError, toReefError } from '../../protocol/errors.ts';
import type { AcquireOptions, McpFactory, McpRuntime, McpServerSpec } from './factory.ts';

export interface ScopeOptions extends AcquireOptions {
  /** Called once for every server that could not be started. */
  warn?(error: ReefError): void;
}

/** Starts all servers of a scope at once. One that fails is noted; a `required` one that fails, or an abort, undoes it all. */
export async function acquireRuntime(
  factory: Pick<McpFactory, 'acquire'>,
  specs: Iterable<McpServerSpec>,
  { warn, signal, timeoutMs }: ScopeOptions = {},
): Promise<McpRuntime> {
  const undo = new AbortController();
  const both = signal ? AbortSignal.any([signal, undo.signal]) : undo.signal;
  const unavailable = new Map<string, ReefError>();
  const acquire = async (spec: McpServerSpec) => {
    try {
      return [[spec.name, await factory.acquire(spec, { signal: both, timeoutMs })] as const];
    } catch (error) {
      if (both.aborted) return [];
      unavailable.set(spec.name, toReefError(error));
      if (spec.required) undo.abort(error);
      else warn?.(toReefError(error));
      return [];
    }
  };
  const runtime = { servers: new Map((await Promise.all([...specs].map(acquire))).flat()), unavailable };
  if (!both.aborted) return runtime;
  await releaseRuntime(runtime);
  if (!signal?.aborted) throw both.reason;
  throw new ReefError('cancelled', 'The transition was cancelled', { cause: signal.reason });
}

export async function releaseRuntime(runtime: McpRuntime): Promise<void> {
  await Promise.all([...runtime.servers.values()].map((lease) => lease.release()));
}
