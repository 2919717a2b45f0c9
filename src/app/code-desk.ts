import { existsSync, realpathSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { R_Mcp_ServerManager } from '../context/manager/server-manager.ts';
import type { ContextPartitionerService } from '../context/partitioner/context-partitioner.ts';
import type { RenderedContext } from '../context/slices/render-slices.ts';
import type { Basis, CodeToolArgs, CodeToolName, CodeToolResult } from '../protocol/code.ts';
import { type CodeQuery, codeQueries } from '../protocol/code-operations.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Caller, CodeCore, OperationRequest } from '../protocol/operations.ts';
import type { Store } from '../store/store.ts';
import type { GitWorktreeManager } from '../worktrees/manager.ts';
import type { ReferenceSource } from '../worktrees/parts.ts';

/** A whole index may take minutes; anything else says sooner that it is incomplete. */
const ASK_MS = 600_000;
/** That one question of the radar may name. */
const MOST_FILES = 1_000;

interface CodeDeskParts {
  store: Store;
  /** The main checkout. */
  repository: string;
  servers: R_Mcp_ServerManager;
  service: ContextPartitionerService;
  worktrees: GitWorktreeManager;
  slices(request: { slices: string[]; budget: number; worktreePath: string; task: string }): Promise<RenderedContext>;
}

/** Every question about code goes to the server of the worktree it is about (unification 5 of the architecture). */
export class CodeDesk {
  readonly #parts: CodeDeskParts;

  constructor(parts: CodeDeskParts) {
    this.#parts = parts;
  }

  core(): CodeCore {
    const queries = codeQueries.map((name) => [
      name,
      (input: { worktree?: string }, caller: Caller, signal: AbortSignal) =>
        this.#query(name, input, { caller, signal }),
    ]);
    return {
      ...(Object.fromEntries(queries) as Pick<CodeCore, CodeQuery>),
      code_index: (input, caller, signal) => this.#index(input, { caller, signal }),
      code_slice: (input, caller) => this.#slice(input, caller),
    };
  }

  /** What the radar asks; it starts no server, and without one it does not know (T-14). */
  readonly references: ReferenceSource = {
    related: async (worktreeId, files, hops) => {
      const path = this.#parts.worktrees.folder(worktreeId);
      if (path === undefined || !this.#parts.servers.getClientFor(path)) return { complete: false, files: [] };
      // A plan may name files that are not there yet, and a diff files that are gone: nothing refers to those.
      const there = files.filter((file) => existsSync(join(path, file))).slice(0, MOST_FILES);
      if (there.length === 0) return { complete: true, files: [] };
      const found = await this.#parts.service.hops({ worktreePath: path, files: there, depth: Math.min(3, hops) });
      if (found.files === 'unknown') return { complete: false, files: [] };
      return {
        complete: true,
        files: found.files.map(({ filePath, distance }) => ({ path: filePath, hops: distance })),
      };
    },
  };

  /** A person asks about overlaps: then servers are worth starting. */
  async warm(): Promise<void> {
    const open = (await this.#parts.worktrees.list()).flatMap(({ path }) => path ?? []);
    await Promise.allSettled(open.map((path) => this.#parts.servers.ensureServer(path)));
  }

  async #query(
    name: CodeQuery,
    { worktree, ...args }: { worktree?: string },
    { caller, signal }: { caller: Caller; signal: AbortSignal },
  ) {
    const path = await this.placeOf(worktree, caller);
    return this.#ask(name, { path, args: args as CodeToolArgs<CodeQuery>, signal });
  }

  async #index(
    { worktree, wait }: OperationRequest<'code_index'>,
    { caller, signal }: { caller: Caller; signal: AbortSignal },
  ) {
    const path = await this.placeOf(worktree, caller);
    return this.#ask('index_code', { path, args: { path, wait }, signal });
  }

  async #slice({ worktree, slices, budget }: OperationRequest<'code_slice'>, caller: Caller) {
    const worktreePath = await this.placeOf(worktree, caller);
    const { text, complete, degraded } = await this.#parts.slices({ slices, budget, worktreePath, task: '' });
    const [first] = degraded;
    if (text === '' && first) throw new ReefError('bad_request', `${first.slice || 'slice'}: ${first.message}`);
    return { text, complete };
  }

  /** A server may end between two questions, for its size or for want of use: one more try starts it again (C-085). */
  async #ask<N extends CodeToolName>(
    tool: N,
    { path, args, signal }: { path: string; args: CodeToolArgs<N>; signal: AbortSignal },
  ): Promise<CodeToolResult<N>> {
    const once = async () => {
      await this.#parts.servers.ensureServer(path);
      return this.#parts.service.callTool(tool, { worktreePath: path, args }, { signal, timeoutMs: ASK_MS });
    };
    const result = await once().catch((error: unknown) => {
      const isGone = error instanceof ReefError && ['analysis_server_died', 'no_active_server'].includes(error.code);
      if (isGone && !signal.aborted) return once();
      throw error;
    });
    return { ...result, basis: result.basis ?? foreignBasis(path) } as CodeToolResult<N>;
  }

  /** An agent is answered about its own worktree, whatever it asks for (U-16). */
  async placeOf(wanted: string | undefined, { jobId }: Caller): Promise<string> {
    const { store, repository, worktrees } = this.#parts;
    if (jobId !== undefined) {
      const { job } = store.jobs.get(jobId) ?? {};
      if (wanted !== undefined && wanted !== job?.worktree)
        throw new ReefError('not_yours', 'You may ask about your own worktree only.');
      return job?.worktree === undefined ? (job?.cwd ?? repository) : (worktrees.folder(job.worktree) ?? job.cwd);
    }
    if (wanted === undefined) return repository;
    if (isAbsolute(wanted)) return this.#known(wanted);
    const { path, status } = await worktrees.view(wanted);
    if (path === null) throw new ReefError('worktree_state', `The worktree ${wanted} is ${status}: it has no folder.`);
    return path;
  }

  async #known(path: string): Promise<string> {
    const real = realpathSync(path);
    const ours = (await this.#parts.worktrees.list()).map((each) => each.path);
    if (real === realpathSync(this.#parts.repository) || ours.includes(real)) return real;
    throw new ReefError('not_a_worktree', `${path} is neither the main checkout nor a worktree of Reef.`);
  }
}

/** Another server says nothing of what its answer rests on, so it counts as incomplete (C-095). */
function foreignBasis(worktree: string): Basis {
  const unknown = { stage: 1 as const, complete: false, pending: 0, skipped: 0, dirtyFiles: 0, watch: 'off' as const };
  return { worktree, head: '', ...unknown, freshAsOf: new Date(0).toISOString(), engine: 'foreign' };
}
