import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, vi } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { Chat, TMUX } from './chat-rig.ts';
import { makeWorld } from './harness.ts';
import { makeUser, REEF, type User } from './runtime-rig.ts';

const run = promisify(execFile);

// Several programs one after the other.
vi.setConfig({ testTimeout: 180_000 });

const proves: typeof verifies = (...ids) => verifies(...ids).needs(TMUX !== undefined, 'tmux is not installed');
const GOLDEN = join(import.meta.dirname, '../golden/terminal');
const ANSWER = readFileSync(join(GOLDEN, 'answer.md'), 'utf8').trimEnd();
const HOSTILE =
  'One \u001b[2J\u001b]0;owned\u0007\u001b]52;c;eA==\u0007 **two\u009b31m** `\u202egnol\u202c` zero\u200bwidth &#27;[2J\n\n```js\nlet a = "\u001b[1;1H"\n```\n\n[safe](javascript:alert(1)\u001b[5m)';

/** A user whose model says these, in small pieces; at a terminal with colours. */
function reader(replies: Readonly<Record<string, string>>, { delay = 0, config = '' } = {}): User {
  const user = makeUser();
  delete user.env.NO_COLOR;
  const entries = Object.entries(replies).map(([last_user, text]) => ({
    when: { last_user },
    reply: { text, chunk: 7, chunk_delay_ms: delay },
    times: 'always',
  }));
  user.write('home/.config/reef/scripts/demo.yaml', JSON.stringify(entries));
  const file = join(user.config, 'config.yaml');
  user.write('home/.config/reef/config.yaml', readFileSync(file, 'utf8') + config);
  return user;
}

const words = (count: number) => Array.from({ length: count }, (_, n) => `w${n}w`).join(' ');
const wordsOf = (screen: string) => screen.match(/w\d+w/g) ?? [];

for (const [columns, config, name] of [
  [80, 'wrap: auto\ntheme: dark\n', 'answer-80-dark.txt'],
  [40, 'wrap: auto\nwrap_code: true\ntheme: light\n', 'answer-40-light.txt'],
  [40, 'wrap: 30\ntheme: sea\n', 'answer-40-sea.txt'],
  [40, '', 'answer-40-unwrapped.txt'],
] as const) {
  proves('R-162').test(`an answer looks as in ${name}`, async () => {
    const user = reader({ show: ANSWER }, { config });
    user.write('home/.config/reef/sea.tmTheme', readFileSync(join(GOLDEN, 'sea.tmTheme'), 'utf8'));
    await using chat = Chat.start(user, ['ask', 'show'], { columns, rows: 24 });
    await chat.until(/\[ended 0\]/);
    await expect(chat.looks()).toMatchFileSnapshot(join(GOLDEN, name));
  });
}

proves('R-162').test('a change of size in the middle of an answer loses no word and shows none twice', async () => {
  const text = `${words(60)}\n\n- **w900w** ${words(0)}\n\n\`\`\`js\nlet w901w = 1;\n\`\`\`\n\nThe end.`;
  const user = reader({ show: text }, { delay: 60 });
  for (const [columns, rows] of [
    [40, 12],
    [120, 40],
  ] as const) {
    await using chat = Chat.start(user, ['ask', 'show'], { columns: 80, rows: 24 });
    await chat.until(/w20w/);
    chat.tmux('resize-window', '-x', String(columns), '-y', String(rows));
    const screen = await chat.until(/The end\.\n[\s\S]*\[ended 0\]/);
    expect(wordsOf(screen.replaceAll('\n', ''))).toEqual(wordsOf(text));
    expect(screen).not.toContain('**');
  }
});

