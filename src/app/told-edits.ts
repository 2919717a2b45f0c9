import { realpathSync } from 'node:fs';
import { isAbsolute, relative, resolve } from 'node:path';
import { checkoutIn } from '../base/home.ts';
import type { R_Mcp_ServerManager } from '../context/manager/server-manager.ts';
import type { Store } from '../store/store.ts';

interface ToldEditsDeps {
  store: Store;
  servers: Pick<R_Mcp_ServerManager, 'running' | 'announce'>;
  /** The main checkout. */
  repository: string;
}

/** What agents say they wrote, in their events, is passed on to the analysis server of their checkout. */
export class ToldEdits {
  readonly #deps: ToldEditsDeps;
  #seq: number;

  constructor(deps: ToldEditsDeps) {
    this.#deps = deps;
    this.#seq = deps.store.events.lastSeq();
  }

  /** Passes on what was said since the last look. */
  look(): void {
    const { store, servers } = this.#deps;
    const after = this.#seq;
    this.#seq = store.events.lastSeq();
    if (this.#seq === after || servers.running().length === 0) return;
    const byJob = Map.groupBy(store.events.editsAfter(after), ({ jobId }) => jobId);
    for (const [jobId, edits] of byJob) {
      const { cwd } = store.jobs.get(jobId)?.job ?? {};
      const checkout = cwd && checkoutIn(this.#deps.repository, cwd);
      if (!checkout) continue;
      const folder = realpathSync(cwd);
      const files = edits.flatMap(({ path, from }) => [path, from ?? []].flat());
      const inside = files.map((file) => relative(checkout, resolve(folder, file))).filter(isInside);
      if (inside.length > 0) servers.announce(checkout, [...new Set(inside)]);
    }
  }
}

function isInside(path: string): boolean {
  return path !== '' && path !== '..' && !path.startsWith('../') && !isAbsolute(path);
}
