import fc from 'fast-check';
import { expect, test } from 'vitest';
import { verifies } from '../../../../test/support/verifies.ts';
import { AnswerText } from '../../render/answer/answer-text.ts';
import { DARK } from '../../render/answer/theme.ts';
import { AnswerView, type Size } from './answer-view.ts';

const open = (wrap: 'auto' | 'no') => async (columns: () => number) =>
  new AnswerText({ theme: DARK, wrap, wrapCode: false }, columns);

/** A terminal that knows what the view uses, and refuses all else. It never moves or loses what has left its top. */
class Terminal {
  readonly lines: string[] = [''];
  readonly #size: Size;
  #at = 0;

  constructor(size: Size) {
    this.#size = size;
  }

  readonly size = () => this.#size;

  readonly write = (text: string): void => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal reads
    for (const piece of text.match(/\u001b\[[?0-9;]*[a-zA-Z]|[\s\S]/gu) ?? []) this.#take(piece);
  };

  #take(piece: string): void {
    if (piece === '\n') {
      this.#at += 1;
      this.lines[this.#at] ??= '';
    } else if (piece === '\u001b[A') {
      this.#at -= 1;
      expect(this.#at).toBeGreaterThan(this.lines.length - this.#size.rows - 1);
    } else if (piece === '\u001b[2K') this.lines[this.#at] = '';
    else if (piece === '\r') expect(this.lines[this.#at]).toBe('');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal reads
    else if (/^\u001b\[(\?2026[hl]|[0-9;]*m)$/.test(piece)) return;
    else {
      expect(piece).not.toBe('\u001b');
      this.lines[this.#at] += piece;
    }
  }
}

const text = `# Title

Some **bold** text, *emphasis*, \`code\` and [a link](https://example.org/).
Its second line &amp; more. 日本語のテキスト 👩‍💻 ✔️ مرحبا

- one
- two
  1. nested

     further
- [x] done

> quoted
> - item

| a | b |
|---|--:|
| 1 | **2** |

\`\`\`python
def f():
    """open
    string"""
\`\`\`
    indented

Under
=====
***
The end`;

async function shown(pieces: readonly string[], size: Size): Promise<string[]> {
  const terminal = new Terminal(size);
  const view = new AnswerView(open('auto'), terminal);
  for (const piece of pieces) await view.part(piece);
  await view.end();
  while (terminal.lines.at(-1) === '') terminal.lines.pop();
  return terminal.lines;
}

function cut(whole: string, at: readonly number[]): string[] {
  const ends = [...new Set(at.map((each) => each % whole.length))].sort((a, b) => a - b);
  return [0, ...ends].map((from, n) => whole.slice(from, ends[n] ?? whole.length));
}

verifies('R-162').test('however an answer is cut into pieces, the same stands on the screen in the end', async () => {
  const size = { columns: 60, rows: 40 };
  const whole = await shown([text], size);
  expect(whole.join('\n')).toMatchInlineSnapshot(`
    "Title

    Some bold text, emphasis, code and a link
    (https://example.org/).
    Its second line & more. 日本語のテキスト 👩💻 ✔ مرحبا

    • one
    • two
      1. nested

         further
    • ☑ done

    │ quoted
    │ • item

    a   │   b
    ────┼────
    1   │   2

    ── python ─────────────────────────────────────────────────
    def f():
        """open
        string"""
    ───────────────────────────────────────────────────────────
    indented

    Under
    ───────────────────────────────────────────────────────────
    The end"
  `);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(), { maxLength: 200 }), async (at) => {
      expect(await shown(cut(text, at), size)).toEqual(whole);
    }),
    { numRuns: 60 },
  );
});

verifies('R-162').test('on the smallest of screens no word is lost and none is there twice', async () => {
  const words = (from: number, count: number) => Array.from({ length: count }, (_, n) => `w${from + n}w`).join(' ');
  const long = [
    words(0, 80),
    `- ${words(100, 60)}\n- ${words(200, 5)}`,
    `\`\`\`\n${words(300, 70)}\n${words(400, 3)}\n\`\`\``,
    `|x|y|\n|-|-|\n${Array.from({ length: 30 }, (_, n) => `| r${n}r | ${words(500 + n, 1)} |`).join('\n')}`,
    `> ${words(600, 50)}`,
  ].join('\n\n');
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(), { maxLength: 100 }),
      fc.record({ columns: fc.integer({ min: 14, max: 50 }), rows: fc.integer({ min: 4, max: 12 }) }),
      async (at, size) => {
        const lines = await shown(cut(long, at), size);
        const found = lines.join(' ').match(/[wr]\d+[wr]/g);
        expect([...new Set(found)].length).toBe(found?.length);
        expect(found?.length).toBe(long.match(/[wr]\d+[wr]/g)?.length);
      },
    ),
    { numRuns: 40 },
  );
});

test('what others write stands between two parts of the answer, and neither is lost', async () => {
  const terminal = new Terminal({ columns: 60, rows: 20 });
  const view = new AnswerView(open('no'), terminal);
  await view.part('One **two** thr');
  view.pause();
  terminal.write('A note.\n');
  await view.part('ee\nfour **five**\n\n**six**');
  await view.end();
  expect(terminal.lines).toEqual(['One **two** thr', 'A note.', 'ee', 'four five', '', 'six', '']);
});

verifies('R-162').test('the first word is written at once, before anything is opened that renders', () => {
  const terminal = new Terminal({ columns: 60, rows: 20 });
  const view = new AnswerView(() => Promise.reject(new Error('too early')), terminal);
  void view.part('First');
  expect(terminal.lines).toEqual(['First']);
});

verifies('R-162').test('of ten thousand lines never more than a screen is kept', async () => {
  const line = [(n: number) => `- item ${n}`, (n: number) => `|${n}|b|`, (n: number) => `line ${n}`];
  const heads = ['', '\n|a|b|\n|-|-|\n', '\n'];
  let text: AnswerText | undefined;
  const opened = async (columns: () => number) => {
    text = await open('auto')(columns);
    return text;
  };
  const view = new AnswerView(opened, { write: () => undefined, size: () => ({ columns: 80, rows: 24 }) });
  let most = 0;
  for (const [kind, head] of heads.entries()) {
    await view.part(head);
    for (let n = 0; n < 3_400; n++) {
      await view.part(`${line[kind]?.(n)}\n`);
      most = Math.max(most, text?.pending.length ?? 0);
    }
  }
  expect(most).toBeLessThan(80 * 24);
});
