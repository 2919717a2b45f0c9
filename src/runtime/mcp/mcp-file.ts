import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import { parseJson } from '../../base/safe-json.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { McpServerSpec } from './factory.ts';

/** Numbers and flags are what people write; a server sees text. */
const variable = z.union([z.string(), z.boolean(), z.int()]).transform(String);

const traits = {
  reef: z
    .strictObject({
      required: z.boolean().default(false),
      share: z.boolean().default(true),
      idle_timeout_seconds: z.number().min(0).max(86_400).exactOptional(),
    })
    .prefault({}),
};

const stdioServer = z.looseObject({
  type: z.literal('stdio').default('stdio'),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), variable).default({}),
  cwd: z.string().min(1).optional(),
  ...traits,
});

const remoteServer = z.looseObject({
  type: z.enum(['http', 'sse']).default('http'),
  url: z.url({ protocol: /^https?$/ }),
  headers: z.record(z.string(), variable).default({}),
  ...traits,
});

type StdioEntry = z.output<typeof stdioServer>;
type RemoteEntry = z.output<typeof remoteServer>;

/** Other programs keep keys of their own in the same file: they are theirs. */
const mcpFile = z.looseObject({ mcpServers: z.record(z.string().min(1).max(128), z.unknown()).default({}) });

export interface McpFileSource {
  path: string;
  /** Where a server runs that names no folder, and what a relative one is relative to. */
  cwd: string;
  /** Puts secrets in the place of `{{NAME}}`, in string leaves only. */
  fill?(tree: unknown, path: string): unknown | Promise<unknown>;
}

/** The servers of mcp.json by name, in the order of the file; none when there is no file. All mistakes come at once. */
export async function readMcpFile(source: McpFileSource): Promise<Map<string, McpServerSpec>> {
  const text = await readFile(source.path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return new Map();
  const parsed = parseJson(text);
  if (!parsed.ok) throw invalid(source.path, [{ path: '', message: parsed.why }]);
  const file = mcpFile.safeParse(source.fill ? await source.fill(parsed.value, source.path) : parsed.value);
  if (!file.success) throw invalid(source.path, problemsOf(file.error, []));

  const specs = new Map<string, McpServerSpec>();
  const problems: Problem[] = [];
  for (const [name, entry] of Object.entries(file.data.mcpServers)) {
    const spec = toSpec(name, entry, source.cwd);
    if (Array.isArray(spec)) problems.push(...spec);
    else specs.set(name, spec);
  }
  if (problems.length > 0) throw invalid(source.path, problems);
  return specs;
}

interface Problem {
  path: string;
  message: string;
}

function toSpec(name: string, entry: unknown, cwd: string): McpServerSpec | Problem[] {
  const isRemote = typeof entry === 'object' && entry !== null && 'url' in entry;
  if (isRemote) {
    const read = remoteServer.safeParse(entry);
    return read.success ? remoteSpec(name, read.data) : problemsOf(read.error, ['mcpServers', name]);
  }
  const read = stdioServer.safeParse(entry);
  return read.success ? stdioSpec(name, read.data, cwd) : problemsOf(read.error, ['mcpServers', name]);
}

function stdioSpec(name: string, { command, args, env, reef, ...entry }: StdioEntry, cwd: string): McpServerSpec {
  return { name, type: 'stdio', command, args, env, cwd: resolve(cwd, entry.cwd ?? '.'), ...traitsOf(reef) };
}

function remoteSpec(name: string, { type, url, headers, reef }: RemoteEntry): McpServerSpec {
  return { name, type, url, headers, ...traitsOf(reef) };
}

function traitsOf({ required, share, idle_timeout_seconds }: StdioEntry['reef']) {
  return {
    required,
    share,
    ...(idle_timeout_seconds !== undefined && { idleTimeoutSeconds: idle_timeout_seconds }),
  };
}

function problemsOf(error: z.ZodError, at: readonly string[]): Problem[] {
  return error.issues.map((issue) => ({ path: [...at, ...issue.path].join('.'), message: issue.message }));
}

function invalid(file: string, problems: readonly Problem[]): ReefError {
  const list = problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
  return new ReefError('mcp_config_invalid', `${file}: ${list}`, { details: { file, problems } });
}
