import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unifiedDiff } from '../../../agents/unified-diff.ts';
import { writeAtomic } from '../../../base/atomic-file.ts';
import type { Environment } from '../../../base/env.ts';
import { printable } from '../../../base/printable.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { Command } from '../cli.ts';
import { agrees } from '../prompt/line-person.ts';

const REEF = fileURLToPath(new URL('../../../../bin/reef.cjs', import.meta.url));
const NAME = 'reef';
/** Whole paths: an editor starts its servers without the PATH of a shell. */
const [PROGRAM, ARGS] = [process.execPath, [REEF, 'mcp']];

interface McpClient {
  title: string;
  file(env: Environment, cwd: string): string;
  /** The text of the file with Reef's entry, or without it. */
  change(text: string, wanted: boolean): string;
}

const inHome =
  (...path: string[]) =>
  ({ home }: Environment) =>
    join(home, ...path);
const server = { command: PROGRAM, args: ARGS };
const forFolder = { command: PROGRAM, args: [...ARGS, '--cwd', `\${workspaceFolder}`] };

const CLIENTS: Record<string, McpClient> = {
  claude: {
    title: 'Claude Code',
    file: ({ all, home }) => join(all.CLAUDE_CONFIG_DIR ?? home, '.claude.json'),
    change: entryIn('mcpServers', { type: 'stdio', ...server }),
  },
  codex: {
    title: 'Codex',
    file: ({ all, home }) => join(all.CODEX_HOME ?? join(home, '.codex'), 'config.toml'),
    change: tomlTable,
  },
  gemini: { title: 'Gemini', file: inHome('.gemini', 'settings.json'), change: entryIn('mcpServers', server) },
  opencode: {
    title: 'opencode',
    file: ({ configHome }) => join(configHome, 'opencode', 'opencode.json'),
    change: entryIn('mcp', { type: 'local', command: [PROGRAM, ...ARGS], enabled: true }),
  },
  cursor: { title: 'Cursor', file: inHome('.cursor', 'mcp.json'), change: entryIn('mcpServers', forFolder) },
  vscode: {
    title: 'VS Code',
    file: (_env, cwd) => join(cwd, '.vscode', 'mcp.json'),
    change: entryIn('servers', { type: 'stdio', ...forFolder }),
  },
  zed: {
    title: 'Zed',
    file: ({ configHome }) => join(configHome, 'zed', 'settings.json'),
    change: entryIn('context_servers', { source: 'custom', ...server, env: {} }),
  },
};

interface InstallOptions {
  remove?: true;
  yes?: true;
}

/** Shows the change to a client's own configuration and makes it after a yes. A second time changes nothing. */
export const installMcp: Command<InstallOptions> = async (cli, [name = ''], { remove, yes }) => {
  const client = Object.hasOwn(CLIENTS, name) ? CLIENTS[name] : undefined;
  if (!client) throw new ReefError('bad_request', `client: expected ${Object.keys(CLIENTS).join(', ')}, not "${name}"`);
  const file = client.file(cli.env, cli.cwd);
  const before = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const after = changed(client, file, { before, isWanted: !remove });
  const isAsked = after !== before && !yes;
  if (isAsked) cli.talk(`${file}\n${printable(unifiedDiff(before, after)).trimEnd()}`);
  const question = `Change the settings of ${client.title} like this?`;
  if (isAsked && !(cli.isInteractive && (await agrees(cli, question)))) {
    cli.talk(`Nothing was changed. To agree beforehand: reef mcp install ${name}${remove ? ' --remove' : ''} --yes`);
    return 3;
  }
  if (after !== before) {
    await mkdir(dirname(file), { recursive: true });
    await writeAtomic(file, after);
  }
  const state = remove ? 'no longer knows Reef' : 'knows Reef; start it anew to use it';
  cli.print({ client: name, file, changed: after !== before, installed: !remove }, () =>
    after === before
      ? `Nothing to change: ${client.title} ${remove ? 'does not know' : 'knows'} Reef.`
      : `${client.title} ${state}.`,
  );
  return 0;
};

function changed(client: McpClient, file: string, { before, isWanted }: { before: string; isWanted: boolean }): string {
  try {
    return client.change(before, isWanted);
  } catch (error) {
    const entry = client.change('', true).trimEnd();
    const what = isWanted ? `Add this to it yourself:\n${entry}` : `Take "${NAME}" out of it yourself.`;
    throw new ReefError('config_invalid', `${file} is not plain JSON (comments, perhaps). ${what}`, { cause: error });
  }
}

/** JSON settings in which servers stand by name under a key. What else is in the file stays as it is. */
function entryIn(key: string, entry: object): McpClient['change'] {
  return (text, isWanted) => {
    const settings: Record<string, unknown> = text.trim() === '' ? {} : JSON.parse(text);
    const { [NAME]: known, ...others } = (settings[key] ?? {}) as Record<string, unknown>;
    if (isWanted ? JSON.stringify(known) === JSON.stringify(entry) : known === undefined) return text;
    const servers = isWanted ? { ...others, [NAME]: entry } : others;
    const { [key]: _, ...rest } = settings;
    const isEmpty = Object.keys(servers).length === 0;
    const indent = /^[ \t]+(?=")/m.exec(text)?.[0] ?? '  ';
    return `${JSON.stringify(isEmpty ? rest : { ...settings, [key]: servers }, null, indent)}\n`;
  };
}

/** Codex keeps TOML. Its table for Reef ends where the next one begins. */
function tomlTable(text: string, isWanted: boolean): string {
  const rest = text
    .replace(new RegExp(`(?:^|\\n\\n?)\\[mcp_servers\\.${NAME}\\]\\n(?:(?!\\[).*(?:\\n|$))*`), '\n')
    .trimStart();
  const table = `[mcp_servers.${NAME}]\ncommand = ${JSON.stringify(PROGRAM)}\nargs = ${JSON.stringify(ARGS)}\n`;
  if (isWanted) return text.includes(table) ? text : `${rest === '' ? '' : `${rest.trimEnd()}\n\n`}${table}`;
  return text.includes(`[mcp_servers.${NAME}]`) ? rest : text;
}
