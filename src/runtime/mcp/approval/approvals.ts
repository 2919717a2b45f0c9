import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../../base/clock.ts';
import { fingerprint } from '../../../base/fingerprint.ts';
import { onFirstUse } from '../../../base/lazily.ts';
import { Limiter } from '../../../base/serial.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { readBy, writeSettings } from '../../config/settings-file.ts';
import type { McpServerSpec, McpTool } from '../factory.ts';
import type { ServerStart } from '../server-start.ts';

const recordSchema = onFirstUse(() => {
  const names = z.array(z.string()).exactOptional();
  const start = z.strictObject({
    type: z.string(),
    command: z.string().exactOptional(),
    args: names,
    env: names,
    cwd: z.string().exactOptional(),
    url: z.string().exactOptional(),
    headers: names,
    folder: z.string().exactOptional(),
  });
  const tools = z.array(
    z.strictObject({
      name: z.string(),
      description: z.string(),
      inputSchema: z.record(z.string(), z.unknown()),
      hash: z.string(),
    }),
  );
  return z.strictObject({
    version: z.literal(1),
    server: z.string(),
    starts: z.array(
      z.strictObject({
        hash: z.string(),
        start,
        at: z.string(),
        /** As they were approved. Absent until the server has listed them once. */
        tools: tools.exactOptional(),
        /** What the server has said since of tools that are not approved like that. */
        suspended: tools,
      }),
    ),
  });
});
type ServerRecord = z.infer<ReturnType<typeof recordSchema>>;
type ApprovedStart = ServerRecord['starts'][number];

/** A person approves one way to start a server after the other; the oldest is forgotten. */
const MOST_STARTS = 50;

export interface ApprovalsDeps {
  /** A file for each server, in the user's own folder. */
  folder: string;
  clock: Clock;
  /** Tells the user, in one sentence. */
  tell(message: string): void;
}

/** What stands between a server and its use. */
export interface Review {
  server: string;
  state: 'new' | 'approved' | 'changed';
  start: ServerStart;
  /** How it was started when it was last approved; only if that has changed. */
  before?: ServerStart;
  /** How many of its tools are approved. */
  tools: number;
  suspended: { name: string; now: McpTool; before?: McpTool }[];
}

/**
 * What a person has approved of MCP servers: how each is started, and what it says of its tools. The first time a server of the
 * user's own mcp.json is used, it is approved as it is; from then on, whatever changed waits for a person.
 */
export class McpApprovals {
  readonly #deps: ApprovalsDeps;
  readonly #writes = new Limiter();

  constructor(deps: ApprovalsDeps) {
    this.#deps = deps;
  }

  /** Rejects with `mcp_server_changed` if the server was only ever approved in another form. Nothing is stored before it has started. */
  async admit({ name, start }: Pick<McpServerSpec, 'name' | 'start'>): Promise<ToolApprovals> {
    const hash = fingerprint(start);
    if (this.#read(name) && !this.#find(name, hash)) {
      throw new ReefError(
        'mcp_server_changed',
        `MCP server ${name} would be started in another way than you approved; to see and approve it: reef mcp approve ${name}`,
      );
    }
    return new ToolApprovals(name, {
      read: () => this.#find(name, hash) ?? this.#approved(start),
      save: (change) =>
        this.#change(name, ({ starts }) => {
          const known = starts.find((each) => each.hash === hash);
          if (known) Object.assign(known, change);
          else starts.push({ ...this.#approved(start), ...change });
        }),
      tell: this.#deps.tell,
    });
  }

  review(server: string, start: ServerStart): Review {
    const starts = this.#read(server)?.starts ?? [];
    const found = starts.find(({ hash }) => hash === fingerprint(start));
    const tools = found?.tools ?? [];
    const last = starts.at(-1)?.start;
    const suspended = (found?.suspended ?? []).map((now) => {
      const before = tools.find(({ name }) => name === now.name);
      return { name: now.name, now, ...(before && { before }) };
    });
    const common = { server, start, tools: tools.length, suspended };
    if (found) return { ...common, state: 'approved' };
    return { ...common, state: last ? 'changed' : 'new', ...(last && { before: last }) };
  }

