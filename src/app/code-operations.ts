import { isAbsolute } from 'node:path';
import { checkoutIn } from '../base/home.ts';
import type { R_Mcp_ServerManager } from '../context/manager/server-manager.ts';
import type { ContextPartitionerService } from '../context/partitioner/context-partitioner.ts';
import type { RenderedContext } from '../context/slices/render-slices.ts';
import type { CodeToolArgs, CodeToolName, CodeToolResult } from '../protocol/code.ts';
import { type CodeQuery, codeQueries } from '../protocol/code-operations.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Caller, CodeCore, OperationRequest } from '../protocol/operations.ts';
import type { Store } from '../store/store.ts';
import type { GitWorktreeManager } from '../worktrees/manager.ts';
import type { TaskNames } from './task-names.ts';

/** A whole index may take minutes; other answers come sooner and say when they are incomplete. */
const ASK_MS = 600_000;

interface CodeOperationsDeps {
  store: Store;
  /** The main checkout. */
  repository: string;
  servers: R_Mcp_ServerManager;
  service: ContextPartitionerService;
  worktrees: GitWorktreeManager;
  names: Pick<TaskNames, 'part'>;
  slices(request: { slices: string[]; budget: number; worktreePath: string; task: string }): Promise<RenderedContext>;
}

/** Questions about code. Each goes to the analysis server of its worktree. */
export class CodeOperations {
  readonly #deps: CodeOperationsDeps;

  constructor(deps: CodeOperationsDeps) {
    this.#deps = deps;
  }

  core(): CodeCore {
    const queries = codeQueries.map((name) => [
      name,
      async ({ worktree, ...args }: { worktree?: string }, caller: Caller, signal: AbortSignal) =>
        this.#ask(name, await this.folderOf(worktree, caller), args as CodeToolArgs<CodeQuery>, signal),
    ]);
    return {
      ...(Object.fromEntries(queries) as Pick<CodeCore, CodeQuery>),
      code_index: async ({ worktree, wait }, caller, signal) => {
        const path = await this.folderOf(worktree, caller);
        return this.#ask('index_code', path, { path, wait }, signal);
      },
      code_slice: (input, caller) => this.#slice(input, caller),
    };
  }

  /** Starts the servers of all worktrees, for a question about overlaps. */
  async warm(): Promise<void> {
    const open = (await this.#deps.worktrees.list()).flatMap(({ path }) => path ?? []);
    await Promise.allSettled(open.map((path) => this.#deps.servers.ensureServer(path)));
  }

  async #slice({ worktree, slices, budget }: OperationRequest<'code_slice'>, caller: Caller) {
    const worktreePath = await this.folderOf(worktree, caller);
    const { text, complete, degraded } = await this.#deps.slices({ slices, budget, worktreePath, task: '' });
    const [first] = degraded;
    if (text === '' && first) throw new ReefError('bad_request', `${first.slice || 'slice'}: ${first.message}`);
    return { text, complete };
  }

  /** A server may end between two questions. A second try starts it again. */
  async #ask<N extends CodeToolName>(
    tool: N,
    path: string,
    args: CodeToolArgs<N>,
    signal: AbortSignal,
  ): Promise<CodeToolResult<N>> {
    const once = async () => {
      await this.#deps.servers.ensureServer(path);
      return this.#deps.service.callTool(tool, { worktreePath: path, args }, { signal, timeoutMs: ASK_MS });
    };
    return once().catch((error: unknown) => {
      const isGone = error instanceof ReefError && ['analysis_server_died', 'no_active_server'].includes(error.code);
      if (isGone && !signal.aborted) return once();
      throw error;
    });
  }

  /** An agent is answered about its own worktree, whatever it asks for. */
  async folderOf(wanted: string | undefined, { jobId }: Caller): Promise<string> {
    const { store, repository, worktrees, names } = this.#deps;
    if (jobId !== undefined) {
      const { job } = store.jobs.get(jobId) ?? {};
      if (wanted !== undefined && wanted !== job?.worktree)
        throw new ReefError('not_yours', 'You may ask about your own worktree only.');
      if (job?.worktree !== undefined) return worktrees.folder(job.worktree) ?? job.cwd;
      return job === undefined ? repository : (checkoutIn(repository, job.cwd) ?? job.cwd);
    }
    if (wanted === undefined) return repository;
    if (isAbsolute(wanted)) return this.#known(wanted);
    const { path, status } = worktrees.record(worktrees.idOf(names.part(wanted, 'worktree')));
    if (path === null) throw new ReefError('worktree_state', `The worktree ${wanted} is ${status}: it has no folder.`);
    return path;
  }

  #known(path: string): string {
    const found = checkoutIn(this.#deps.repository, path);
    if (found !== undefined) return found;
    throw new ReefError('not_a_worktree', `${path} is not in a checkout of this repository.`);
  }
}
