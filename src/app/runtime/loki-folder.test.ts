import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { bench } from '../../../test/support/engine/workbench.ts';
import { hasLoki, NO_LOKI, ownLokiFolder, realLokiFolder } from '../../../test/support/runtime/loki-folders.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { systemClock } from '../../base/clock.ts';
import { readEnvironment } from '../../base/env.ts';
import { listAgents, loadAgentSpec } from '../../runtime/agent-spec/load.ts';
import { loadMacro } from '../../runtime/macros/macro.ts';
import { readMcpFile } from '../../runtime/mcp/mcp-file.ts';
import { listMacros } from '../../runtime/paths.ts';
import { listRoles, loadRole } from '../../runtime/roles/role-folder.ts';
import { createContext } from '../../runtime/state/init.ts';
import { toolNameOf } from '../../runtime/tools/custom/tool-file.ts';
import type { Tool } from '../../runtime/tools/tool.ts';
import { openRuntime } from './open-runtime.ts';

/** Reef with this folder as its configuration, without its MCP servers: those need a network. */
async function open(folder: string) {
  const cwd = join(temporaryFolder(), 'project');
  mkdirSync(join(cwd, 'src'), { recursive: true });
  writeFileSync(join(cwd, 'notes.txt'), 'one\ntwo\nthree\n');
  const variables = { REEF_CONFIG_DIR: folder, REEF_MCP_SERVER_SUPPORT: 'false', REEF_MODEL: 'scripted:demo' };
  const env = readEnvironment({ PATH: process.env.PATH, HOME: temporaryFolder(), ...variables });
  const warnings: string[] = [];
  const { app } = await openRuntime({
    ...{ env, cwd, clock: systemClock, version: '1.2.3', isOneShot: true },
    ask: async () => ({ kind: 'needs_human' }),
    onWarning: ({ message }) => warnings.push(message),
  });
  const context = async (request: { agent?: string; role?: string; variables?: Record<string, string> }) => {
    const ctx = createContext(app, { workingMode: 'repl' });
    await ctx.bootstrapTools();
    if (request.role !== undefined) await ctx.useRole(request.role);
    if (request.agent !== undefined) await ctx.useAgent({ name: request.agent, variables: request.variables });
    return ctx;
  };
  return { app, cwd, warnings, context };
}

const OURS = /^(user__|todo__|agent__)/;
const namesOf = ({ tools }: { tools: readonly Tool[] }) =>
  tools.map(({ name }) => name).filter((name) => !OURS.test(name));

