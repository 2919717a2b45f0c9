import { resolve } from 'node:path';
import { z } from 'zod';
import { ReefError } from '../../protocol/errors.ts';
import { configInvalid, isProblem, isRecord, parseSource, readIfThere, type Source } from '../config/settings-file.ts';
import type { McpServerSpec } from './factory.ts';
import { type ServerStart, startOf } from './server-start.ts';

/** People write numbers and flags; a server sees text. */
const variable = z.union([z.string(), z.boolean(), z.int()]).transform(String);

const reef = z
  .strictObject({
    required: z.boolean().default(false),
    share: z.boolean().default(true),
    idle_timeout_seconds: z.number().min(0).max(86_400).exactOptional(),
  })
  .prefault({});

const stdioServer = z.object({
  type: z.literal('stdio'),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), variable).default({}),
  cwd: z.string().min(1).default('.'),
  reef,
});

const remoteServer = z.object({
  type: z.enum(['http', 'sse']),
  url: z.url({ protocol: /^https?$/ }),
  headers: z.record(z.string(), variable).default({}),
  reef,
});

/** `type` may be left out: a server with a `url` is remote. */
const server = z.preprocess(
  (entry) =>
    typeof entry === 'object' && entry !== null ? { type: 'url' in entry ? 'http' : 'stdio', ...entry } : entry,
  z.discriminatedUnion('type', [stdioServer, remoteServer]),
);

/** Other programs keep keys of their own in this file. */
const mcpFile = z.looseObject({ mcpServers: z.record(z.string().min(1).max(128), server).default({}) });

export interface McpFileSource {
  path: string;
  /** Servers run here; a relative `cwd` starts here. */
  cwd: string;
  /** Replaces `{{NAME}}` in string values by the secret. */
  fill?(tree: unknown, path: string): unknown | Promise<unknown>;
}

/** The servers of mcp.json by name, in the order of the file; none if there is no file. All mistakes are one error. */
export async function readMcpFile({ path, cwd, fill }: McpFileSource): Promise<Map<string, McpServerSpec>> {
  const source = sourceAt(path);
  if (!source) return new Map();
  const read = mcpFile.safeParse(fill ? await fill(source.value, path) : source.value);
  if (!read.success) throw invalid(path, read.error);
  const starts = startsIn(source, cwd);
  return new Map(
    Object.entries(read.data.mcpServers).map(([name, entry]) => {
      const start = starts.get(name) ?? startOf(entry, cwd);
      return [name, { ...toSpec(name, entry, cwd), start }];
    }),
  );
}

/** How each server of the file is started, without the secrets for it. */
export function readServerStarts({ path, cwd }: Pick<McpFileSource, 'path' | 'cwd'>): Map<string, ServerStart> {
  const source = sourceAt(path);
  return source ? startsIn(source, cwd) : new Map();
}

function sourceAt(path: string): Source | undefined {
  const text = readIfThere(path);
  if (text === undefined) return undefined;
  const source = parseSource(path, text);
  if (isProblem(source)) throw configInvalid([source], 'mcp_config_invalid');
  return source;
}

function startsIn({ value }: Source, cwd: string): Map<string, ServerStart> {
  const servers = isRecord(value) && isRecord(value.mcpServers) ? value.mcpServers : {};
  return new Map(Object.entries(servers).map(([name, entry]) => [name, startOf(entry, cwd)]));
}

/** Never shows a value: it may be a secret. */
function invalid(file: string, error: z.ZodError): ReefError {
  const problems = error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));
  const list = problems.map(({ path, message }) => `${path}: ${message}`).join('; ');
  return new ReefError('mcp_config_invalid', `${file}: ${list}`, { details: { file, problems } });
}

function toSpec(name: string, { reef: traits, ...entry }: z.output<typeof server>, cwd: string) {
  if (entry.type !== 'stdio') return { name, ...entry, ...traits };
  return { name, ...entry, cwd: resolve(cwd, entry.cwd), ...traits };
}
