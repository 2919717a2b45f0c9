import { afterAll, expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import type { Language } from './contract.ts';
import { ParserPool } from './parser-pool.ts';

const parser = new ParserPool({ workers: 1 });
afterAll(() => parser.close());

/** What each occurrence of a word is, in order; a local one with a star. */
async function occurrences(language: Language, word: string, written: string): Promise<string[]> {
  const text = written.replaceAll('@{', '${'); // the linter takes a whole one for a mistake
  const hits = text.split('\n').flatMap((line, row) =>
    [...line.matchAll(new RegExp(`(?<![\\w])${word}(?![\\w])`, 'g'))].map(({ index }) => ({
      line: row + 1,
      column: index,
    })),
  );
  const classes = await parser.classify({ source: Buffer.from(text), language, hits });
  if ('skipped' in classes) return [`skipped: ${classes.skipped}`];
  return classes.map(({ kind, scope }) => (scope === undefined ? kind : `${kind}*`));
}

verifies('C-060').test('TypeScript: every role of a name, and code inside a template is code', async () => {
  const text = [
    "import { cart } from './cart';",
    '// cart in a comment',
    'const s = `cart @{cart.total} cart @{cart(cart)}`;',
    "const t = 'cart';",
    'class X extends cart { cart() { return this.cart; } }',
    'let y: cart.Inner;',
    'function f(cart: number) { return cart + g({ cart }); }',
    'export { cart };',
    'new cart();',
    'if (/cart/.test(s)) cart?.cart();',
  ].join('\n');
  expect(await occurrences('typescript', 'cart', text)).toEqual([
    'import',
    'string',
    'comment',
    'string',
    'usage',
    'string',
    'call',
    'usage',
    'string',
    'type',
    'definition',
    'usage',
    'type',
    'definition*',
    'usage*',
    'usage*',
    'usage',
    'call',
    'string',
    'usage',
    'call',
  ]);
});

verifies('C-060').test('TSX: text between tags is text, what stands in braces is code', async () => {
  const text = 'const a = <Item name="Item" on={Item}>Item {Item()}</Item>;\n';
  expect(await occurrences('tsx', 'Item', text)).toEqual(['usage', 'string', 'usage', 'string', 'call', 'usage']);
});

verifies('C-060').test('Python: f-strings hold code, a global name stays global', async () => {
  const text = [
    'from shop import total',
    'x = f"total {total} {total():>3}"',
    'def f(total=1): return total',
    'def g():',
    '    global total',
    '    total = 2',
    'def h(a: total) -> total:',
    '    """total"""',
    '    return a.total(total=1)  # total',
  ].join('\n');
  expect(await occurrences('python', 'total', text)).toEqual([
    'import',
    'string',
    'usage',
    'call',
    'definition*',
    'usage*',
    'usage',
    'usage',
    'type',
    'type',
    'string',
    'call',
    'usage',
    'comment',
  ]);
});

verifies('C-060').test('each language tells comment, string, call and code apart', async () => {
  const cases: [Language, string, string[]][] = [
    [
      'go',
      'package p\nfunc f() { n(); s.n(); _ = "n"; var x n } // n\n',
      ['call', 'call', 'string', 'type', 'comment'],
    ],
    [
      'rust',
      'fn f() { n(); a.n(); n!(); p!("n {}", n(1), n); let _: n; } // n\n',
      ['call', 'call', 'call', 'string', 'call', 'usage', 'type', 'comment'],
    ],
    [
      'java',
      'class A { n f() { n(); a.n(); new n(); return "n"; } /* n */ }\n',
      ['type', 'call', 'call', 'call', 'string', 'comment'],
    ],
    [
      'kotlin',
      'fun f(a: n) {\n  n()\n  a.n()\n  g("n @{n}") // n\n}\n',
      ['type', 'call', 'call', 'string', 'usage', 'comment'],
    ],
    [
      'scala',
      'object O { def f(a: n) = { n(1); a.n(2); s"n @{n}" } } // n\n',
      ['type', 'call', 'call', 'string', 'usage', 'comment'],
    ],
    [
      'c',
      '#include <n>\nint f(void) { n(1); return sizeof("n") + n; } /* n */\n',
      ['import', 'call', 'string', 'usage', 'comment'],
    ],
    [
      'cpp',
      'void f() { n(1); a.n(); N::n(); auto s = R"(n)"; n<int>(); } // n\n',
      ['call', 'call', 'call', 'string', 'call', 'comment'],
    ],
    [
      'objc',
      '@implementation A\n- (void)f { [self n]; n(); NSLog(@"n"); } // n\n@end\n',
      ['call', 'call', 'string', 'comment'],
    ],
    [
      'csharp',
      'class A { n F() { n(); a.n(); return $"n {n}"; } } // n\n',
      ['type', 'call', 'call', 'string', 'usage', 'comment'],
    ],
    [
      'php',
      '<?php n(); $a->n(); X::n(); $s = "n {$n}"; new n(); // n\n',
      ['call', 'call', 'call', 'string', 'usage', 'call', 'comment'],
    ],
    ['ruby', 'n(1); a.n(2); s = "n #{n(3)}" # n\n', ['call', 'call', 'string', 'call', 'comment']],
    ['bash', 'n x; echo "n $n $(n)" \'n\' # n\n', ['call', 'string', 'usage', 'call', 'string', 'comment']],
    ['bash', `echo "n \${x#$n/}" \${x//n/n}; [[ $x =~ ^$n ]]\n`, ['string', 'usage', 'usage', 'usage', 'usage']],
    ['swift', 'n(); let s = "n \\(n)" // n\n', ['usage', 'string', 'usage', 'comment']],
  ];
  for (const [language, text, expected] of cases) {
    expect({ language, found: await occurrences(language, 'n', text) }).toEqual({ language, found: expected });
  }
});

verifies('C-060').test('answers keep the order of the hits, and a hit beyond the text is code', async () => {
  const source = Buffer.from('a(); // a\n');
  const hits = [
    { line: 1, column: 8 },
    { line: 1, column: 0 },
    { line: 99, column: 4 },
  ];
  expect(await parser.classify({ source, language: 'javascript', hits })).toEqual([
    { kind: 'comment' },
    { kind: 'call' },
    { kind: 'usage' },
  ]);
});
