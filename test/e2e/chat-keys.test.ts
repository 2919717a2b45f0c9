import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { Chat, TMUX } from './chat-rig.ts';
import { makeUser, type User } from './runtime-rig.ts';

// Several programs one after the other.
vi.setConfig({ testTimeout: 120_000 });

const proves: typeof verifies = (...ids) => verifies(...ids).needs(TMUX !== undefined, 'tmux is not installed');

const storedSession = (user: User) => {
  const folder = join(user.config, 'sessions/by-id');
  return readdirSync(folder).map((id) => readFileSync(join(folder, id, 'state.yaml'), 'utf8'));
};

proves('R-112').test('a question may have several lines, and be written in the editor', async () => {
  const user = makeUser();
  user.write('home/.config/reef/.env', 'REEF_DRY_RUN=true\n');
  await using chat = await Chat.open(user);
  await chat.clear();
  for (const line of [':::', 'first', 'second :::']) {
    chat.type(line);
    chat.keys('Enter');
  }
  await chat.until(/\nfirst\nsecond\n>$/);
  await chat.clear();
  chat.type('one');
  chat.keys('C-j');
  chat.type('two');
  chat.keys('Enter');
  await chat.until(/\none\ntwo\n>$/);
  user.write('home/edit', 's/draft/the question itself/');
  await chat.clear();
  chat.type('draft');
  chat.keys('C-o');
  await chat.until(/\nthe question itself\n>$/);
});

proves('R-112').test('Tab completes commands, their arguments and settings', async () => {
  const user = makeUser();
  await using chat = await Chat.open(user);
  await chat.clear();
  chat.type('.mod');
  chat.keys('Tab');
  await chat.until(/> \.model$/);
  chat.type(' openai');
  chat.keys('Tab');
  await chat.until(/> \.model openai:gpt-4o$/);
  chat.keys('C-c');
  await chat.until(/\^C\n>$/);
  chat.type('.set temp');
  chat.keys('Tab');
  await chat.until(/> \.set temperature$/);
});

proves('R-112', 'R-73', 'R-139').test(
  'Ctrl-C stops an answer and the chat goes on; at the prompt it drops the line',
  async () => {
    const user = makeUser();
    await using chat = await Chat.open(user);
    await chat.step({ line: '.session story', shows: /\/story>$/ });
    await chat.clear();
    chat.type('tell a long story');
    chat.keys('Enter');
    await chat.until(/Once upo/);
    chat.keys('C-c');
    await chat.until(/Once upo[\s\S]*error: .*cancelled[\s\S]*\/story>/i);
    await chat.step({ line: 'hello', shows: /What shall we do\?\n\/story>/ });
    await chat.clear();
    chat.type('never mind');
    chat.keys('C-c');
    await chat.until(/never mind\^C\n\/story>/);
    chat.keys('C-d');
    await chat.until(/\[ended 0\]/);
    const [stored = ''] = storedSession(user);
    expect([stored.includes('interrupted: true'), stored.includes('What shall we do?')]).toEqual([true, true]);
  },
);

proves('R-112', 'R-63').test('Ctrl-D leaves; a session nobody decided about is asked for', async () => {
  const user = makeUser();
  user.write('home/.config/reef/.env', 'REEF_SAVE_SESSION=null\n');
  await using chat = await Chat.open(user);
  await chat.step({ line: '.session mine', shows: /\/mine>$/ });
  await chat.step({ line: 'hello', shows: /What shall we do\?\n\/mine>/ });
  chat.keys('C-d');
  await chat.until(/Save the session\? \[y\/N\]$/);
  chat.type('y');
  chat.keys('Enter');
  await chat.until(/\[ended 0\]/);
  expect(storedSession(user)).toHaveLength(1);
});

proves('R-112').test('keybindings: vi edits a line in normal mode', async () => {
  const user = makeUser();
  user.write('home/.config/reef/.env', 'REEF_KEYBINDINGS=vi\nREEF_DRY_RUN=true\n');
  await using chat = await Chat.open(user);
  await chat.clear();
  chat.type('wrong hellx');
  chat.keys('Escape');
  chat.type('xao');
  chat.keys('Escape');
  chat.type('0dwihey ');
  chat.keys('Enter');
  await chat.until(/\nhey hello\n>$/);
});

proves('R-93', 'R-112').test(
  'a tool that is to be asked about is asked about, whole, and runs when allowed',
  async () => {
    const user = makeUser();
    user.write('home/.config/reef/.env', 'REEF_ENABLED_TOOLS=execute_command\n');
    await using chat = await Chat.open(user);
    await chat.step({
      line: 'touch something',
      shows: /Done\.\n>$/,
      answers: [{ question: /"command": "touch made-by-a-tool"[\s\S]*Allow\? .*:$/, line: 'y' }],
    });
    await chat.step({
      line: 'touch something',
      shows: /Done\.\n>$/,
      answers: [{ question: /Allow\? .*:$/, line: 'n' }],
    });
    expect(readdirSync(user.cwd)).toEqual(['made-by-a-tool']);
    await chat.step({
      line: 'ask me',
      shows: /Thank you for the answer\.\n>$/,
      answers: [{ question: /Are you sure\? \[y\/N\]$/, line: 'y' }],
    });
  },
);

proves('R-08').test('a closed terminal loses nothing that was said', async () => {
  const user = makeUser();
  user.write('home/.config/reef/.env', 'REEF_SAVE_SESSION=null\n');
  await using chat = await Chat.open(user);
  await chat.step({ line: '.session mine', shows: /\/mine>$/ });
  await chat.step({ line: 'hello', shows: /What shall we do\?\n\/mine>/ });
  await chat.hangUp();
  expect(storedSession(user)).toEqual([expect.stringContaining('What shall we do?')]);
});

