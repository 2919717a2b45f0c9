import type { openApp } from '../../app.ts';
import type { HomeSource } from '../../fleet/store/home-source.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { AuditEntry } from '../../store/audit-table.ts';
import { operate } from '../../surfaces/http/operate.ts';
import { isOperation } from '../../surfaces/parse-input.ts';

type App = Awaited<ReturnType<typeof openApp>>;

interface Deps {
  app: App;
  audit(entry: AuditEntry): void;
  /** Who the worker runs as. */
  by: string;
}

/** A home of this worker as the fleet sees it: what it ships, and what people have done in it from elsewhere. */
export function homeSourceOf(repository: string, { app, audit, by }: Deps): HomeSource {
  const caller = { by, surface: 'web' } as const;
  const { signal } = new AbortController();
  return {
    repository,
    events: app.shipped.events,
    runOf: app.shipped.runOf,
    signal: app.news.signal,
    async job(id) {
      try {
        return (await app.core.status({ id }, caller, signal)).jobs[0];
      } catch (error) {
        if (error instanceof ReefError && error.code === 'job_not_found') return undefined;
        throw error;
      }
    },
    questions: async () => (await app.core.inbox({}, caller, signal)).questions,
    async perform(operation, input, person) {
      if (!isOperation(operation)) throw new ReefError('not_found', `There is no operation ${operation}`);
      const call = { operation, user: 'person', caller: { by: person, surface: 'web' }, signal } as const;
      return operate({ core: app.core, audit }, { ...call, input: async () => input });
    },
  };
}
