import { LineSplitter } from '../../base/line-splitter.ts';
import { parseJson } from '../../base/safe-json.ts';
import { readingOperations } from '../../protocol/daemon.ts';
import type { OperationName } from '../../protocol/operations.ts';
import { type OperationDeps, operate } from '../http/operate.ts';
import type { LineOfClient } from '../http/server.ts';
import { isOperation } from '../parse-input.ts';
import { toolResult } from './tool-result.ts';

const LONGEST_LINE = 1_048_576;
/** Of answers that nobody reads. */
const MOST_UNREAD_BYTES = 8_388_608;

type ToolLine = OperationDeps & LineOfClient;

/**
 * The reading tools of one `reef mcp`, a line for a call: `{"n":1,"name":"status","args":{}}`, and for the answer: the number, a blank
 * and the result as its client will read it. A number without a result says that the call has to go the ordinary way, where an error
 * gets its words. `{"n":1}` gives a call up.
 */
export function serveToolLine(line: ToolLine): void {
  const { socket } = line;
  const open = new Map<number, AbortController>();
  const gone = () => {
    for (const call of open.values()) call.abort();
    socket.destroy();
  };
  for (const event of ['end', 'close']) socket.on(event, gone); // a connection of HTTP stays half open
  const lines = new LineSplitter({
    longest: LONGEST_LINE,
    onTooLong: gone,
    onLine: (text) => {
      const call = callOf(text);
      if (call === undefined || socket.writableLength > MOST_UNREAD_BYTES) gone();
      else if (call.name === undefined) open.get(call.n)?.abort();
      else void answer(call.n, call.name, call.args);
    },
  });
  const answer = async (n: number, name: OperationName, args: unknown) => {
    if (open.has(n) || !line.begin()) {
      socket.write(`${n}\n`);
      return;
    }
    const call = new AbortController();
    open.set(n, call);
    const result = await resultOf(line, { name, args, signal: call.signal }).catch(() => '');
    open.delete(n);
    line.end();
    if (!socket.destroyed) socket.write(result === '' ? `${n}\n` : `${n} ${result}\n`);
  };
  socket.on('data', (chunk: Buffer) => lines.push(chunk));
}

interface Reading {
  name: OperationName;
  args: unknown;
  signal: AbortSignal;
}

async function resultOf({ core, audit, caller }: ToolLine, { name, args, signal }: Reading): Promise<string> {
  const input = async () => args;
  const output = await operate({ core, audit }, { operation: name, user: 'client', caller, input, signal });
  return JSON.stringify(toolResult(name, output as never));
}

/** Undefined: not of our own program. Without a name it gives up the call of this number. */
function callOf(text: string): { n: number; name?: OperationName; args?: unknown } | undefined {
  const parsed = parseJson(text);
  if (!parsed.ok || parsed.dropped) return undefined;
  const { n, name, args } = (parsed.value ?? {}) as { n?: unknown; name?: unknown; args?: unknown };
  if (!Number.isSafeInteger(n)) return undefined;
  if (name === undefined) return { n: Number(n) };
  if (typeof name !== 'string' || !isOperation(name) || !readingOperations.has(name)) return undefined;
  return { n: Number(n), name, args };
}
