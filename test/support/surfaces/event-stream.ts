import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';

export interface Message {
  event?: string;
  id?: string;
  data?: string;
  comment?: string;
}

export interface Stream {
  status: number | undefined;
  /** Ends when the server ends it or the connection breaks. */
  messages: AsyncGenerator<Message, void>;
  /** The next that many, comments left out. */
  take(count: number): Promise<Message[]>;
  response: IncomingMessage;
  close(): void;
}

interface Asked {
  token: string;
  since?: string | number;
  lastEventId?: string;
  path?: string;
  /** Sent as JSON by POST. */
  body?: unknown;
}

/** Follows the event stream of a door as a program does. */
export async function openStream(port: number, { token, since, lastEventId, path, body }: Asked): Promise<Stream> {
  const sent = request({
    host: '127.0.0.1',
    port,
    path: path ?? `/v1/events${since === undefined ? '' : `?since=${since}`}`,
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      authorization: `Bearer ${token}`,
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
    agent: false,
  });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const messages = parse(response, sent);
  const take = async (count: number) => {
    const taken: Message[] = [];
    while (taken.length < count) {
      const { value, done } = await messages.next();
      if (done) throw new Error(`the stream ended after ${taken.length} of ${count} messages`);
      if (value?.comment === undefined) taken.push(value);
    }
    return taken;
  };
  return { status: response.statusCode, messages, take, response, close: () => sent.destroy() };
}

async function* parse(response: IncomingMessage, sent: ClientRequest): AsyncGenerator<Message, void> {
  sent.on('error', () => {});
  response.setEncoding('utf8');
  let rest = '';
  try {
    for await (const text of response) {
      const blocks = (rest + text).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) yield message(block);
    }
  } catch {
    // the connection broke: what came is what there is
  }
}

function message(block: string): Message {
  const fields = block.split('\n').map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon) || 'comment', line.slice(colon + 1).trimStart()];
  });
  return Object.fromEntries(fields);
}
