import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SERVER } from '../../../test/support/runtime/mcp.ts';
import { openWorld } from '../../../test/support/runtime/state.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { userText } from '../models/message.ts';
import { localModelsOverride, syncModels } from '../models/sync-models.ts';
import { initAppState } from './init.ts';
import { ensureDefaultModelId } from './transition.ts';

describe('AppState', () => {
  verifies('R-03').test('is made in its order, and starts nothing', async () => {
    const seen: unknown[] = [];
    await using world = await openWorld({
      files: {
        'config.yaml': 'user_agent: auto\nenabled_mcp_servers: all\neditor: file\ndocument_loaders: { pdf: mine $1 }\n',
      },
      env: { REEF_EDITOR: 'environment' },
      ports: (ports) => {
        seen.push('services');
        return ports;
      },
      init: { onWarning: () => seen.push('warning') },
    });
    const { editor, document_loaders, user_agent } = world.app.config;
    expect({ seen, editor, document_loaders, user_agent, spawned: world.factory.stats().spawned }).toEqual({
      seen: ['services'],
      editor: 'environment',
      document_loaders: { pdf: 'mine $1', docx: 'pandoc --to plain $1' },
      user_agent: 'reef/1.2.3',
      spawned: 0,
    });
    const ctx = world.context();
    expect(world.factory.stats().spawned).toBe(0);
    await ctx.bootstrapTools();
    expect([world.factory.stats().spawned, [...ctx.toolScope.mcpRuntime.servers.keys()].sort()]).toEqual([
      3,
      ['github', 'jira', 'slack'],
    ]);
  });

  verifies('R-03').test('is not made from a wrong file, and no service either', () => {
    const ports = () => expect.unreachable();
    const make = () =>
      initAppState({
        env: { REEF_SAVE: 'perhaps' },
        home: '/nonexistent',
        cwd: '/',
        version: '1',
        clock: undefined as never,
        ports,
      });
    expect(make).toThrow(expect.objectContaining({ code: 'config_invalid' }));
  });

  verifies('R-11').test('tells each warning once, however often its file is read', async () => {
    await using world = await openWorld({
      files: { 'config.yaml': 'straem: 1\n', 'roles/named.md': '---\nname: other\nprompt: x\n---\nHi.' },
    });
    for (const ctx of [world.context(), world.context()]) await ctx.useRole('named');
    world.app.reload();
    expect(world.warnings).toEqual([
      'straem is not a setting and is ignored: did you mean stream?',
      'name has no effect: the file gives the role its name',
      'prompt has no effect: the prompt is the text below the head',
    ]);
  });

  test('is shared by contexts that share nothing else', async () => {
    await using world = await openWorld({ files: { 'roles/a.md': 'A.', 'roles/b.md': 'B.' } });
    const [one, two] = [world.context(), world.context({ workingMode: 'api' })];
    await Promise.all([one.useRole('a'), two.useRole('b')]);
    await one.useSession('s');
    await two.update('temperature 1').catch(() => {});
    expect([one.role?.name, two.role?.name, one.session?.name, two.session, one.app === two.app]).toEqual([
      'a',
      'b',
      's',
      undefined,
      true,
    ]);
  });
});

verifies('R-150', 'R-21').test(
  'four transitions go on side by side: no server answers before all four have begun',
  async () => {
    const folder = temporaryFolder();
    const barrier = 'touch "$0/$1"; shift; until [ $(ls "$0" | wc -l) -eq 4 ]; do sleep 0.02; done; exec "$@"';
    const names = ['github', 'jira', 'slack', 'files'];
    const servers = names.map((name) => [
      name,
      { command: '/bin/sh', args: ['-c', barrier, folder, name, process.execPath, SERVER] },
    ]);
    const roles = names.map((name) => [`roles/${name}.md`, `---\nenabled_mcp_servers: ${name}\n---\nHi.`]);
    await using world = await openWorld({
      files: {
        ...Object.fromEntries(roles),
        'functions/mcp.json': JSON.stringify({ mcpServers: Object.fromEntries(servers) }),
      },
    });
    const contexts = names.map((name) => ({ name, ctx: world.context() }));
    await Promise.all(contexts.map(({ name, ctx }) => ctx.useRole(name)));
    const scopes = contexts.map(({ ctx }) => [...ctx.toolScope.mcpRuntime.servers.keys()].join());
    expect({ scopes, spawned: world.factory.stats().spawned }).toEqual({ scopes: names, spawned: 4 });
  },
);

verifies('R-17').test(
  'a secret is a placeholder in the configuration, a value only where it is used, and known to redaction',
  async () => {
    const told: string[] = [];
    await using world = await openWorld({
      env: {
        REEF_CLIENTS:
          '[{"type": "openai", "api_key": "{{OPENAI}}"}, {"type": "claude", "api_key": ["plain-key-one", "x{{OPENAI}}"]}]',
        REEF_MODEL: 'openai:x',
      },
      init: { onSecret: (value) => told.push(value), askPassword: async () => 'long enough' },
    });
    await world.app.vault.add('OPENAI', 'the secret value');
    const used = await world.app.vault.fill(world.app.config.clients, 'clients');
    expect([JSON.stringify(world.app.config).includes('the secret value'), used[0]?.api_key, told]).toEqual([
      false,
      'the secret value',
      ['plain-key-one', 'the secret value'],
    ]);
  },
);

