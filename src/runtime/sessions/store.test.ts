import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { systemClock } from '../../base/clock.ts';
import { holdLock } from '../../store/home-lock.ts';
import { type Message, textOf, userText } from '../models/message.ts';
import { messageSchema } from '../models/message-schema.ts';
import type { Session } from './session.ts';
import { parseSession, sessionText } from './state-file.ts';
import { SessionStore } from './store.ts';

let dir: string;
let warnings: string[];
let store: SessionStore;
const open = () => new SessionStore({ dir, clock: systemClock, warn: (message) => warnings.push(message) });
beforeEach(() => {
  dir = temporaryFolder();
  warnings = [];
  store = open();
});

const turn = (text: string): Message[] => [
  userText(text),
  { role: 'assistant', content: [{ type: 'text', text: `re ${text}` }] },
];
/** One turn, saved. */
async function append(target: SessionStore, session: Session, messages: readonly Message[]): Promise<void> {
  session.change({ kind: 'turn', messages });
  await target.save(session);
}
const ids = () => readdirSync(join(dir, 'by-id'));
const said = (messages: readonly Message[]) => messages.map(textOf);

const WRITER = fileURLToPath(new URL('../../../test/support/runtime/session-writer.ts', import.meta.url));
async function writer(session: string, name: string, count: number): Promise<number | null> {
  const child = spawn(process.execPath, [WRITER, dir, session, name, String(count)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [code] = await once(child, 'exit');
  return code;
}

describe('a session', () => {
  verifies('R-60').test(
    'is found again by its id and by its name, and is nothing on disk before it is saved',
    async () => {
      const session = await store.openOrCreate('my project');
      const before = readdirSync(dir);
      await append(store, session, turn('hello'));
      const [byName, byId] = [await open().openOrCreate('my project'), await open().openOrCreate(session.id)];
      expect({ before, id: byName.id, name: byId.name, said: said(byId.messages), same: byName.state }).toEqual({
        before: [],
        id: session.id,
        name: 'my project',
        said: ['hello', 're hello'],
        same: byId.state,
      });
      expect(readFileSync(join(dir, 'by-name', 'my project'), 'utf8').trim()).toBe(session.id);
      expect([ids(), await store.names()]).toEqual([[session.id], ['my project']]);
      expect(statSync(join(dir, 'by-id', session.id, 'state.yaml')).mode & 0o777).toBe(0o600);
    },
  );

  for (const name of ['', '.', '..', 'a/b', 'a\0b', 'x'.repeat(129), '_', 'a\nb']) {
    verifies('R-60').test(`cannot be called ${JSON.stringify(name.slice(0, 12))}`, async () => {
      await expect(store.openOrCreate(name)).rejects.toMatchObject({ code: 'name_invalid' });
    });
  }

  verifies('R-60').test('whose name holds no id is missing, with a warning, and can be made anew', async () => {
    mkdirSync(join(dir, 'by-name'), { recursive: true });
    writeFileSync(join(dir, 'by-name', 'x'), 'garbage');
    expect(await store.resolveAlias('x')).toBe(undefined);
    expect(warnings).toEqual([expect.stringContaining('holds no session')]);
    await append(store, await store.openOrCreate('x'), turn('anew'));
    expect(said((await open().openOrCreate('x')).messages)).toEqual(['anew', 're anew']);
  });

  verifies('R-60').test('that is unknown by its id is session_not_found', async () => {
    const id = 'a0a0a0a0-0000-4000-8000-000000000000';
    await expect(store.openOrCreate(id)).rejects.toMatchObject({ code: 'session_not_found' });
  });

  verifies('R-60').test('is renamed, and its old name is free; a name that is taken is refused', async () => {
    const [a, b] = [store.create('a'), store.create('b')];
    await append(store, a, turn('in a'));
    await append(store, b, turn('in b'));
    await expect(store.rename(a, 'b')).rejects.toMatchObject({ code: 'session_exists' });
    await store.rename(a, 'c');
    expect([await store.names(), (await store.openOrCreate('c')).id, await store.resolveAlias('a')]).toEqual([
      ['b', 'c'],
      a.id,
      undefined,
    ]);
  });

  verifies('R-60').test('is deleted by name or id, and its name with it', async () => {
    const session = store.create('a');
    await append(store, session, turn('x'));
    await store.delete('a');
    expect([await store.names(), ids()]).toEqual([[], []]);
    await expect(store.delete('a')).rejects.toMatchObject({ code: 'session_not_found' });
  });

  verifies('R-62').test('that was deleted while somebody was in it keeps what was said, aside', async () => {
    const session = store.create('doomed');
    await append(store, session, turn('one'));
    await open().delete('doomed');
    const failure = await append(store, session, turn('two')).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'session_deleted', details: { kept: expect.stringContaining('recovered') } });
    const kept = join(dir, 'recovered', `${session.id}.yaml`);
    expect(said(parseSession(readFileSync(kept, 'utf8'), kept).messages)).toEqual(['one', 're one', 'two', 're two']);
    expect(await store.names()).toEqual([]);
  });

  test('is forked with its past and undone by turns', async () => {
    const session = store.create('a');
    await append(store, session, turn('one'));
    await append(store, session, turn('two'));
    const fork = store.fork(session);
    fork.change({ kind: 'undone' });
    await store.rename(fork, 'b');
    await append(store, fork, turn('other'));
    const [a, b] = [await open().openOrCreate('a'), await open().openOrCreate('b')];
    expect([said(a.messages), said(b.messages), a.id === b.id]).toEqual([
      ['one', 're one', 'two', 're two'],
      ['one', 're one', 'other', 're other'],
      false,
    ]);
  });

  verifies('R-51').test("is one file with the seed's keys and ours, and every one of them comes back", async () => {
    const session = store.create('a');
    const settings = {
      model: 'openai:gpt-4o',
      temperature: 0.1,
      top_p: 0.2,
      enabled_tools: '',
      enabled_mcp_servers: 'github',
      save_session: true,
      compression_threshold: 0,
      role_name: 'coder',
      agent_variables: { a: 'b' },
      agent_instructions: 'Do.',
    };
    session.set(settings);
    session.change({ kind: 'turn', messages: turn('one') });
    session.change({ kind: 'turn', messages: turn('two') });
    session.change({ kind: 'compressed', summary: 'In short.', count: 2, alreadyCompressed: 0 });
    await store.save(session);
    const file = readFileSync(join(dir, 'by-id', session.id, 'state.yaml'), 'utf8');
    const keys = [...file.matchAll(/^([a-z_]+):/gm)].map((match) => match[1]).sort();
    const state = { id: session.id, alias: 'a', rev: 1, ...settings, summary: 'In short.' };
    const expected = {
      ...state,
      compressed_messages: turn('one'),
      messages: turn('two'),
      data_urls: {},
    };
    expect([(await open().openOrCreate('a')).state, keys]).toEqual([expected, Object.keys(expected).sort()]);
  });

  verifies('R-61').test('keeps what is said in it while it is being saved, once', async () => {
    const session = store.create('a');
    await append(store, session, turn('one'));
    session.change({ kind: 'turn', messages: turn('two') });
    const saving = store.save(session);
    session.change({ kind: 'turn', messages: turn('three') });
    await saving;
    const between = [said(session.messages).length, session.isDirty];
    await store.save(session);
    const all = ['one', 'two', 'three'].flatMap((text) => [text, `re ${text}`]);
    expect([between, said(session.messages), said((await open().openOrCreate('a')).messages)]).toEqual([
      [6, true],
      all,
      all,
    ]);
  });

  test('keeps what a newer Reef wrote into it', async () => {
    const session = store.create('a');
    await append(store, session, turn('one'));
    const file = join(dir, 'by-id', session.id, 'state.yaml');
    writeFileSync(file, `${readFileSync(file, 'utf8')}from_the_future: 7\n`);
    await append(store, await open().openOrCreate('a'), turn('two'));
    expect(readFileSync(file, 'utf8')).toContain('from_the_future: 7');
  });

  test('whose file is broken is session_invalid and stays as it is', async () => {
    const session = store.create('a');
    await append(store, session, turn('one'));
    const file = join(dir, 'by-id', session.id, 'state.yaml');
    writeFileSync(file, 'messages: [');
    await expect(open().openOrCreate('a')).rejects.toMatchObject({ code: 'session_invalid' });
    await expect(append(store, session, turn('two'))).rejects.toMatchObject({ code: 'session_invalid' });
    expect(readFileSync(file, 'utf8')).toBe('messages: [');
  });

  test('is written and read without loss, whatever was said', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string(),
      fc.constantFrom('null', '1e3', '- a', '# x', ' a: b', '\n\n', '\u0000'),
    );
    const part = fc.record({ type: fc.constant('text' as const), text });
    const call = fc.record({
      type: fc.constant('tool_call' as const),
      id: text,
      name: text,
      arguments: fc.jsonValue(),
    });
    const result = fc.record({ type: fc.constant('tool_result' as const), id: text, name: text, output: text });
    const message = fc.oneof(
      fc.record({ role: fc.constant('user' as const), content: fc.array(part) }),
      fc.record({ role: fc.constant('assistant' as const), content: fc.array(fc.oneof(part, call)) }),
      fc.record({ role: fc.constant('tool' as const), content: fc.array(result) }),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 4 }), (messages) => {
        const read = messages.map((each) => messageSchema.parse(each));
        const state = { ...store.create('x').state, messages: read };
        expect(parseSession(sessionText(state), 'x')).toEqual(state);
      }),
      { numRuns: 200 },
    );
  });
});

