import { onTestFinished } from 'vitest';
import type { Json, Scripts, Turn } from './script.ts';
import { type ModelServer, startModelServer } from './server.ts';

/** A server for one test, closed with it. */
export async function serve(scripts: Scripts): Promise<ModelServer> {
  const server = await startModelServer({ scripts });
  onTestFinished(() => server.close());
  return server;
}

/** The base address of a run that has these turns before it. */
export async function serveTurns(...turns: Turn[]): Promise<string> {
  return (await serve({ main: turns })).runUrl('main');
}

export function post(url: string, body: Json): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
}

export async function postJson(url: string, body: Json): Promise<Json> {
  return (await (await post(url, body)).json()) as Json;
}

/** The data of each event of a stream; `[DONE]` as it is. */
export async function postStream(url: string, body: Json): Promise<unknown[]> {
  const text = await (await post(url, body)).text();
  const events = text.split('\n\n').filter((event) => event !== '');
  return events.map((event) => {
    const data = /^data: (.*)$/m.exec(event)?.[1] ?? '';
    return data === '[DONE]' ? data : JSON.parse(data);
  });
}
