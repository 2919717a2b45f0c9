import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { detectAgents, findAgent, locateAgent, shellKeysFor } from './detect.ts';
import { AdapterRegistry, type AgentSettings } from './registry.ts';

let dir: string;
let bin: string;
beforeEach(() => {
  dir = temporaryFolder();
  bin = join(dir, 'bin');
  mkdirSync(bin);
});

/** A program that only knows its version, as agents print theirs. */
function install(path: string, version: string): string {
  writeFileSync(path, `#!/bin/sh\necho "${version} (some agent)"\n`);
  chmodSync(path, 0o755);
  return path;
}
const registry = (settings: Record<string, AgentSettings> = {}) => new AdapterRegistry(() => settings);
const env = () => ({ PATH: `${bin}:/usr/bin:/bin`, HOME: dir });
const { tested = '', minimum = '' } = registry().get('claude').adapter.describe();

describe('an agent', () => {
  verifies('A-56').test('that is not on PATH is agent_not_installed, with the command that installs it', () => {
    expect(() => locateAgent(registry().get('claude'), bin)).toThrow(
      expect.objectContaining({
        code: 'agent_not_installed',
        message: expect.stringContaining(registry().get('claude').adapter.describe().install),
      }),
    );
  });

  test('is the first program of its name on PATH, not a folder and not a text', () => {
    for (const folder of ['a', 'b', 'c']) mkdirSync(join(dir, folder));
    mkdirSync(join(dir, 'a', 'claude'));
    writeFileSync(join(dir, 'b', 'claude'), 'no program');
    const program = install(join(dir, 'c', 'claude'), tested);
    install(join(bin, 'claude'), tested);
    const path = ['a', 'b', 'c'].map((folder) => join(dir, folder)).join(':');
    expect(locateAgent(registry().get('claude'), `${path}:${bin}`)).toEqual([program]);
  });

  test('is never looked for in the folder Reef happens to stand in', () => {
    const before = process.cwd();
    install(join(bin, 'claude'), tested);
    process.chdir(bin);
    try {
      for (const path of ['', '.', ':/no/such', '../bin']) {
        expect(() => locateAgent(registry().get('claude'), path)).toThrow(
          expect.objectContaining({ code: 'agent_not_installed' }),
        );
      }
    } finally {
      process.chdir(before);
    }
  });

  test('is what the configuration names, with its arguments', () => {
    const program = install(join(dir, 'mine'), '1.0.0');
    const agent = registry({ 'acp:mine': { command: [program, '--acp'] } }).get('acp:mine');
    expect(locateAgent(agent, '')).toEqual([program, '--acp']);
  });

  test('older than the minimum is refused, with the command that updates it', async () => {
    install(join(bin, 'claude'), '2.0.99');
    await expect(findAgent(registry().get('claude'), env())).rejects.toMatchObject({
      code: 'agent_too_old',
      message: expect.stringContaining(minimum),
    });
  });

  test('tells its version', async () => {
    const program = install(join(bin, 'claude'), tested);
    expect(await findAgent(registry().get('claude'), env())).toEqual({ command: [program], version: tested });
  });
});

describe('doctor', () => {
  test('hears of every agent: there, too old, newer than tested, or missing', async () => {
    const [major = 0, minor = 0] = (registry().get('codex').adapter.describe().tested ?? '').split('.').map(Number);
    const old = install(join(bin, 'claude'), '1.0.0');
    const newer = install(join(bin, 'codex'), `${major}.${minor + 1}.0`);
    const found = Object.fromEntries((await detectAgents(registry(), env())).map((agent) => [agent.name, agent]));
    const { severity, path, version, finding } = found.codex ?? {};
    expect({ old, claude: [found.claude?.severity, found.claude?.finding] }).toEqual({
      old,
      claude: ['error', expect.stringContaining('is older than')],
    });
    expect({ severity, path, version, finding }).toEqual({
      severity: 'ok',
      path: newer,
      version: `${major}.${minor + 1}.0`,
      finding: expect.stringContaining('newer than'),
    });
    expect(found.gemini).toMatchObject({ severity: 'warn', finding: expect.stringContaining('is not on PATH') });
  });

  test('is told of an entry of the configuration that is no agent, and of all the others', async () => {
    const found = await detectAgents(registry({ 'acp-typo': { command: ['x'] }, 'acp:bare': {} }), env());
    const broken = found.filter(({ severity }) => severity === 'error').map(({ name, finding }) => [name, finding]);
    expect(broken).toEqual([
      ['acp-typo', expect.stringContaining('there is no agent "acp-typo"')],
      ['acp:bare', expect.stringContaining('has no command in the configuration')],
    ]);
    expect(found.length).toBeGreaterThan(4);
  });
});

