import { randomUUID } from 'node:crypto';
import type { Ports } from '../../../runtime/state/app-state.ts';
import type { InboxMessage } from '../../../runtime/state/scope.ts';
import type { AskFn } from '../../../runtime/tools/tool.ts';

const ORDER: Record<InboxMessage['kind'], number> = { shutdown: 0, task_completed: 1, text: 2 };

/** An agent that works alone: it asks whoever sits at the surface and has no children. */
export function soloTeam(ask: AskFn): Required<Ports>['team'] {
  return async () => {
    let messages: InboxMessage[] = [];
    return {
      supervisor: { cancelAll: async () => {}, running: () => [] },
      inbox: {
        deliver: (message) => void messages.push(message),
        drain() {
          const taken = messages.toSorted((a, b) => ORDER[a.kind] - ORDER[b.kind]);
          messages = [];
          return taken;
        },
      },
      escalationQueue: { ask, open: () => [] },
      selfAgentId: randomUUID(),
      currentDepth: 0,
    };
  };
}