proves('R-162').test('Ctrl-C in the middle leaves what has come, rendered, in ask and in a chat', async () => {
  const text = `# First\n\nSome **bold** words, ${words(200)}`;
  const user = reader({ show: text }, { delay: 60 });
  await using asked = Chat.start(user, ['ask', 'show'], { columns: 80, rows: 24 });
  await asked.until(/w20w/);
  asked.keys('C-c');
  const screen = await asked.until(/\[ended 130\]/);
  expect(screen).toMatch(/^First\n\nSome bold words, w0w w1w/);
  expect(wordsOf(screen.replaceAll('\n', ''))).toEqual(wordsOf(words(200)).slice(0, wordsOf(screen).length));
  await using chat = await Chat.open(user);
  await chat.clear();
  chat.type('show');
  chat.keys('Enter');
  await chat.until(/w20w/);
  chat.keys('C-c');
  const talk = await chat.until(/First\n\nSome bold words, [\s\S]*\n.*error.*\n>$/i);
  expect(wordsOf(talk)).toEqual(wordsOf(words(200)).slice(0, wordsOf(talk).length));
});

proves('R-162', 'X-51').test('hostile escape sequences become visible, whatever they stand in', async () => {
  const user = reader({ show: HOSTILE });
  await using chat = Chat.start(user, ['ask', 'show'], { columns: 80, rows: 24 });
  await chat.until(/\[ended 0\]/);
  await expect(chat.looks()).toMatchFileSnapshot(join(GOLDEN, 'hostile-80.txt'));
  expect(chat.tmux('display-message', '-p', '#{pane_title}').trim()).not.toBe('owned');
  expect(chat.tmux('list-buffers').trim()).toBe('');
});

proves('R-162').test('piped, without colours or without highlight the answer is what the model wrote', async () => {
  const user = reader({ show: ANSWER });
  const piped = await user.reef(['ask', 'show']);
  expect(piped).toEqual({ stdout: `${ANSWER}\n`, stderr: '', code: 0 });
  for (const [name, value] of [
    ['NO_COLOR', '1'],
    ['REEF_HIGHLIGHT', 'false'],
  ] as const) {
    user.env[name] = value;
    await using chat = Chat.start(user, ['ask', 'show'], { columns: 200, rows: 50 });
    const screen = await chat.until(/\[ended 0\]/);
    expect(screen).toBe(`${ANSWER.replace(/ +$/gm, '')}\n[ended 0]`);
    expect(chat.looks()).not.toMatch(/‹\d/);
    delete user.env[name];
  }
});

proves('R-162').test('.set highlight false holds from the next answer on', async () => {
  const user = reader({ show: 'Some **bold** words.' });
  await using chat = await Chat.open(user);
  await chat.step({ line: 'show', shows: /\nSome bold words\.\n\S*>$/ });
  await chat.step({ line: '.set highlight false', shows: />$/ });
  await chat.step({ line: 'show', shows: /\nSome \*\*bold\*\* words\.\n\S*>$/ });
  await chat.step({ line: '.info', shows: /\nhighlight +false/ });
});

proves('R-162').test('reef output renders what an agent says, between its other events', async () => {
  const world = makeWorld();
  try {
    const said =
      '# Done\n\nSome **bold** words:\n\n```js\nlet a = 1;\n\nlet b = 2;\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |';
    const agent = world.script('speaker', [{ say: said }, { say: 'It is **over**.' }]);
    const { agentId } = await world.client.call('spawn', { agent, task: 'x' });
    await world.until(agentId, ({ endedAt }) => endedAt !== undefined);
    const { NO_COLOR: _, ...env } = world.env;
    const write = (path: string, text: string) => {
      const file = join(world.root, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      return file;
    };
    const seat = { root: world.root, cwd: world.repository, env: { ...env, TERM: 'xterm-256color', TZ: 'UTC' }, write };
    await using chat = Chat.start(seat, ['output', agentId], { columns: 80, rows: 40 });
    await chat.until(/\[ended 0\]/);
    const looks = chat.looks().replace(/\d\d:\d\d:\d\d/g, '<time>');
    expect(looks).toMatch(/■ done after \w+\n {11}It is ‹1›over‹›\.\n/);
    await expect(looks.slice(looks.indexOf('turn 1'), looks.indexOf('■ done'))).toMatchFileSnapshot(
      join(GOLDEN, 'output-80.txt'),
    );
    const piped = await run(process.execPath, [REEF, 'output', agentId], { cwd: world.repository, env });
    expect(piped.stdout).toContain('Some **bold');
  } finally {
    await world.close();
  }
});
