import { randomUUID } from 'node:crypto';
import type { AppState } from '../../runtime/state/app-state.ts';
import { withTeam } from '../../runtime/team/create-team.ts';
import { EscalationDesk } from '../../runtime/team/escalation.ts';
import type { AskFn } from '../../runtime/tools/tool.ts';
import type { Client } from '../client/client.ts';
import { doorJobs } from './door-jobs.ts';

interface PersonParts {
  /** Of the daemon, which is started by the first child and by nothing before it. */
  client: Client;
  /** Whoever sits at the surface. */
  ask: AskFn;
  outputsDir: string;
}

/** The agent of a chat or of one question: it asks the person in front of it, and its children are jobs like any other. */
export function withPersonTeam(app: AppState, { client, ask, outputsDir }: PersonParts): AppState {
  const desk = new EscalationDesk();
  return withTeam(app, {
    ...{ jobId: randomUUID(), ancestors: [], desk, outputsDir },
    jobs: doorJobs({ client, clock: app.clock, desk }),
    channel: { open: (question, signal) => ({ id: randomUUID(), answer: ask(question, signal), withdraw: () => {} }) },
  });
}