describe('an older file', () => {
  const legacy = `
model: openai:gpt-4o
temperature: 0.5
use_tools: fs
compress_threshold: 1000
save_session: true
role_name: coder
compressed_messages:
  - { role: user, content: first }
  - { role: assistant, content: first answer }
messages:
  - { role: system, content: 'This is a summary: they met.' }
  - role: user
    content:
      - { type: text, text: look }
      - { type: image_url, image_url: { url: 'data:image/png;base64,AAAA' } }
  - role: assistant
    content:
      text: looking
      tool_results:
        - { call: { name: fs_cat, arguments: { path: a }, id: c1 }, output: { text: hi } }
  - { role: assistant, content: seen }
`;

  verifies('R-60').test('is taken over at its first opening, and stays', async () => {
    const file = join(dir, 'old.yaml');
    writeFileSync(file, legacy);
    const names = await store.names();
    const session = await store.openOrCreate('old');
    const again = await open().openOrCreate('old');
    expect({ names, same: session.id === again.id, stays: readFileSync(file, 'utf8') === legacy }).toEqual({
      names: ['old'],
      same: true,
      stays: true,
    });
    expect(again.state).toMatchObject({
      alias: 'old',
      model: 'openai:gpt-4o',
      temperature: 0.5,
      enabled_tools: 'fs',
      compression_threshold: 1000,
      save_session: true,
      role_name: 'coder',
      summary: 'This is a summary: they met.',
      compressed_messages: [
        userText('first'),
        { role: 'assistant', content: [{ type: 'text', text: 'first answer' }] },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'file', mediaType: 'image/png', data: 'AAAA' },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'looking' },
            { type: 'tool_call', id: 'c1', name: 'fs_cat', arguments: { path: 'a' } },
          ],
        },
        { role: 'tool', content: [{ type: 'tool_result', id: 'c1', name: 'fs_cat', output: '{"text":"hi"}' }] },
        { role: 'assistant', content: [{ type: 'text', text: 'seen' }] },
      ],
    });
  });
});