proves('R-113').test('the prompts are the templates of the configuration', async () => {
  const user = makeUser();
  user.write(
    'home/.config/reef/.env',
    `REEF_LEFT_PROMPT='{client_name}{?role  {role}}{?session  /{session}}{!session >}'\nREEF_RIGHT_PROMPT='{model_name}'\n`,
  );
  await using chat = Chat.start(user, ['chat']);
  await chat.until(/^scripted> +demo$/m);
  chat.type('.role explain');
  chat.keys('Enter');
  await chat.until(/^scripted explain> +demo$/m);
});

proves('R-114').test('-e at a terminal offers what to do with a command, and does it', async () => {
  const user = makeUser();
  user.write('work/coral.txt', 'pink\n');
  user.env.SHELL = '/bin/bash';
  const history = user.write('home/.bash_history', 'before\n');
  await using chat = Chat.start(user, ['ask', '-e', 'list the files']);
  await chat.until(/ls -la\nexecute, revise, describe, copy or quit\? \[q\]$/);
  for (const [line, shows] of [
    ['d', /Understood\.\n(.*\n)*execute.*\[q\]$/],
    ['r', /What should be different\?$/],
    ['list the files once more', /ls -la\nexecute.*\[q\]$/],
    ['e', /coral\.txt\n\[ended 0\]/],
  ] as const) {
    chat.type(line);
    chat.keys('Enter');
    await chat.until(shows);
  }
  expect(readFileSync(history, 'utf8')).toBe('before\nls -la\n');
});

proves('R-73', 'R-112').test('Ctrl-C at a question of ask ends it, whoever asks; Ctrl-D is no answer', async () => {
  const user = makeUser();
  user.write('home/.config/reef/.env', 'REEF_ENABLED_TOOLS=execute_command\n');
  user.write(
    'home/.config/reef/agents/painter/config.yaml',
    'instructions: Paint it {{colour}}.\nvariables:\n  - { name: colour, description: Which colour? }\n',
  );
  for (const [args, question] of [
    [['ask', 'touch something'], /Allow\? .*:$/],
    [['ask', '-a', 'painter', 'hello'], /Which colour\?.*$/],
    [['ask', '--add-secret', 'KEY'], /Value of KEY:$/],
  ] as const) {
    await using chat = Chat.start(user, args);
    await chat.until(question);
    chat.keys('C-c');
    expect(await chat.until(/\[ended \d+\]/)).toMatch(/(?<!Please report[\s\S]*)\[ended 130\]$/);
  }
  await using chat = Chat.start(user, ['ask', 'touch something']);
  await chat.until(/Allow\? .*:$/);
  chat.keys('C-d');
  await chat.until(/Done\.\n\[ended 0\]/);
  expect(readdirSync(user.cwd)).toEqual([]);
});

/** What a terminal sends for a paste: the text, and where it begins and ends for a program that asked. */
function paste(chat: Chat, text: string): void {
  chat.tmux('set-buffer', '--', text);
  chat.tmux('paste-buffer', '-p');
}

proves('R-163').test('a pasted text of several lines is one question, edited like any other', async () => {
  const user = makeUser();
  user.write('home/.config/reef/.env', 'REEF_DRY_RUN=true\n');
  await using chat = await Chat.open(user);
  paste(chat, 'def f():\n\treturn 1\n.exit\n');
  // Node marks further lines from version 24 on.
  await chat.until(/> def f\(\):\n(\| )?\s+return 1\n(\| )?\.exit$/);
  chat.keys('Up', 'Up', 'Up', 'Down', 'Up', 'Home');
  chat.type('async ');
  await chat.until(/> async def f\(\):\n(\| )?\s+return 1\n(\| )?\.exit$/);
  chat.keys('Enter');
  await chat.until(/\.exit\n+async def f\(\):\n\s+return 1\n\.exit\n>$/);
  // It comes back whole.
  chat.keys('Up');
  await chat.until(/\n>\s+async def f\(\):\n(\| )?\s+return 1\n(\| )?\.exit$/);
  chat.keys('C-c');
  await chat.until(/\^C\n>$/);
  // What acts on a terminal is not pasted.
  paste(chat, 'a\u001b]0;owned\u0007b\u0003c');
  await chat.until(/> a\]0;ownedbc$/);
});

proves('R-163').test('Ctrl-R finds what was typed before, in this chat or an earlier one', async () => {
  const user = makeUser();
  user.write('home/.config/reef/.env', 'REEF_DRY_RUN=true\n');
  user.write('home/.cache/reef/chat-history', '"about fish"\n"about coral"\n"other"\n');
  await using chat = await Chat.open(user);
  await chat.clear();
  chat.type('kept');
  chat.keys('C-r');
  chat.type('ABOUT');
  await chat.until(/search: ABOUT → about fish$/);
  chat.keys('C-r');
  await chat.until(/search: ABOUT → about coral$/);
  chat.keys('C-r');
  await chat.until(/no older line; search: ABOUT → about coral$/);
  chat.keys('C-g');
  await chat.until(/> kept$/);
  chat.keys('C-r');
  chat.type('corx');
  await chat.until(/no older line; search: cor → about coral$/);
  chat.keys('BSpace');
  await chat.until(/\nsearch: co → about coral$/);
  chat.keys('End');
  chat.type('s');
  await chat.until(/> about corals$/);
  chat.keys('Enter');
  await chat.until(/\nabout corals\n>$/);
  chat.type('ab');
  chat.keys('Up', 'Up');
  await chat.until(/> about fish$/);
  chat.keys('Down', 'Down');
  await chat.until(/> ab$/);
});
