import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Figures } from '../../../src/app/figures.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { ChangeSignal } from '../../../src/events/change-signal.ts';
import type { Core } from '../../../src/protocol/operations.ts';
import type { AuditEntry } from '../../../src/store/audit-table.ts';
import { Changes } from '../../../src/store/changes.ts';
import { keyFile } from '../../../src/surfaces/http/credential.ts';
import { type Door, type DoorOptions, openDoor } from '../../../src/surfaces/http/door/door.ts';
import { DoorTokens, type PageToken } from '../../../src/surfaces/http/door/door-tokens.ts';
import { mcpOverHttp, reefServers } from '../../../src/surfaces/mcp/over-http.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { smallCore } from './small-core.ts';

export interface TestDoor extends Door {
  tokens: DoorTokens;
  /** That of scripts. */
  token: string;
  audit: AuditEntry[];
  logged: unknown[];
  saved: (readonly PageToken[])[];
}

const FIGURES: Figures = {
  jobs: { running: 2, completed: 40 },
  runs: { waiting: 1, working: 2, asking: 3, over: 4 },
  events: 7,
  questions: { open: 0 },
  gates: [{ gate: 'unit "fast"\n', result: 'passed', count: 3 }],
  databaseBytes: 4_096,
  homeBytes: 8_192,
};

/** A real door over TCP before a small core, with a page of two files behind it. */
export async function openTestDoor(
  core: Core = smallCore().core,
  changes: Partial<DoorOptions> = {},
): Promise<TestDoor> {
  const dir = temporaryFolder();
  const pageFolder = join(dir, 'web');
  mkdirSync(join(pageFolder, 'assets'), { recursive: true });
  writeFileSync(join(pageFolder, 'index.html'), '<!doctype html><title>Reef</title>');
  writeFileSync(join(pageFolder, 'assets', 'main-1a2b.js'), 'export {};\n');
  const [audit, logged, saved]: [AuditEntry[], unknown[], (readonly PageToken[])[]] = [[], [], []];
  const file = join(dir, 'door.token');
  const tokens = new DoorTokens({ file, pages: [], clock: systemClock, save: async (pages) => void saved.push(pages) });
  const deps = { core, audit: (row: AuditEntry) => void audit.push(row) };
  const door = await openDoor({
    ...deps,
    host: '127.0.0.1',
    port: 0,
    tokens,
    by: 'uid:1000',
    completions: { ask: async function* () {} },
    figures: async () => FIGURES,
    mcp: async () => mcpOverHttp(reefServers(deps, dir)),
    news: { changes: new Changes(), signal: new ChangeSignal(), lastSeq: () => 7 },
    info: () => ({ repository: 'shop', folder: '/srv/shop', version: '0.1.0', lastSeq: 7 }),
    log: { error: (message, fields) => logged.push([message, fields]) },
    pageFolder,
    ...changes,
  });
  return { ...door, tokens, token: keyFile(file), audit, logged, saved };
}

export interface Knock {
  method?: string;
  path?: string;
  /** Sent as JSON, unless it is a text. */
  body?: unknown;
  /** Undefined takes one away that would be sent. */
  headers?: Record<string, string | undefined>;
  token?: string;
}

export interface Answer {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  text: string;
  json: unknown;
  /** Of a refusal. */
  code: string | undefined;
}

/** One request on a connection of its own, with exactly these headers. */
export async function knock(port: number, { method, path = '/', body, headers = {}, token }: Knock): Promise<Answer> {
  const json = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
  const all = {
    ...(json !== undefined && { 'content-type': 'application/json' }),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...headers,
  };
  const sent = request({
    host: '127.0.0.1',
    port,
    path,
    method: method ?? (json === undefined ? 'GET' : 'POST'),
    headers: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)),
    agent: false,
  });
  sent.end(json);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const body_ = await text(response);
  const value = parsed(body_);
  const { code } = (value as { error?: { code?: string } } | undefined)?.error ?? {};
  return { status: response.statusCode, headers: response.headers, text: body_, json: value, code };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
