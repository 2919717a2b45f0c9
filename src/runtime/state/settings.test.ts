import { describe, expect, test } from 'vitest';
import { openWorld } from '../../../test/support/runtime/state.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { sysinfo } from './info.ts';
import type { RequestContext } from './request-context.ts';
import { type LayerName, layersOf, resolve, type SettingKey, settingsOf, writeLayer } from './resolve.ts';
import { SET_KEYS, type SetKey } from './setting-keys.ts';

/** Which layers are active, and how to get there. */
const SCENES: Record<string, (ctx: RequestContext) => Promise<void>> = {
  'nothing active': async () => {},
  'a role': (ctx) => ctx.useRole('plain'),
  'a session': (ctx) => ctx.useSession('s'),
  'a role in a session': async (ctx) => {
    await ctx.useRole('plain');
    await ctx.useSession('s');
  },
  'an agent': (ctx) => ctx.useAgent({ name: 'solo' }),
  'an agent in a session': (ctx) => ctx.useAgent({ name: 'solo', session: 'inner' }),
  'a RAG': (ctx) => ctx.useRag('docs'),
};

/** The column "writes to" of the table in §3, read by a person. */
const WRITES: Record<string, Partial<Record<string, LayerName>>> = {
  'nothing active': {},
  'a role': { tools: 'role', model: 'role' },
  'a session': { tools: 'session', model: 'session', session: 'session' },
  'a role in a session': { tools: 'session', model: 'session', session: 'session' },
  'an agent': { tools: 'agent', model: 'agent' },
  'an agent in a session': { tools: 'agent', model: 'session', session: 'session' },
  'a RAG': { rag: 'rag' },
};
const GROUP: Record<SetKey, string> = {
  temperature: 'model',
  top_p: 'model',
  max_output_tokens: 'model',
  enabled_tools: 'tools',
  enabled_mcp_servers: 'tools',
  save_session: 'session',
  compression_threshold: 'session',
  rag_reranker_model: 'rag',
  rag_top_k: 'rag',
  dry_run: 'global',
  function_calling_support: 'global',
  mcp_server_support: 'global',
  stream: 'global',
  save: 'global',
  highlight: 'global',
};
const VALUES: Record<SetKey, [text: string, value: unknown]> = {
  temperature: ['0.7', 0.7],
  top_p: ['0.3', 0.3],
  enabled_tools: ['fs_ls', 'fs_ls'],
  enabled_mcp_servers: ['jira', 'jira'],
  max_output_tokens: ['77', 77],
  save_session: ['true', true],
  compression_threshold: ['123', 123],
  rag_reranker_model: ['fake:rerank', 'fake:rerank'],
  rag_top_k: ['9', 9],
  dry_run: ['true', true],
  function_calling_support: ['false', false],
  mcp_server_support: ['false', false],
  stream: ['false', false],
  save: ['true', true],
  highlight: ['false', false],
};
const FILES = {
  'roles/plain.md': 'Plain words.',
  'agents/solo/config.yaml': 'instructions: You are solo.\n',
  'rags/docs.yaml': 'document_paths: []\n',
};
const keys = Object.keys(SET_KEYS) as SetKey[];