  /** Approves exactly what the review shows. */
  approve({ server, start, suspended }: Review): Promise<void> {
    const now = suspended.map((each) => each.now);
    const isIn = (tools: readonly McpTool[]) => (each: McpTool) => tools.some(({ name }) => name === each.name);
    return this.#change(server, ({ starts }) => {
      const found = starts.find(({ hash }) => hash === fingerprint(start));
      if (!found) {
        starts.push(this.#approved(start));
        starts.splice(0, starts.length - MOST_STARTS);
        return;
      }
      found.tools = [...(found.tools ?? []).filter((each) => !isIn(now)(each)), ...now];
      found.suspended = found.suspended.filter((each) => !now.some(({ hash }) => hash === each.hash));
    });
  }

  #approved(start: ServerStart): ApprovedStart {
    return { hash: fingerprint(start), start, at: this.#deps.clock.now().toISOString(), suspended: [] };
  }

  #file(server: string): string {
    return join(this.#deps.folder, `${createHash('sha256').update(server).digest('hex').slice(0, 16)}.json`);
  }

  /** A file that cannot be read is an error: without it everything would be new. */
  #read(server: string): ServerRecord | undefined {
    return readBy(this.#file(server), recordSchema());
  }

  #find(server: string, hash: string): ApprovedStart | undefined {
    return this.#read(server)?.starts.find((each) => each.hash === hash);
  }

  #change(server: string, change: (record: ServerRecord) => void): Promise<void> {
    return this.#writes.run(async () => {
      const record = this.#read(server) ?? { version: 1, server, starts: [] };
      change(record);
      await writeSettings(this.#file(server), `${JSON.stringify(record, null, 2)}\n`);
    });
  }
}

interface ToolApprovalsDeps {
  read(): ApprovedStart;
  save(change: Pick<ApprovedStart, 'tools' | 'suspended'>): Promise<void>;
  tell(message: string): void;
}

/** The tools of a server that is started in an approved way. */
export class ToolApprovals {
  readonly #server: string;
  readonly #deps: ToolApprovalsDeps;
  #approved: readonly McpTool[] | undefined;
  #stored = '';
  #told = '';
  #saved: Promise<void> = Promise.resolve();

  constructor(server: string, deps: ToolApprovalsDeps) {
    this.#server = server;
    this.#deps = deps;
    this.reload();
  }

  /** Reads what was approved since. */
  reload(): void {
    const { tools, suspended } = this.#deps.read();
    this.#approved = tools;
    this.#stored = hashesOf(suspended);
  }

  /** Splits what a server offers into what may be used and what waits for a person. The first list is approved as it is. */
  sift(offered: readonly McpTool[]): { tools: McpTool[]; suspended: McpTool[] } {
    const approved = this.#approved;
    if (!approved) {
      this.#approved = offered;
      this.#save({ tools: [...offered], suspended: [] });
      this.#deps.tell(
        `MCP server ${this.#server} is used for the first time like this. Reef remembers how it is started and what it says of its ${offered.length} tools; what changes later is suspended until you approve it (reef mcp list)`,
      );
      return { tools: [...offered], suspended: [] };
    }
    const hashes = new Set(approved.map(({ hash }) => hash));
    const tools = offered.filter(({ hash }) => hashes.has(hash));
    const suspended = offered.filter(({ hash }) => !hashes.has(hash));
    this.#note(suspended);
    return { tools, suspended };
  }

  /** Resolves when what was found is stored. */
  saved(): Promise<void> {
    return this.#saved;
  }

  #note(suspended: McpTool[]): void {
    const found = hashesOf(suspended);
    if (found !== this.#stored) this.#save({ suspended });
    this.#stored = found;
    if (found === this.#told) return;
    this.#told = found;
    if (suspended.length === 0) return;
    const names = suspended.map(({ name }) => name).join(', ');
    this.#deps.tell(
      `MCP server ${this.#server} says something else of ${suspended.length} of its tools than you approved; they are suspended: ${names}. To see and approve it: reef mcp approve ${this.#server}`,
    );
  }

  #save(change: Parameters<ToolApprovalsDeps['save']>[0]): void {
    // What cannot be stored is told of; tools stay suspended all the same.
    const failed = (error: unknown) => this.#deps.tell(`what ${this.#server} offers could not be stored: ${error}`);
    this.#saved = this.#deps.save(change).catch(failed);
  }
}

const hashesOf = (tools: readonly McpTool[]) => tools.map(({ hash }) => hash).join();