verifies('R-17').test('secrets that a client lacks are one error, with every place', async () => {
  const client = { type: 'openai', api_base: 'https://{{HOST}}/v1', extra: { proxy: 'http://{{PROXY}}' } };
  await using world = await openWorld({ env: { REEF_CLIENTS: JSON.stringify([client]), REEF_MODEL: 'openai:x' } });
  const { models } = world.app;
  const model = models.find('openai:x');
  await expect(models.client(model).chat({ model, messages: [userText('hi')], stream: false })).rejects.toMatchObject({
    code: 'secret_missing',
    message: 'secrets are missing: HOST (clients.api_base), PROXY (clients.extra.proxy)',
  });
});

describe('a RAG', () => {
  verifies('R-42', 'R-127', 'R-128').test(
    'T7, T8: rebuilt by agent or by name: the right key is told, who holds the old one keeps it',
    async () => {
      const told: unknown[] = [];
      await using world = await openWorld({
        files: {
          'rags/docs.yaml': 'document_paths: []\n',
          'agents/docs/config.yaml': 'instructions: hi\n',
          'agents/docs/rag.yaml': 'document_paths: [a.md]\n',
          'agents/docs/a.md': 'Keys are rotated on Mondays.',
        },
        ports: (ports) => ({
          ragCache: {
            load: (key, signal) => ports.ragCache.load(key, signal),
            invalidate: (key) => {
              told.push(key);
              ports.ragCache.invalidate(key);
            },
          },
        }),
      });
      const [ctx, other] = [world.context(), world.context()];
      await ctx.useRag('docs');
      await other.useRag('docs');
      const old = other.rag?.value;
      const notes = world.write('notes.md', 'The harbour opens at nine.');
      await ctx.rebuildRag({ documents: [notes] });
      await ctx.useAgent({ name: 'docs' });
      const agentOld = ctx.agentRuntime?.rag?.value;
      await ctx.rebuildRag();
      expect({
        told,
        holder: other.rag?.value === old,
        holderWorks: await old?.search('harbour', { top_k: 1 }),
        fresh: ctx.agentRuntime?.rag?.value !== agentOld,
        agent: (await ctx.agentRuntime?.rag?.value.search('rotated', { top_k: 1 }))?.length,
      }).toEqual({
        told: [
          { kind: 'named', name: 'docs' },
          { kind: 'agent', name: 'docs' },
        ],
        holder: true,
        holderWorks: expect.any(Array),
        fresh: true,
        agent: 1,
      });
      await ctx.exitAgent();
      expect((await ctx.rag?.value.search('harbour', { top_k: 1 }))?.[0]?.text).toContain('nine');
      await ctx.close();
      await other.close();
    },
  );

  test('that is not there is rag_not_found, and none active says how to have one', async () => {
    await using world = await openWorld();
    const ctx = world.context();
    await expect(ctx.useRag('none')).rejects.toMatchObject({ code: 'rag_not_found' });
    await expect(ctx.rebuildRag()).rejects.toMatchObject({ code: 'invalid_state' });
  });
});

describe('the model', () => {
  verifies('R-07').test('that is not named is the first there is', async () => {
    await using world = await openWorld({ files: { 'config.yaml': '' } });
    world.write(
      'config.yaml',
      readFileSync(world.app.paths.configFile(), 'utf8').replace('model: fake:one', "model: ''"),
    );
    const app = world.app.reload();
    expect([app.config.model_id, ensureDefaultModelId(app.models)]).toEqual(['', 'fake:one']);
    const ctx = world.context();
    await ctx.set('model', 'fake:two');
    const second = ctx.model.id;
    ctx.app = app;
    await ctx.bootstrapTools();
    expect([second, ctx.model.id]).toEqual(['fake:two', 'fake:one']);
  });

  verifies('R-07').test('that nobody has is model_missing, with the three ways to have one', async () => {
    await using world = await openWorld({
      ports: (ports) => ({ models: { ...ports.models, first: () => undefined } }),
    });
    const app = world.app.withConfig({ model_id: '' });
    expect(() => ensureDefaultModelId(app.models)).toThrow(
      expect.objectContaining({
        code: 'model_missing',
        message: expect.stringMatching(/config\.yaml.*--model.*REEF_PLATFORM/),
      }),
    );
    const ctx = world.context();
    await expect(ctx.set('model', null)).rejects.toMatchObject({ code: 'model_missing' });
    expect(ctx.model.id).toBe('fake:one');
  });
});

test('the list of models is replaced by one that was checked, and stays when there is none', async () => {
  await using world = await openWorld({ files: { 'models-override.yaml': '' } });
  const { paths } = world.app;
  const answer = {
    status: 200,
    text: '- provider: openai\n  models: [{ name: gpt-x, type: chat, max_input_tokens: 5 }]\n',
  };
  const server = createServer((_, response) => response.writeHead(answer.status).end(answer.text)).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/models.yaml`;
  const sync = () => syncModels(url, paths, fetch);
  expect(await sync()).toBe(1);
  const list = localModelsOverride(paths)?.text;
  Object.assign(answer, { text: 'models: [' });
  await expect(sync()).rejects.toThrow();
  Object.assign(answer, { status: 500 });
  await expect(sync()).rejects.toMatchObject({ code: 'models_not_synced' });
  expect([list, localModelsOverride(paths)?.text]).toEqual([expect.stringContaining('gpt-x'), list]);
});