describe('.set', () => {
  verifies('R-111').test('knows exactly fifteen keys and lists them to who uses another', async () => {
    await using world = await openWorld({ files: FILES });
    const ctx = world.context();
    expect(keys).toHaveLength(15);
    await expect(ctx.update('colour red')).rejects.toMatchObject({
      code: 'setting_unknown',
      message: expect.stringContaining(keys.join(', ')),
    });
    for (const wrong of [
      'temperature hot',
      'temperature 2.1',
      'top_p -1',
      'rag_top_k 0',
      'stream null',
      'dry_run',
      'max_output_tokens 1.5',
      'save_session maybe',
    ]) {
      await expect(ctx.update(wrong)).rejects.toMatchObject({ code: 'setting_invalid' });
    }
  });

  for (const [scene, enter] of Object.entries(SCENES)) {
    verifies('R-135', 'R-20').test(
      `T15: with ${scene} every key is written to the layer of the table, is in effect, and touches no other layer`,
      async () => {
        await using world = await openWorld({ files: FILES });
        for (const key of keys) {
          const ctx = world.context();
          await enter(ctx);
          const layer = WRITES[scene]?.[GROUP[key]] ?? 'global';
          const before = layersOf(ctx);
          const [text, value] = VALUES[key];
          await ctx.update(`${key} ${text}`);
          const after = layersOf(ctx);
          const changed = (Object.keys(after) as LayerName[]).filter(
            (name) => JSON.stringify(after[name]) !== JSON.stringify(before[name]),
          );
          expect({ key, changed, value: after[layer]?.[key], effect: settingsOf(ctx)[key] }).toEqual({
            key,
            changed: [layer],
            value,
            effect: value,
          });
          await ctx.close();
        }
      },
    );
  }

  verifies('R-111', 'R-20').test('null takes a setting back, and the layer below speaks again', async () => {
    await using world = await openWorld({
      files: { ...FILES, 'config.yaml': 'temperature: 0.1\nenabled_tools: fs_cat\n' },
    });
    const ctx = world.context();
    await ctx.useSession('s');
    const seen: unknown[] = [];
    for (const line of [
      'temperature 0.9',
      'temperature null',
      "enabled_tools ''",
      'enabled_tools null',
      'compression_threshold 0',
      'compression_threshold null',
    ]) {
      await ctx.update(line);
      const { temperature, enabled_tools, compression_threshold } = settingsOf(ctx);
      seen.push([temperature, enabled_tools, compression_threshold]);
    }
    expect(seen).toEqual([
      [0.9, 'fs_cat', 4000],
      [0.1, 'fs_cat', 4000],
      [0.1, '', 4000],
      [0.1, 'fs_cat', 4000],
      [0.1, 'fs_cat', 0],
      [0.1, 'fs_cat', 4000],
    ]);
  });

  verifies('R-20').test('writes no file', async () => {
    await using world = await openWorld({ files: FILES });
    const ctx = world.context();
    await ctx.useRole('plain');
    await ctx.update('temperature 0.9');
    const again = world.context();
    await again.useRole('plain');
    expect([ctx.role?.temperature, again.role?.temperature]).toEqual([0.9, null]);
  });

  verifies('R-06').test(
    'of a global key is seen by its own context and by no other; behind a server it is refused',
    async () => {
      await using world = await openWorld({ files: FILES });
      const [mine, other] = [world.context(), world.context()];
      const before = world.app.config;
      await mine.update('highlight false');
      expect([mine.app.config.highlight, other.app.config.highlight, other.app.config === before]).toEqual([
        false,
        true,
        true,
      ]);
      expect([mine.app.vault === world.app.vault, mine.app.sessions === world.app.sessions]).toEqual([true, true]);
      const api = world.context({ workingMode: 'api' });
      await expect(api.update('highlight false')).rejects.toMatchObject({ code: 'config_reload_required' });
      await api.useSession('s');
      await api.update('temperature 1');
      expect(settingsOf(api).temperature).toBe(1);
    },
  );

  verifies('R-06').test('and reload: a wrong file is told and not taken', async () => {
    await using world = await openWorld({ files: FILES });
    const file = world.write('config.yaml', 'model: fake:one\neditor: first\n');
    const first = world.app.reload();
    world.write('config.yaml', 'editor: [\n');
    expect(() => first.reload()).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining(file) }),
    );
    expect([first.config.editor, world.app.config.editor, first.models === world.app.models]).toEqual([
      'first',
      null,
      true,
    ]);
  });

  verifies('R-02').test(
    'and flags: dry_run and stream of a request leave the configuration the same object',
    async () => {
      await using world = await openWorld({ files: FILES });
      const ctx = world.context({ overrides: { dry_run: true, stream: false, model: 'fake:two' } });
      const { dry_run, stream, model } = settingsOf(ctx);
      expect({ dry_run, stream, model, id: ctx.model.id, same: ctx.app.config === world.app.config }).toEqual({
        dry_run: true,
        stream: false,
        model: 'fake:two',
        id: 'fake:two',
        same: true,
      });
      expect(settingsOf(world.context())).toMatchObject({
        dry_run: false,
        stream: true,
        model: 'fake:one',
      });
    },
  );

  test('shows in .info', async () => {
    await using world = await openWorld({ files: FILES });
    const ctx = world.context();
    await ctx.update('temperature 0.7');
    expect(sysinfo(ctx)).toMatch(/^temperature +0\.7$/m);
  });
});

describe('the table', () => {
  const layers = { flag: 'F', session: 'S', agent: 'A', role: 'R', rag: 'G', global: '-' };
  const order = (key: SettingKey): string => {
    let active: Partial<Record<LayerName, object>> = Object.fromEntries(
      (Object.keys(layers) as LayerName[]).map((name) => [
        name,
        { [key]: layers[name], function_calling_support: true, mcp_server_support: true },
      ]),
    );
    let seen = '';
    for (let n = 0; n < 6; n++) {
      const value = String(resolve(active as Parameters<typeof resolve>[0])[key] ?? '');
      seen += value;
      const name = (Object.keys(layers) as LayerName[]).find((each) => layers[each] === value);
      if (name === undefined) break;
      active = { ...active, [name]: { function_calling_support: true, mcp_server_support: true } };
    }
    return seen;
  };

  const rows: Record<string, SettingKey[]> = {
    'ASR-': ['enabled_tools', 'enabled_mcp_servers'],
    'FSAR-': ['model', 'temperature', 'top_p', 'max_output_tokens'],
    AR: ['prompt'],
    'FS-': ['save_session'],
    'SA-': ['compression_threshold'],
    'G-': ['rag_top_k', 'rag_reranker_model'],
    'F-': ['dry_run', 'stream', 'save', 'highlight'],
  };
  for (const [expected, names] of Object.entries(rows)) {
    verifies('R-20').test(`reads ${names.join(', ')} in the order ${expected}`, () => {
      expect(names.map(order)).toEqual(names.map(() => expected));
    });
  }

  verifies('R-20').test('has lists replace and not merge; null passes on, the empty list does not', () => {
    const global = { enabled_tools: 'a,b', function_calling_support: true, mcp_server_support: true };
    const tools = (role: string | null) => resolve({ global, role: { enabled_tools: role } }).enabled_tools;
    expect([tools('c'), tools(null), tools('')]).toEqual(['c', 'a,b', '']);
    expect(writeLayer({ global, role: {}, agent: {} }, 'enabled_tools')).toBe('agent');
  });
});