describe('a folder as Loki lays it out', () => {
  verifies('R-160', 'R-161').test(
    'gives an agent the tools that its files name, and the environment Loki describes',
    async () => {
      const folder = ownLokiFolder();
      const { app, cwd, warnings, context } = await open(folder);
      const ctx = await context({ agent: 'scout' });
      const { tools } = ctx.toolScope.functions;
      expect(namesOf(ctx.toolScope.functions)).toEqual(['look', 'count', 'fs_cat', 'where_am_i']);
      const { use } = bench(tools, cwd);
      expect([
        await use('look'),
        await use('where_am_i'),
        await use('fs_cat', { path: 'notes.txt' }),
        // As in Loki, what is returned replaces what was written.
        await use('count', { words: ['a', 'b'] }),
      ]).toEqual([
        'shared by scout in ., look of scout\n',
        `where_am_i below ${folder}/functions\nthe reef . where_am_i.sh\n`,
        'shown by a script:\none\ntwo\nthree\n',
        '2 words',
      ]);
      expect(ctx.agentRuntime?.rag?.value.info().files).toBe(1);
      expect(warnings.sort()).toEqual([
        'agent scout needs MCP servers, but mcp_server_support is off',
        'clients.2.models.1.no_stream is not used by a model',
        'function_calling is called function_calling_support here, and is in effect',
        'light_theme is called theme here, and is in effect',
      ]);
      await ctx.close();
      await app.close();
    },
  );

  verifies('R-160').test('has no script that replaces a working tool in silence', async () => {
    const { app, cwd, warnings, context } = await open(ownLokiFolder());
    const ctx = await context({ agent: 'keeper', variables: { who: 'Ann' } });
    const { use, find } = bench(ctx.toolScope.functions.tools, cwd);
    expect(await use('greet', { name: 'Bob' })).toBe('Bob of Ann, greet');
    // The built-in one, which says what it needs itself.
    expect(await use('execute_sql_code', { code: 'select 1' })).toMatch(/^! No database is configured: set USQL_DSN/);
    expect(warnings.filter((message) => message.startsWith('the built-in'))).toEqual([
      'the built-in execute_sql_code is used instead of this script: it needs a-program-nobody-has, which is not installed',
    ]);
    // A script is asked about as the tool that it replaces.
    expect([find('fs_cat').effect, find('fs_cat').claims?.({ path: '/etc/hosts' }, cwd).outside]).toEqual([
      'read',
      ['/etc/hosts'],
    ]);
    await ctx.close();
    const all = await context({ role: 'everything' });
    expect(namesOf(all.toolScope.functions)).toEqual(['fs_cat']);
    await all.exitRole();
    await all.useRole('reader');
    expect(namesOf(all.toolScope.functions)).toEqual(['fs_cat']);
    expect(warnings).toContain('visible_tools does not list fs_ls: write it there to use it');
    await all.close();
    await app.close();
  });

  verifies('R-160').test('whose script bash cannot read keeps the built-in tool, and says why', async () => {
    const folder = ownLokiFolder();
    writeFileSync(join(folder, 'agents/keeper/config.yaml'), 'global_tools: [fs_ls.sh]\n');
    const { app, cwd, warnings, context } = await open(folder);
    const ctx = await context({ agent: 'keeper' });
    const { use } = bench(ctx.toolScope.functions.tools, cwd);
    expect(await use('fs_ls', { path: '.' })).toMatch(/notes\.txt/);
    expect(warnings).toContainEqual(
      expect.stringMatching(/^the built-in fs_ls is used .*bash cannot read it: line 4:/),
    );
    await ctx.close();
    await app.close();
  });
});

/** What a Loki user understands: old names, programs and servers that are not here. */
const PLAIN = [
  / is called \S+ here, and is in effect$/,
  /^agent \S+ needs MCP servers, but mcp_server_support is off$/,
  /^the built-in \S+ is used instead of this script: it needs \S+, which is not installed$/,
  /^visible_tools does not list .*: write it there to use it$/,
  /^(name|prompt) has no effect/,
];

