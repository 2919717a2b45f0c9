import { PassThrough } from 'node:stream';
import { setImmediate as immediately } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { verifies } from '../../../../test/support/verifies.ts';
import { ChatTerminal } from './chat-terminal.ts';

let terminal: ChatTerminal;
afterEach(() => terminal.close());

/** What is typed, and all that was written. */
function open() {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let written = '';
  stdout.on('data', (bytes: Buffer) => {
    written += bytes.toString();
  });
  terminal = new ChatTerminal({
    host: { argv: [], env: {}, cwd: () => '/', stdin, stdout: Object.assign(stdout, { columns: 80 }), stderr },
    ...{ isVi: false, history: [], complete: async () => [[], ''] as [string[], string] },
  });
  const type = async (keys: string) => {
    stdin.write(keys);
    await immediately();
    await immediately();
  };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: how the cursor moves is readline's business
  return { type, shown: () => written.replace(/\u001b\[[0-9]*[A-Z]/g, '') };
}

verifies('R-112').test(
  'what was typed at a question that is taken back is gone: no prompt shows it, no key brings it back',
  async () => {
    const { type, shown } = open();
    for (const ask of ['question', 'secret'] as const) {
      const settling = new AbortController();
      const asked = terminal[ask]('Password? ', settling.signal);
      await type('hunter2');
      settling.abort(new Error('settled'));
      await expect(asked).rejects.toThrow('settled');
      const before = shown().length;
      const next = terminal.next('> ');
      await type('\u0019\u001f\u001b[A'); // yank, undo, history
      expect(shown().slice(before)).not.toContain('hunter2');
      await type('\r');
      expect(await next).toEqual({ text: '', end: 'sent' });
    }
    expect(terminal.history).toEqual([]);
  },
);

verifies('R-112').test('what is told while a secret is typed is shown after it, and the secret never', async () => {
  const { type, shown } = open();
  const asked = terminal.secret('Password? ');
  await type('hun');
  terminal.tell('A line.');
  terminal.write('and a part');
  await type('ter2\r');
  expect(await asked).toBe('hunter2');
  expect(shown()).toBe('Password? \nA line.\nand a part');
});

test('nothing is shown to a terminal that is gone, though a secret was asked there', async () => {
  const { type, shown } = open();
  const asked = terminal.secret('Password? ');
  await type('hunter2');
  terminal.tell('Unseen.');
  terminal.hangUp();
  expect(await asked).toBe('');
  terminal.tell('Unseen as well.');
  await immediately();
  expect(shown()).toBe('Password? ');
});

verifies('R-73', 'X-55').test(
  'Ctrl-C at a question of what runs is no answer, whatever was typed, and none to the next',
  async () => {
    const { type } = open();
    const answers: string[] = [];
    await terminal.during(async (signal) => {
      const asked = Promise.all([
        terminal.question('Sure? ').then((text) => answers.push(text)),
        new Promise((resolve) => signal.addEventListener('abort', resolve)),
      ]);
      await type('y');
      await type('\u0003');
      await asked;
    });
    await terminal.during(async (signal) => {
      const asked = expect(terminal.question('Sure again? ', signal)).rejects.toMatchObject({ code: 'cancelled' });
      await type('y\u0003');
      await asked;
    });
    const next = terminal.next('> ');
    await type('hello\r');
    expect([answers, await next]).toEqual([[''], { text: 'hello', end: 'sent' }]);
  },
);
