import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { ReefError } from '../../protocol/errors.ts';
import { type AppConfig, FILE_KEYS, settings, toAppConfig, withConfig } from './app-config.ts';
import { type ConfigRequest, loadConfig } from './load.ts';
import { reefSchema } from './reef-block.ts';
import { describeWarning } from './settings-file.ts';
import { TrustFile, trustHash } from './trust-file.ts';

let dir: string;
let repo: string;
beforeEach(() => {
  dir = temporaryFolder();
  repo = join(dir, 'repo');
  write('repo/.git/HEAD', 'ref: refs/heads/main\n');
});

function write(path: string, text: string): string {
  const file = join(dir, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}
const load = (more: Partial<ConfigRequest> = {}) => loadConfig({ env: {}, home: dir, cwd: dir, ...more });
const user = (text: string) => write('.config/reef/config.yaml', text);
const warnings = (more: Partial<ConfigRequest> = {}) =>
  load(more).warnings.map((warning) => describeWarning(warning).replaceAll(dir, ''));

/** The 40 of the seed, in its order, with what each is without a file. */
const SEED: Record<string, unknown> = {
  model_id: '',
  temperature: null,
  top_p: null,
  dry_run: false,
  stream: true,
  save: false,
  keybindings: 'emacs',
  editor: null,
  wrap: null,
  wrap_code: false,
  vault_password_file: null,
  function_calling_support: true,
  mapping_tools: {},
  enabled_tools: null,
  visible_tools: null,
  mcp_server_support: true,
  mapping_mcp_servers: {},
  enabled_mcp_servers: null,
  repl_prelude: null,
  cmd_prelude: null,
  agent_session: null,
  save_session: null,
  compression_threshold: 4000,
  summarization_prompt: null,
  summary_context_prompt: null,
  rag_embedding_model: null,
  rag_reranker_model: null,
  rag_top_k: 5,
  rag_chunk_size: null,
  rag_chunk_overlap: null,
  rag_template: null,
  document_loaders: {},
  highlight: true,
  theme: null,
  left_prompt: null,
  right_prompt: null,
  user_agent: null,
  save_shell_history: true,
  sync_models_url: null,
  clients: [],
};

describe('the configuration', () => {
  verifies('R-01').test("has the seed's 40 fields and our block, and nothing else", () => {
    const { reef, ...fields } = load().config;
    expect(Object.keys(SEED)).toHaveLength(40);
    expect(fields).toEqual(SEED);
    expect(Object.keys(reef)).toEqual(expect.arrayContaining(['mcp_pool', 'permissions', 'tool_loop']));
  });

  verifies('R-01').test('cannot be written to, however deep', () => {
    user(
      'clients: [{type: openai, extra: {proxy: x}}]\nmapping_tools: {fs: a}\nreef: {permissions: [{tool: a, action: deny}]}',
    );
    const { config } = load();
    const parts: object[] = [];
    const collect = (value: unknown) => {
      if (typeof value !== 'object' || value === null) return;
      parts.push(value);
      for (const child of Object.values(value)) collect(child);
    };
    collect(config);
    collect(withConfig(config, { mapping_tools: { b: 'c' } }));
    expect(parts.length).toBeGreaterThan(12);
    for (const part of parts) {
      expect(() => {
        Object.assign(part, { anything: 1 });
      }).toThrow(TypeError);
    }
  });

  test('starts from what its schema would fill in, and takes', () => {
    expect(load().config.reef).toEqual(reefSchema.parse({}));
    const refused = FILE_KEYS.filter((key) => !settings[key].schema().safeParse(settings[key].initial).success);
    expect(refused).toEqual([]);
  });

  verifies('R-01', 'R-13').test('loads the file of a Loki unchanged, its old spellings included', () => {
    user(`
model: openai:gpt-4o
temperature: 0.2
wrap: 80
function_calling: false
use_tools: fs,web
agent_prelude: default
compress_threshold: 2000
summarize_prompt: Sum up.
summary_prompt: 'So far: '
light_theme: true
mapping_tools: { web: 'fetch_url_via_curl', fs: 'fs_cat,fs_ls' }
visible_tools: [fs_cat.sh]
clients:
  - type: openai-compatible
    name: ollama
    api_base: http://localhost:11434/v1
    models: [{ name: llama3.1, max_input_tokens: 128000 }]
    patch: { chat_completions: { '.*': { body: { a: 1 } } } }
`);
    const { config } = load();
    expect({ ...config, reef: undefined }).toEqual({
      ...SEED,
      model_id: 'openai:gpt-4o',
      temperature: 0.2,
      wrap: '80',
      function_calling_support: false,
      enabled_tools: 'fs,web',
      agent_session: 'default',
      compression_threshold: 2000,
      summarization_prompt: 'Sum up.',
      summary_context_prompt: 'So far: ',
      theme: 'light',
      mapping_tools: { web: 'fetch_url_via_curl', fs: 'fs_cat,fs_ls' },
      visible_tools: ['fs_cat.sh'],
      clients: [expect.objectContaining({ type: 'openai-compatible', name: 'ollama' })],
      reef: undefined,
    });
    expect(Object.keys(config.mapping_tools)).toEqual(['web', 'fs']);
    expect(warnings().map((line) => line.replace('/.config/reef/', ''))).toEqual([
      'config.yaml:5: function_calling is called function_calling_support here, and is in effect',
      'config.yaml:6: use_tools is called enabled_tools here, and is in effect',
      'config.yaml:7: agent_prelude is called agent_session here, and is in effect',
      'config.yaml:8: compress_threshold is called compression_threshold here, and is in effect',
      'config.yaml:9: summarize_prompt is called summarization_prompt here, and is in effect',
      'config.yaml:10: summary_prompt is called summary_context_prompt here, and is in effect',
      'config.yaml:11: light_theme is called theme here, and is in effect',
    ]);
  });

  verifies('D16', 'R-13').test('reads every key of the example we ship, and the example has every key', () => {
    const example = readFileSync(fileURLToPath(new URL('config.example.yaml', import.meta.url)), 'utf8');
    user(example);
    const { config, warnings: told } = load();
    const { model: model_id, ...rest } = parse(example);
    expect({ told, config }).toMatchObject({ told: [], config: { model_id, ...rest } });
    expect([...FILE_KEYS].sort()).toEqual(Object.keys(parse(example)).sort());
    // The known-bad twin: an example with a key that nobody reads, at the top and below.
    user(example.replace('\nstream: true', '\nstreaming: true').replace('max_idle_servers', 'max_idle'));
    expect(warnings().map((line) => line.replace(/^.*yaml:\d+: /, ''))).toEqual([
      'streaming is not a setting and is ignored: did you mean stream?',
      'reef.mcp_pool.max_idle is not a setting and is ignored',
    ]);
  });

  verifies('R-11').test('tells an unknown key with its line and the nearest known one, and goes on without it', () => {
    user('temprature: 1\nstream: false\nreef:\n  max_jobs: 3\n  mcp_pool: { idle: 5 }\nzzzzzz: 1\n');
    expect(load().config).toMatchObject({ stream: false, temperature: null, reef: { max_jobs: 3 } });
    expect(warnings()).toEqual([
      '/.config/reef/config.yaml:1: temprature is not a setting and is ignored: did you mean temperature?',
      '/.config/reef/config.yaml:5: reef.mcp_pool.idle is not a setting and is ignored',
      '/.config/reef/config.yaml:6: zzzzzz is not a setting and is ignored',
    ]);
  });

  verifies('R-12').test(
    'that is wrong in several files is one error that lists every mistake with its place',
    async () => {
      const file = user('temperature: hot\nclients:\n  - name: x\n  - type: openai\n    api_key: 12\nrag_top_k: 0\n');
      const overlay = write('repo/.reef/config.yaml', 'stream: maybe\n');
      await trust(overlay);
      try {
        load({ cwd: repo, env: { REEF_SAVE: 'perhaps' } });
        expect.unreachable();
      } catch (error) {
        if (!(error instanceof ReefError)) throw error;
        expect({ code: error.code, problems: error.details?.problems }).toEqual({
          code: 'config_invalid',
          problems: [
            { file, line: 1, path: 'temperature', expected: 'number', found: '"hot"' },
            { file, line: 3, path: 'clients.0.type', expected: 'string', found: 'nothing' },
            { file, line: 5, path: 'clients.1.api_key', expected: 'string or array', found: 'a number' },
            { file, line: 6, path: 'rag_top_k', expected: 'at least 1', found: '0' },
            { file: overlay, line: 1, path: 'stream', expected: 'boolean', found: '"maybe"' },
            { file: 'environment', line: undefined, path: 'REEF_SAVE', expected: 'boolean', found: '"perhaps"' },
          ],
        });
        expect(error.message).toContain(`${file}:1: temperature: expected number, found "hot"`);
        expect(error.toBody().error.code).toBe('config_invalid');
      }
    },
  );

  verifies('R-17').test('may not take the place of its own password from the vault', () => {
    user("vault_password_file: '{{PASSWORD_FILE}}'\n");
    expect(() => load()).toThrow(expect.objectContaining({ code: 'config_invalid' }));
  });
});

async function trust(file: string): Promise<void> {
  const items = { '.reef/config.yaml': trustHash(readFileSync(file, 'utf8')) };
  await new TrustFile(join(dir, '.config/reef/trust.json')).add({ repo, items, at: 'now', by: 'me' });
}

describe('layers', () => {
  verifies('R-10').test('win in their order: defaults, user, trusted project, environment', async () => {
    user('temperature: 0.1\ntop_p: 0.1\neditor: one\ntheme: one\n');
    await trust(write('repo/.reef/config.yaml', 'top_p: 0.2\neditor: two\ntheme: two\n'));
    const { config } = load({ cwd: repo, env: { REEF_EDITOR: 'three' } });
    const { temperature, top_p, editor, theme, stream } = config;
    expect({ temperature, top_p, editor, theme, stream }).toEqual({
      temperature: 0.1,
      top_p: 0.2,
      editor: 'three',
      theme: 'two',
      stream: true,
    });
  });

  verifies('R-10').test('come after .env, which overrides no variable that is set', () => {
    write('.config/reef/.env', 'REEF_EDITOR=from-file\nREEF_THEME="also from file"\nOPENAI_API_KEY=k\n');
    const { config, environment } = load({ env: { REEF_EDITOR: 'set' } });
    expect([config.editor, config.theme, environment.OPENAI_API_KEY]).toEqual(['set', 'also from file', 'k']);
  });

  verifies('R-10').test('of the environment take text, numbers, switches, lists and null', () => {
    const env = {
      REEF_MODEL: '1e3',
      REEF_TEMPERATURE: '0.5',
      REEF_STREAM: '0',
      REEF_SAVE: 'true',
      REEF_SAVE_SESSION: 'null',
      REEF_VISIBLE_TOOLS: '["a", "b"]',
      REEF_MAPPING_TOOLS: '{"fs": "a,b"}',
      REEF_WRAP: '80',
      REEF_KEYBINDINGS: 'vi',
    };
    const { config } = load({ env });
    expect(config).toMatchObject({
      model_id: '1e3',
      temperature: 0.5,
      stream: false,
      save: true,
      save_session: null,
      visible_tools: ['a', 'b'],
      mapping_tools: { fs: 'a,b' },
      wrap: '80',
      keybindings: 'vi',
    });
  });

  verifies('R-10').test('need no file: a platform is enough, and its key stays in the environment', () => {
    const claude = load({ env: { REEF_PLATFORM: 'claude', CLAUDE_API_KEY: 'secret-value' } });
    const other = load({ env: { REEF_PLATFORM: 'groq', GROQ_API_KEY: 'secret-value' } });
    expect([claude.config.clients, other.config.clients]).toEqual([
      [{ type: 'claude' }],
      [{ type: 'openai-compatible', name: 'groq' }],
    ]);
    expect(JSON.stringify([claude.config, other.config])).not.toContain('secret-value');
  });

  verifies('R-10').test('are found where the environment says', () => {
    const file = write('elsewhere/my.yaml', 'editor: mine\n');
    expect(load({ env: { REEF_CONFIG_FILE: file } }).config.editor).toBe('mine');
    write('other/config.yaml', 'editor: other\n');
    expect(load({ env: { REEF_CONFIG_DIR: join(dir, 'other') } }).config.editor).toBe('other');
    write('xdg/reef/config.yaml', 'editor: xdg\n');
    expect(load({ env: { XDG_CONFIG_HOME: join(dir, 'xdg') } }).config.editor).toBe('xdg');
  });
});

describe('a repository', () => {
  verifies('R-14').test(
    'contributes nothing, with one warning, until it is trusted; a changed file is untrusted again',
    async () => {
      const file = write('repo/.reef/config.yaml', 'editor: evil\n');
      const before = load({ cwd: repo });
      await trust(file);
      const trusted = load({ cwd: repo });
      write('repo/.reef/config.yaml', 'editor: worse\n');
      const changed = load({ cwd: repo });
      expect([before, trusted, changed].map((each) => [each.config.editor, each.warnings.length])).toEqual([
        [null, 1],
        ['evil', 0],
        [null, 1],
      ]);
      expect(describeWarning(before.warnings[0] ?? expect.unreachable())).toContain('reef trust');
    },
  );

  verifies('R-14').test('broken and untrusted does no harm', () => {
    write('repo/.reef/config.yaml', 'editor: [\n');
    expect(load({ cwd: repo }).config.editor).toBe(null);
  });

  verifies('R-14').test('cannot move the password or loosen a permission, trusted or not', async () => {
    user('vault_password_file: /mine\nreef: { permissions: [{tool: fs_rm, action: deny}] }\n');
    const text = `
vault_password_file: /theirs
editor: vi
reef:
  max_jobs: 2
  permissions:
    - { tool: '*', action: allow }
    - { tool: fs_write, action: deny }
`;
    await trust(write('repo/.reef/config.yaml', text));
    const { config } = load({ cwd: repo });
    expect([config.vault_password_file, config.editor, config.reef.max_jobs, config.reef.permissions]).toEqual([
      '/mine',
      'vi',
      2,
      [
        { tool: 'fs_rm', action: 'deny' },
        { tool: 'fs_write', action: 'deny' },
      ],
    ]);
    expect(warnings({ cwd: repo })).toEqual([
      '/repo/.reef/config.yaml: vault_password_file is ignored in a repository',
      '/repo/.reef/config.yaml: reef.permissions with action allow is ignored in a repository',
    ]);
  });
});

test('whatever the layers say, the last that says something wins, key by key', () => {
  const layer = fc.record(
    {
      temperature: fc.option(fc.double({ min: 0, max: 2, noNaN: true })),
      stream: fc.boolean(),
      editor: fc.option(fc.string()),
      rag_top_k: fc.integer({ min: 1, max: 99 }),
      mapping_tools: fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.string()),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.array(layer, { maxLength: 5 }), (layers) => {
      const config = toAppConfig(layers);
      const said = Object.assign({}, ...layers) as Partial<AppConfig>;
      expect(config).toEqual({ ...toAppConfig([]), ...said });
    }),
  );
});