/** The shipped tools that need neither network nor key, and a piece of what each answers. */
const RUNS: readonly [name: string, args: object, answer: RegExp][] = [
  ['fs_cat', { path: 'notes.txt' }, /^one\ntwo\nthree\n$/],
  ['fs_ls', { path: '.' }, /^notes\.txt\nsrc\n$/],
  ['fs_read', { path: 'notes.txt', offset: '2', limit: '1' }, /^2: two\n\n\(3 total lines/],
  ['fs_glob', { pattern: '*.txt' }, /notes\.txt/],
  ['fs_grep', { pattern: 'thr' }, /notes\.txt:3:three/],
  ['fs_mkdir', { path: 'made/deep' }, /^Directory created: made\/deep/],
  ['fs_write', { path: 'made/new.txt', contents: 'a\nb\n' }, /written to: made\/new\.txt/],
  ['fs_patch', { path: 'notes.txt', contents: '@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n' }, /Applied the patch/],
  ['fs_rm', { path: 'made/new.txt' }, /^Path removed/],
  ['execute_command', { command: 'echo $((6 * 7))' }, /^42\n$/],
  ['execute_py_code', { code: 'x = 6\nx * 7' }, /^42$/],
  ['get_current_time', {}, /\d\d:\d\d:\d\d/],
  [
    'demo_sh',
    { string: 's', string_enum: 'foo', boolean: true, integer: 1, number: 2, array: ['a', 'b'] },
    /string: s\n[\s\S]*array: a b\n[\s\S]*LLM_TOOL_NAME=demo_sh/,
  ],
  [
    'demo_py',
    { string: 's', string_enum: 'foo', boolean: true, integer: 1, number: 2, array: ['a', 'b'] },
    /string: s\n[\s\S]*LLM_ROOT_DIR: \S+\/functions/,
  ],
];

/** Functions of the shipped agents that need neither. */
const OWN: Readonly<Record<string, readonly [name: string, args: object, answer: RegExp][]>> = {
  'code-reviewer': [['get_project_info', {}, /Type: /]],
  coder: [
    ['read_file', { path: 'notes.txt' }, /Reading: notes\.txt[\s\S]*three/],
    ['write_file', { path: 'src/a.txt', content: 'x' }, /Wrote: src\/a\.txt/],
    ['search_code', { pattern: 'three' }, /notes\.txt/],
    ['get_project_structure', {}, /Project: [\s\S]*notes\.txt/],
  ],
  explore: [
    ['get_structure', {}, /notes\.txt/],
    ['search_files', { pattern: '*.txt' }, /notes\.txt/],
    ['search_content', { pattern: 'three' }, /notes\.txt/],
    ['read_file', { path: 'notes.txt' }, /three/],
  ],
  'file-reviewer': [['get_structure', {}, /notes\.txt/]],
  oracle: [
    ['read_file', { path: 'notes.txt' }, /three/],
    ['list_directory', {}, /notes\.txt/],
  ],
  sisyphus: [['get_project_info', {}, /Type: /]],
};

const GIVEN = { username: 'ann', dsn: 'sqlite:x.db' };

describe("Loki's own files", () => {
  const proves = verifies('R-160').needs(hasLoki, NO_LOKI);

  proves.test(
    'give every agent its full list of tools, without a warning a Loki user would not understand',
    async () => {
      const { app, cwd, warnings, context } = await open(realLokiFolder());
      const agents = listAgents(app.paths).filter((name) => name !== 'example');
      expect(agents).toHaveLength(9);
      for (const name of agents) {
        const ctx = await context({ agent: name, variables: GIVEN });
        const wanted = ctx.agent?.spec.global_tools.map(toolNameOf) ?? [];
        const { functions } = ctx.toolScope;
        expect(namesOf(functions), name).toEqual(expect.arrayContaining(wanted));
        const { use } = bench(functions.tools, cwd);
        for (const [tool, args, answer] of OWN[name] ?? [])
          expect(await use(tool, args), `${name} ${tool}`).toMatch(answer);
        await ctx.close();
      }
      for (const name of listRoles(app.paths, false)) loadRole(app.paths, name, app.warn);
      for (const name of listMacros(app.paths)) loadMacro(app.paths, name);
      loadAgentSpec('example', { paths: app.paths, env: {}, warn: app.warn });
      const servers = await readMcpFile({ path: app.paths.mcpConfigFile(), cwd });
      expect([...servers.keys()]).toEqual(['github', 'atlassian', 'docker', 'ddg-search']);
      expect(warnings.filter((message) => !PLAIN.some((plain) => plain.test(message)))).toEqual([]);
      await app.close();
    },
    180_000,
  );

  proves.test(
    'have tools of which each runs that needs no network and no key',
    async () => {
      const folder = realLokiFolder();
      const tools = RUNS.map(([name]) => name).join(',');
      writeFileSync(join(folder, 'agents/example/config.yaml'), `global_tools: '${tools}'\n`);
      const { app, cwd, context } = await open(folder);
      const ctx = await context({ agent: 'example' });
      const { use } = bench(ctx.toolScope.functions.tools, cwd);
      for (const [name, args, answer] of RUNS) expect(await use(name, args), name).toMatch(answer);
      await ctx.close();
      await app.close();
    },
    180_000,
  );
});
