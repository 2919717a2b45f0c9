import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { manualClock } from '../../test/support/manual-clock.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { verifies } from '../../test/support/verifies.ts';
import { createLogger } from '../base/log.ts';
import { knownAcpAgents } from './acp/known-agents.ts';
import { AgentHome, lendState } from './agent-state.ts';
import { description as claude } from './claude/command.ts';
import { describeAppServer } from './codex/command.ts';
import { refreshedLogin } from './login-refresh.ts';

const ID = '9957cd2a-8e32-47e9-a8a2-7268471fdec5';
const OTHER = '11111111-8e32-47e9-a8a2-7268471fdec5';
const log = createLogger({ write: () => undefined, clock: manualClock(), redact: String });

let home: string;
let dir: string;
beforeEach(() => {
  home = temporaryFolder();
  dir = join(temporaryFolder(), 'agent');
});

function put(files: Record<string, string>, root = home): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}

/** Every file below a folder, with its text. */
function filesIn(root: string): Record<string, string> {
  const names = existsSync(root) ? readdirSync(root, { recursive: true, withFileTypes: true }) : [];
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(files.sort().map((file) => [file.slice(root.length + 1), readFileSync(file, 'utf8')]));
}

const lend = (sessionId?: string) => lendState({ state: claude.state, env: { HOME: home }, dir, sessionId });
const bringBack = (sessionId?: string) =>
  new AgentHome({ state: claude.state, dir, log }).bringBack({
    id: 'x',
    sandbox: 'bubblewrap',
    ...(sessionId === undefined ? {} : { sessionId }),
  });

verifies('X-135').test(
  'a job gets settings and the conversation it goes on with, and nothing of other projects',
  async () => {
    put({
      '.claude/settings.json': '{}',
      '.claude/agents/me.md': 'agent',
      '.claude/history.jsonl': 'other',
      [`.claude/projects/here/${ID}.jsonl`]: 'mine',
      [`.claude/projects/here/${ID}/subagents/a.jsonl`]: 'my sub-agent',
      [`.claude/projects/here/${OTHER}.jsonl`]: 'other',
      [`.claude/projects/there/${OTHER}/subagents/a.jsonl`]: 'other',
      '.claude.json': '{"projects":{}}',
    });
    const binds = await lend(ID);
    expect(binds).toEqual([
      { from: join(dir, '0'), to: join(home, '.claude') },
      { from: join(dir, '1'), to: join(home, '.claude.json') },
      { from: join(dir, '2'), to: join(home, '.cache/claude-cli-nodejs') },
    ]);
    expect(filesIn(join(dir, '0'))).toEqual({
      'agents/me.md': 'agent',
      'settings.json': '{}',
      [`projects/here/${ID}.jsonl`]: 'mine',
      [`projects/here/${ID}/subagents/a.jsonl`]: 'my sub-agent',
    });
    expect(readFileSync(join(dir, '1'), 'utf8')).toBe('{"projects":{}}');
  },
);

verifies('X-135').test('a folder too large to copy is shown as it is, read-only', async () => {
  put(Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`.claude/plugins/${n}.json`, '{}'])));
  expect(await lend()).toContainEqual({
    from: join(home, '.claude/plugins'),
    to: join(home, '.claude/plugins'),
    isReadOnly: true,
  });
  expect(filesIn(join(dir, '0'))).toEqual({});
});

verifies('X-135').test(
  'conversations come back, new ones and its own, twice as once; whatever else it left does not',
  async () => {
    const own = { '.claude/settings.json': '{}', [`.claude/projects/here/${OTHER}.jsonl`]: 'other' };
    put({ ...own, '.claude.json': '{}' });
    await lend();
    const secret = join(temporaryFolder(), 'secret');
    writeFileSync(secret, 'secret');
    const fresh = '22222222-8e32-47e9-a8a2-7268471fdec5';
    put(
      {
        [`projects/here/${ID}.jsonl`]: 'said',
        [`projects/here/${fresh}.jsonl`]: 'new',
        [`projects/here/${OTHER}.jsonl`]: 'rewritten',
        'projects/here/memory/MEMORY.md': 'planted',
        'settings.json': '{"hooks":{}}',
        'plugins/evil/plugin.json': 'planted',
      },
      join(dir, '0'),
    );
    symlinkSync(secret, join(dir, '0/projects/here/33333333-8e32-47e9-a8a2-7268471fdec5.jsonl'));
    symlinkSync(dirname(secret), join(dir, '0/projects/elsewhere'));
    writeFileSync(join(dir, '1'), '{"projects":{"/":{"hasTrustDialogAccepted":true}}}');
    expect([await bringBack(ID), await bringBack(ID)]).toEqual([undefined, undefined]);
    expect(filesIn(home)).toEqual({
      ...own,
      '.claude.json': '{}',
      [`.claude/projects/here/${ID}.jsonl`]: 'said',
      [`.claude/projects/here/${fresh}.jsonl`]: 'new',
    });
  },
);

