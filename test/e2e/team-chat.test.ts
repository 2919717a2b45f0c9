import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';
import { Chat, TMUX } from './chat-rig.ts';
import { gone, SLOW_MS } from './real.ts';
import { DEEP, FAMILY, type TeamWorld, teamWorld } from './team-rig.ts';

let world: TeamWorld;
afterEach(() => world.close());

const proves: typeof verifies = (...ids) => verifies(...ids).needs(TMUX !== undefined, 'tmux is not installed');

/** With a session there are tokens at the right. */
const PROMPT = /boss\S*>(?: +\S+)?$/;
const ASKS = /boss › lead › hand asks:[\s\S]*Red or blue\?[\s\S]*hand\?$/;

/** A chat with an agent, at the moment when what is asked two below it stands on the screen. */
async function asked(): Promise<Chat> {
  // With colours, which must reach the screen as colours.
  const { NO_COLOR: _, ...env } = world.seat.env;
  const chat = Chat.start({ ...world.seat, env }, ['chat', '-a', 'boss']);
  await chat.until(PROMPT);
  say(chat, 'Begin');
  await chat.until(ASKS);
  return chat;
}

function say(chat: Chat, line: string): void {
  chat.type(line);
  chat.keys('Enter');
}

async function family(): Promise<{ id: string; agent: string; status: string }[]> {
  return (await world.client.call('status', {})).jobs;
}

const statuses = async () => Object.fromEntries((await family()).map(({ agent, status }) => [agent, status]));

proves('R-102', 'D1', 'R-08', 'R-166').test(
  'a question of a grandchild is put to the person in the chat, who answers there; .jobs and .inbox tell of both',
  async () => {
    world = teamWorld(FAMILY);
    world.play(DEEP);
    await using chat = await asked();
    expect((await world.client.call('inbox', {})).questions).toMatchObject([{ agent: 'native:hand' }]);
    say(chat, '7');
    await chat.until(/hand\? 7\na number, or your own words; an empty line leaves it open\nhand\?$/);
    say(chat, '2');
    await chat.until(/All is painted\.\nboss>$/);
    const jobs = await family();
    const hand = jobs.find(({ agent }) => agent === 'native:hand');
    expect((await world.results(hand?.id ?? '')).map((text) => JSON.parse(text))).toEqual([{ answer: 'blue' }]);
    await chat.step({ line: '.inbox', shows: /No open questions\.\nboss>$/ });
    const listed = await chat.step({ line: '.jobs', shows: /chat:boss[\s\S]*boss>$/ });
    expect(listed).toMatch(/native:hand[\s\S]*completed|completed[\s\S]*native:hand/);
    expect(listed).not.toMatch(/\u241b|\[\d+m/);
    await gone(...jobs.map(({ id }) => id));
    say(chat, '.exit');
    await chat.until(/\[ended 0\]/);
  },
  SLOW_MS,
);

proves('R-102').test(
  'what is answered elsewhere is taken back from the terminal, and what is left open there waits for others',
  async () => {
    world = teamWorld(FAMILY);
    world.play([...DEEP, ...DEEP]);
    await using chat = await asked();
    const answer = async () => {
      const [question] = (await world.client.call('inbox', {})).questions;
      await world.client.call('send', { id: question?.jobId ?? '', option: ['red'] });
    };
    await answer();
    await chat.until(/boss › lead › hand has been answered\.[\s\S]*All is painted\.\nboss>$/);
    await chat.clear();
    say(chat, 'Begin');
    await chat.until(ASKS);
    say(chat, '');
    await chat.until(/To answer it later: reef send \w+/);
    await answer();
    await chat.until(/All is painted\.\nboss>$/);
  },
  SLOW_MS,
);

proves('R-73', 'R-08').test(
  'Ctrl-C at a question ends the family and not the chat; a closed terminal ends both, and keeps what was said',
  async () => {
    world = teamWorld({ ...FAMILY, boss: { ...FAMILY.boss, agent_session: 'talk' } }, { save_session: true });
    // What is never answered is never said, and how often somebody looks whether it was is up to the clock.
    const unanswered = DEEP.filter(({ says }) => says === undefined).map((line) =>
      line.tool === undefined ? line : { ...line, times: 'always' as const },
    );
    world.play([{ agent: 'boss', user: 'Alone', says: 'I am alone.' }, ...unanswered, ...unanswered]);
    const chat = await asked();
    try {
      chat.keys('C-c');
      await chat.until(PROMPT);
      expect(await statuses()).toEqual({ 'chat:boss': 'killed', 'native:lead': 'killed', 'native:hand': 'killed' });
      say(chat, 'Alone');
      await chat.until(/I am alone\.\nboss/);
      await chat.until(PROMPT);
      say(chat, 'Begin');
      await chat.until(ASKS);
    } finally {
      await chat.hangUp();
    }
    const ended = await eventually(family, (jobs) => jobs.every(({ status }) => status === 'killed'));
    expect(ended.length).toBe(6);
    await gone(...ended.map(({ id }) => id));
    const sessions = join(world.root, 'config/reef/agents/boss/sessions');
    const stored = readdirSync(sessions, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'));
    expect(stored.join('\n')).toContain('I am alone.');
  },
  SLOW_MS,
);
