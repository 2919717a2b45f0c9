import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { makeUser, type User } from './runtime-rig.ts';

// Several programs one after the other, and the vault's key is slow to make by design.
vi.setConfig({ testTimeout: 120_000 });

const said = (stdout: string, more: { stderr?: string; code?: number } = {}) => ({
  stdout,
  stderr: '',
  code: 0,
  ...more,
});

const sessionFile = (user: User) => {
  const [id = ''] = readdirSync(join(user.config, 'sessions/by-id'));
  return readFileSync(join(user.config, 'sessions/by-id', id, 'state.yaml'), 'utf8');
};

verifies('R-114').test('a fresh machine answers with no key, no file and no network', async () => {
  const user = makeUser({ fixture: null });
  const answer = "Hello! I am Reef's scripted model: no key, no network, always the same words.\n";
  expect(await user.reef(['ask', '--model', 'scripted:demo', 'hello'])).toEqual(said(answer));
  expect(await user.reef(['ask', 'hello'])).toMatchObject({
    stdout: '',
    stderr: expect.stringMatching(/^model_missing: .*--model.*REEF_PLATFORM/s),
    code: 2,
  });
});

verifies('R-114', 'R-72', 'U-01').test('--json is one document with the outcome, or the error', async () => {
  const user = makeUser();
  const { stdout, code } = await user.reef(['ask', '--json', 'hello']);
  expect([code, JSON.parse(stdout)]).toEqual([
    0,
    {
      request_id: expect.any(String),
      final_message: 'Hello! What shall we do?',
      tool_call_count: 0,
      turns: 1,
      compressed: false,
      autonamed: false,
      auto_continued: 0,
      usage: { input: expect.any(Number), output: expect.any(Number), cached: 0, reasoning: 0 },
      cost: null,
    },
  ]);
  const failed = await user.reef(['ask', '--json', '--role', 'nobody', 'hello']);
  expect([failed.code, JSON.parse(failed.stdout).error.code]).toEqual([4, 'role_not_found']);
});

verifies('R-114', 'U-02').test('without a question and without a terminal there is no_tty, exit 2', async () => {
  const user = makeUser();
  expect(await user.reef(['ask'])).toMatchObject({ stderr: expect.stringMatching(/^no_tty: /), code: 2 });
  expect(await user.reef(['chat'])).toMatchObject({ stderr: expect.stringMatching(/^no_tty: /), code: 2 });
});

verifies('R-114').test('every list names what there is', async () => {
  const user = makeUser();
  await user.reef(['ask', '--session', 'my-project', 'hello']);
  user.write('home/.config/reef/rags/docs.yaml', 'document_paths: []\n');
  const lists = ['models', 'sessions', 'rags', 'macros'].map((what) => user.reef(['ask', `--list-${what}`]));
  expect(await Promise.all(lists)).toEqual([
    said('scripted:demo\nopenai:gpt-4o\n'),
    said('my-project\n'),
    said('docs\n'),
    said('run-tests\n'),
  ]);
  const [roles, agents] = [await user.reef(['ask', '--list-roles']), await user.reef(['agent', 'list', '--json'])];
  expect([roles.stdout.split('\n'), JSON.parse(agents.stdout).agents]).toEqual([
    expect.arrayContaining(['code', 'explain', 'shell']),
    expect.arrayContaining(['coder', 'sisyphus', 'sql']),
  ]);
});

verifies('R-114', 'R-16').test('secrets come from standard input and are kept in the vault', async () => {
  const user = makeUser();
  const steps = [
    await user.reef(['ask', '--add-secret', 'TOKEN'], { input: 'one: "two"\n' }),
    await user.reef(['vault', 'get', 'TOKEN']),
    await user.reef(['vault', 'update', 'TOKEN'], { input: 'three\n' }),
    await user.reef(['ask', '--get-secret', 'TOKEN']),
    await user.reef(['vault', 'list']),
    await user.reef(['ask', '--delete-secret', 'TOKEN']),
    await user.reef(['ask', '--list-secrets', '--json']),
  ];
  expect(steps).toEqual([
    said('', { stderr: 'Added TOKEN\n' }),
    said('one: "two"\n'),
    said('', { stderr: 'Updated TOKEN\n' }),
    said('three\n'),
    said('TOKEN\n'),
    said('', { stderr: 'Deleted TOKEN\n' }),
    said('{"secrets":[]}\n'),
  ]);
});

verifies('R-114', 'R-93', 'U-02').test('what needs a person ends with 3 and says what; --yes allows it', async () => {
  const user = makeUser();
  const flags = ['--prompt', 'Be brief.'];
  user.write('home/.config/reef/.env', 'REEF_ENABLED_TOOLS=execute_command\n');
  const refused = await user.reef(['ask', '--headless', '--json', ...flags, 'touch something']);
  const { error } = JSON.parse(refused.stdout);
  expect([refused.code, error.code, error.details.tool]).toEqual([3, 'needs_human', 'execute_command']);
  expect(existsSync(join(user.cwd, 'made-by-a-tool'))).toBe(false);
  const allowed = await user.reef(['ask', '--yes', ...flags, 'touch something']);
  expect([allowed.code, allowed.stdout, existsSync(join(user.cwd, 'made-by-a-tool'))]).toEqual([0, 'Done.\n', true]);
});

