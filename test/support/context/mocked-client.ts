import type { JsonRpcClient, RequestOptions } from '../../../src/context/client/stdio-client.ts';
import { ContextPartitionerService } from '../../../src/context/partitioner/context-partitioner.ts';
import type { Basis } from '../../../src/protocol/code.ts';

export const BASIS: Basis = {
  worktree: '/w',
  head: 'a'.repeat(40),
  stage: 2,
  complete: true,
  pending: 0,
  skipped: 0,
  dirtyFiles: 0,
  freshAsOf: '2026-01-01T00:00:00.000Z',
  watch: 'on',
  engine: 'reef',
};
export const at = (file: string, line: number) => ({
  file,
  start_line: line,
  start_column: 2,
  end_line: line,
  end_column: 9,
});
export const structured = (value: object) => ({ content: [{ type: 'text', text: '…' }], structuredContent: value });
export const asText = (text: string) => ({ content: [{ type: 'text', text }] });

type Sent = [method: string, params: unknown, options: RequestOptions | undefined];

/** The seed's mocks: a manager that notes who is asked for, a client that notes what is sent and gives the answers in order. */
export function mocked(...replies: unknown[]) {
  const asked: string[] = [];
  const sent: Sent[] = [];
  const client: JsonRpcClient = {
    async request<T>(method: string, params: unknown, options?: RequestOptions) {
      sent.push([method, params, options]);
      const reply = replies.shift();
      if (reply instanceof Error) throw reply;
      return reply as T;
    },
    notify: (method, params) => void sent.push([method, params, undefined]),
    close: async () => {},
  };
  const servers = {
    getClientFor(worktreePath: string) {
      asked.push(worktreePath);
      return worktreePath === '/none' ? undefined : client;
    },
  };
  return { service: new ContextPartitionerService({ servers }), asked, sent };
}