verifies('X-135').test('a link in place of the conversations is not followed, and the job says so', async () => {
  put({ '.claude/settings.json': '{}' });
  await lend();
  symlinkSync(temporaryFolder(), join(dir, '0/projects'));
  expect(await bringBack(ID)).toContain('could not be copied');
});

verifies('X-135').test('what an earlier launch planted in the copy is replaced, links and all', async () => {
  const target = join(temporaryFolder(), 'bashrc');
  writeFileSync(target, 'mine');
  put({ '.claude/settings.json': '{}', '.claude.json': '{}' });
  await lend();
  put({ 'settings.json': '{"hooks":{}}' }, join(dir, '0'));
  await lend();
  expect(readFileSync(join(dir, '0/settings.json'), 'utf8')).toBe('{}');
  symlinkSync(target, join(dir, '0/.credentials.json'));
  put({ '.claude/.credentials.json': '{"mine":1}' });
  await lend();
  expect(readFileSync(target, 'utf8')).toBe('mine');
});

const login = (expiresAt: number, more = {}) => ({
  claudeAiOauth: { accessToken: `a${expiresAt}`, refreshToken: `r${expiresAt}`, expiresAt, subscriptionType: 'max' },
  ...more,
});

for (const [what, after, wanted] of [
  ['a refreshed log-in comes back, and only its tokens', login(2, { mcpOAuth: { evil: 1 } }), login(2)],
  ['a log-out does not come back', {}, login(1)],
  [
    'a log-in of another plan does not come back',
    { claudeAiOauth: { ...login(2).claudeAiOauth, subscriptionType: 'pro' } },
    login(1),
  ],
  ['an older log-in does not come back', login(0), login(1)],
  ['an empty token does not come back', { claudeAiOauth: { ...login(2).claudeAiOauth, refreshToken: '' } }, login(1)],
] as const) {
  verifies('X-135').test(what, async () => {
    put({ '.claude/.credentials.json': JSON.stringify(login(1)) });
    await lend();
    put({ '.credentials.json': JSON.stringify(after) }, join(dir, '0'));
    await bringBack(ID);
    expect(JSON.parse(readFileSync(join(home, '.claude/.credentials.json'), 'utf8'))).toEqual(wanted);
  });
}

verifies('X-135').test('a log-in that was refreshed outside reaches a running job', async () => {
  put({ '.claude/.credentials.json': JSON.stringify(login(1)) });
  await lend();
  put({ '.claude/.credentials.json': JSON.stringify(login(2)) });
  await new AgentHome({ state: claude.state, dir, log }).carryLogins({ id: 'x', sandbox: 'bubblewrap' });
  expect(JSON.parse(readFileSync(join(dir, '0/.credentials.json'), 'utf8'))).toEqual(login(2));
});

test('the log-ins of Codex, Gemini and opencode are told apart by account', () => {
  const of = (places: typeof claude.state, name: string) => {
    const about = places[0]?.logins?.[name];
    if (!about) throw new Error(`no log-in ${name}`);
    return about;
  };
  const codex = (account: string, at: string) => ({
    OPENAI_API_KEY: null,
    tokens: { id_token: at, access_token: at, refresh_token: at, account_id: account },
    last_refresh: at,
  });
  const [first, second] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'];
  const openai = of(describeAppServer().state, 'auth.json');
  expect(refreshedLogin(openai, codex('me', first), codex('me', second))).toEqual(codex('me', second));
  expect(refreshedLogin(openai, codex('me', first), codex('you', second))).toBeUndefined();
  const google = of(knownAcpAgents.gemini?.state ?? [], 'oauth_creds.json');
  const gemini = (account: string, at: number) => ({ refresh_token: account, access_token: `${at}`, expiry_date: at });
  expect(refreshedLogin(google, gemini('me', 1), gemini('me', 2))).toEqual(gemini('me', 2));
  expect(refreshedLogin(google, gemini('me', 1), gemini('you', 2))).toBeUndefined();
  const open = of(knownAcpAgents.opencode?.state ?? [], 'auth.json');
  const one = (expires: number) => ({ type: 'oauth', access: `${expires}`, refresh: `${expires}`, expires });
  const key = { type: 'api', key: 'mine' };
  expect(refreshedLogin(open, { a: one(1), b: key }, { a: one(2), b: { ...key, key: 'swapped' }, c: one(3) })).toEqual({
    a: one(2),
    b: key,
  });
});

for (const [what, env] of [
  ['empty', { CLAUDE_CONFIG_DIR: '' }],
  ['absent', {}],
] as const) {
  verifies('X-23').test(`a variable that is ${what} names no folder of the agent's`, async () => {
    const binds = (await lendState({ state: claude.state, env: { HOME: home, ...env }, dir })) ?? [];
    expect(binds[0]?.to).toBe(join(home, '.claude'));
  });
}

verifies('X-23').test('without a home only the variable says where the agent keeps what', async () => {
  const folder = join(home, 'elsewhere');
  const binds = await lendState({ state: claude.state, env: { CLAUDE_CONFIG_DIR: folder, HOME: '' }, dir });
  expect(binds).toEqual([{ from: join(dir, '0'), to: folder }]);
});