verifies('R-114', 'R-53').test('a macro runs its steps; what is piped in comes after --', async () => {
  const user = makeUser();
  const { stdout, stderr, code } = await user.reef(['ask', '--macro', 'run-tests', 'unit'], { input: 'slowly\n' });
  expect([code, stdout, stderr.split('\n').slice(0, 3)]).toEqual([
    0,
    'It means what it says.\n',
    ['>> .role explain', '>> run unit tests -- slowly', '>> .info role'],
  ]);
});

verifies('R-114').test('-e off a terminal prints the command and nothing more', async () => {
  const user = makeUser();
  expect(await user.reef(['ask', '-e', 'list the files'])).toEqual(said('ls -la\n'));
});

verifies('R-164').test('there is no flag to log in, and none is named', async () => {
  const user = makeUser();
  const { code, stderr } = await user.reef(['ask', '--authenticate', 'openai']);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/unknown option '--authenticate'/)]);
  expect((await user.reef(['ask', '--help'])).stdout).not.toMatch(/authenticate|log in/);
});

verifies('R-114', 'R-115').test('the other flags do what they say', async () => {
  const user = makeUser();
  const script = await user.reef(['ask', '--completions', 'bash']);
  expect([script.code, script.stdout]).toEqual([0, expect.stringMatching(/_reef\(\).*complete .* reef\n/s)]);
  const override = user.write('home/.config/reef/models-override.yaml', '- { provider: x, models: [{ name: y }] }\n');
  const before = readFileSync(override, 'utf8');
  const synced = await user.reef(['ask', '--sync-models']);
  expect([synced.code, synced.stderr.split(':')[0], readFileSync(override, 'utf8')]).toEqual([
    69,
    'models_not_synced',
    before,
  ]);
  expect(await user.reef(['ask', '--build-tools'])).toEqual(said('greet\n'));
  user.write('home/.config/reef/functions/tools/broken.sh', 'echo no description\n');
  expect(await user.reef(['ask', '--build-tools'])).toMatchObject({
    stdout: expect.stringMatching(/^greet\n<root>.*broken\.sh: /),
    code: 1,
  });
  await user.reef(['ask', 'hello']);
  const log = await user.reef(['ask', '--tail-logs', '--disable-log-colors']);
  expect(log.stdout).toContain('"message":"model call","client":"scripted"');
  expect(log.stdout).not.toContain('What shall we do');
});

verifies('R-114', 'R-23').test('an agent gets its variables from the command line', async () => {
  const user = makeUser();
  const args = ['--dry-run', '-a', 'sisyphus', '--agent-variable', 'thing', 'two boulders', 'go'];
  const { stdout, code } = await user.reef(['ask', ...args]);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^You roll two boulders uphill\.[\s\S]*\n\ngo\n$/)]);
});

verifies('R-115', 'R-63').test(
  'a session goes on in the next call, and without one every prompt stands alone',
  async () => {
    const user = makeUser();
    await user.reef(['ask', '-s', 'my-project', 'hello']);
    await user.reef(['ask', 'hello again']);
    const [inSession, alone] = [
      await user.reef(['ask', '--dry-run', '-s', 'my-project', 'and now?']),
      await user.reef(['ask', '--dry-run', 'and now?']),
    ];
    expect([inSession.stdout, alone.stdout]).toEqual(['hello\n\nHello! What shall we do?\n\nand now?\n', 'and now?\n']);
    await user.reef(['ask', '-s', 'my-project', '--empty-session', 'anew']);
    expect(sessionFile(user)).not.toContain('hello');
  },
);

verifies('R-115').test('with `save` a prompt without a session goes into messages.md', async () => {
  const user = makeUser();
  user.write('home/.config/reef/.env', 'REEF_SAVE=true\n');
  await user.reef(['ask', '-r', 'explain', 'a  reef']);
  const file = readFileSync(join(user.root, 'home/.cache/reef/messages.md'), 'utf8');
  expect(file).toMatch(/^# CHAT: .*a reef \[\d{4}-.*\] \(explain\)\n/);
});

verifies('R-73', 'U-02').test('Ctrl-C ends an answer with 130 and keeps what had arrived in the session', async () => {
  const user = makeUser();
  const child = user.start(['ask', '-s', 'story', 'tell a long story']);
  child.stdin?.end();
  let heard = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    heard += text;
  });
  const closed = once(child, 'close');
  await expect.poll(() => heard).toContain('Once upo');
  child.kill('SIGINT');
  const [code] = await closed;
  const stored = sessionFile(user);
  expect([code, stored.includes('interrupted: true'), stored.includes('Once upo')]).toEqual([130, true, true]);
});