describe('many writers', () => {
  verifies('R-61').test(
    'of one session, 25 at once in each of 4 processes, lose nothing and tear no turn apart',
    async () => {
      const session = store.create('shared');
      await store.save(session);
      const codes = await Promise.all(['a', 'b', 'c', 'd'].map((name) => writer('shared', name, 25)));
      const all = said((await open().openOrCreate('shared')).messages);
      const questions = all.filter((_, index) => index % 2 === 0);
      const expected = ['a', 'b', 'c', 'd'].flatMap((name) => Array.from({ length: 25 }, (_, n) => `${name}-${n}`));
      expect({ codes, count: all.length, answers: all.filter((_, index) => index % 2 === 1) }).toEqual({
        codes: [0, 0, 0, 0],
        count: 200,
        answers: questions.map((question) => `re ${question}`),
      });
      expect(questions.sort()).toEqual(expected.sort());
    },
    60_000,
  );

  verifies('R-61').test(
    'that begin a session of one name at the same time go on in one',
    async () => {
      await Promise.all(['a', 'b'].map((name) => writer('new', name, 5)));
      const all = said((await open().openOrCreate('new')).messages);
      expect([all.length, ids().length]).toEqual([20, 1]);
    },
    60_000,
  );

  verifies('R-61').test('wait for a holder and name it after ten seconds; a dead holder holds nothing', async () => {
    const session = store.create('held');
    await store.save(session);
    await append(store, session, turn('one'));
    const folder = join(dir, 'by-id', session.id);
    const lock = holdLock(join(folder, 'lock'));
    let now = 0;
    const hasty = new SessionStore({
      dir,
      warn: () => {},
      clock: {
        ...systemClock,
        monotonicMs: () => now,
        async sleep() {
          now += 1_000;
        },
      },
    });
    await expect(append(hasty, session, turn('two'))).rejects.toMatchObject({
      code: 'session_locked',
      message: expect.stringContaining(`process ${process.pid} `),
    });
    expect(now).toBeLessThanOrEqual(12_000);
    lock.release();
    await store.save(session);
    expect(said((await open().openOrCreate('held')).messages)).toEqual(['one', 're one', 'two', 're two']);

    const holder = spawn(process.execPath, ['-e', lockProgram(join(folder, 'lock'))], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(holder.stdout, 'data');
    const writing = append(store, session, turn('three'));
    holder.kill('SIGKILL');
    await writing;
    expect((await open().openOrCreate('held')).messages).toHaveLength(6);
  });

  verifies('R-61').test('leave no half-written file behind: leftovers of a killed one are swept', async () => {
    const session = store.create('a');
    await append(store, session, turn('one'));
    const folder = join(dir, 'by-id', session.id);
    writeFileSync(join(folder, `.reef-tmp-${'0'.repeat(24)}`), 'half');
    const stale = join(dir, 'by-name', 'x.1.tmp');
    writeFileSync(stale, 'half');
    utimesSync(stale, new Date(0), new Date(0));
    await append(store, session, turn('two'));
    await open().openOrCreate('a');
    expect([readdirSync(folder).sort(), existsSync(stale), await store.names()]).toEqual([
      ['holder.json', 'lock', 'state.yaml'],
      false,
      ['a'],
    ]);
  });
});

const lockProgram = (path: string) => `
  const Database = require(${JSON.stringify(fileURLToPath(new URL('../../../node_modules/better-sqlite3', import.meta.url)))});
  new Database(${JSON.stringify(path)}).exec('BEGIN EXCLUSIVE');
  console.log('held');
  setInterval(() => {}, 1000);
`;