describe('a key in the shell', () => {
  const keys = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'http://x' };
  const found = (settings: Record<string, AgentSettings> = {}) =>
    shellKeysFor(registry(settings).get('claude'), { ...env(), ...keys, HOME: dir });

  verifies('X-20', 'J-11').test(
    'reaches an agent that has no log-in of its own, and is called what it is',
    async () => {
      install(join(bin, 'claude'), tested);
      expect(found()).toEqual(['ANTHROPIC_API_KEY', 'ANTHROPIC_BASE_URL']);
      const all = await detectAgents(registry(), { ...env(), ...keys, HOME: dir });
      expect(all.find(({ name }) => name === 'claude')).toMatchObject({ login: 'yes', shellKeys: Object.keys(keys) });
    },
  );

  verifies('X-20').test('is left out where there is a log-in, and where the configuration has a key', () => {
    expect(found({ claude: { env: { ANTHROPIC_API_KEY: 'mine' } } })).toEqual([]);
    expect(found({ claude: { env: { CLAUDE_CODE_OAUTH_TOKEN: 'mine' } } })).toEqual([]);
    mkdirSync(join(dir, '.claude'));
    writeFileSync(join(dir, '.claude', '.credentials.json'), '{}');
    expect(found()).toEqual([]);
  });

  verifies('X-20', 'J-11').test('reaches Codex where its own settings name it, also beside a log-in', async () => {
    install(join(bin, 'codex'), registry().get('codex').adapter.describe().tested ?? '');
    mkdirSync(join(dir, '.codex'));
    writeFileSync(join(dir, '.codex', 'config.toml'), '[model_providers.house]\n  env_key = "HOUSE_KEY"\n');
    const seen = { ...env(), HOUSE_KEY: 'k', OPENAI_API_KEY: 'other', HOME: dir };
    const codex = async () => (await detectAgents(registry(), seen)).find(({ name }) => name === 'codex');
    expect(await codex()).toMatchObject({ login: 'yes', shellKeys: ['HOUSE_KEY'] });
    writeFileSync(join(dir, '.codex', 'auth.json'), '{}');
    expect(await codex()).toMatchObject({ login: 'yes', shellKeys: ['HOUSE_KEY'] });
  });

  verifies('X-20').test('goes to Gemini unless another way to log in is configured', () => {
    const gemini = (settings: AgentSettings) =>
      shellKeysFor(registry({ 'acp:gemini': settings }).get('gemini'), { ...env(), GEMINI_API_KEY: 'k', HOME: dir });
    expect([gemini({}), gemini({ auth: 'oauth-personal' })]).toEqual([['GEMINI_API_KEY'], []]);
  });
});

describe('the registry', () => {
  verifies('J-14').test('calls the agents it knows by plain names, and still hears their older ones', () => {
    const known = registry({ 'acp:gemini': { auth: 'mine' } });
    expect(['gemini', 'acp:gemini'].map((name) => known.get(name).settings)).toEqual([
      { auth: 'mine' },
      { auth: 'mine' },
    ]);
    expect(known.get('acp:opencode').adapter.describe().name).toBe('opencode');
    expect(known.names().filter((name) => name.includes('gemini'))).toEqual(['gemini']);
  });

  verifies('A-56').test('knows each agent by its name', () => {
    const names = ['claude', 'codex', 'codex-exec', 'gemini', 'opencode', 'acp:mine'];
    const known = registry({ 'acp:mine': { command: ['mine'] } });
    expect(names.map((name) => known.get(name).adapter.describe().name)).toEqual(names);
    expect(known.names()).toEqual(expect.arrayContaining(names));
  });

  verifies('A-56').test('refuses another name and lists those it knows', () => {
    for (const name of ['hal', 'acp:unknown', '', 'constructor', '__proto__', 'acp:constructor']) {
      expect(() => registry().get(name)).toThrow(
        expect.objectContaining({ code: 'agent_unknown', message: expect.stringMatching(/known: claude, codex/) }),
      );
    }
  });

  test('checks a script before anything is started', () => {
    writeFileSync(join(dir, 'bad.yaml'), 'steps: 7\n');
    for (const file of ['bad.yaml', 'none.yaml']) {
      expect(() => registry().get(`scripted:${join(dir, file)}`)).toThrow(
        expect.objectContaining({ code: 'script_invalid' }),
      );
    }
  });
});
