import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readDeclaration, sourceAt } from './declaration.ts';

/** Most are in the recording of roberto-mcp (C-095); these are the others. */
const DECLARATIONS: Record<string, [name: string, signature: string]> = {
  'pub(crate) unsafe extern "C" fn open<\'a>(x: &\'a str) {': [
    'open',
    'pub(crate) unsafe extern "C" fn open<\'a>(x: &\'a str) {',
  ],
  '#[inline]\npub fn close() {\n  a();': ['close', 'pub fn close() {'],
  'func Map[T any](items []T) []T {': ['Map', 'func Map[T any](items []T) []T {'],
  'fun Map<String, Int>.largest(): Int = max()': ['largest', 'fun Map<String, Int>.largest(): Int = max()'],
  'fun <T : Comparable<T>> List<T>?.largest(): T? {': ['largest', 'fun <T : Comparable<T>> List<T>?.largest(): T? {'],
  'function on<S, Z extends z.ZodType>(': ['on', 'function on<S, Z extends z.ZodType>('],
  'def next: pkg.Status = check(1)': ['next', 'def next: pkg.Status = check(1)'],
  'def self.open; new(0); end': ['open', 'def self.open; new(0); end'],
  'private handle: Handler<Event> = (event) => this.close(event);': [
    'handle',
    'private handle: Handler<Event> = (event) => this.close(event);',
  ],
  'async #end(jobId: string): Promise<void> {': ['#end', 'async #end(jobId: string): Promise<void> {'],
  'type(line) {': ['type', 'type(line) {'],
  'public (int, int) Pair(int a) {': ['Pair', 'public (int, int) Pair(int a) {'],
  'add<T = Item>(item: T): void {': ['add', 'add<T = Item>(item: T): void {'],
  'async add(item: Item, amount = count(item)): Promise<void> {': [
    'add',
    'async add(item: Item, amount = count(item)): Promise<void> {',
  ],
  '@app.route("/", methods=(1, 2))\n@cached\ndef index(request):': ['index', 'def index(request):'],
  '@Deprecated(with = Other("x", of(1)))\n// for call(int)\nfun close() {': ['close', 'fun close() {'],
  '__attribute__((unused)) static int spare(void) {': ['spare', '__attribute__((unused)) static int spare(void) {'],
};

test('a declaration is called what its language calls it', () => {
  const read = Object.keys(DECLARATIONS).map((source) => readDeclaration(source));
  expect(read).toEqual(Object.values(DECLARATIONS).map(([name, signature]) => ({ name, signature })));
});

test('what has no name has none', () => {
  expect(['', '@Override', '[Obsolete]', 'static int', 'if (a) {'].map(readDeclaration)).toEqual(
    Array.from({ length: 5 }, () => undefined),
  );
});

test('whatever the text, a name stands in it, and reading ends', () => {
  const piece = fc.constantFrom(
    ...[' ', '\n', '(', ')', '<', '>', '@a', '[', ']', '=', 'def', 'fn', 'pub(', 'x', '`', '.', '{'],
  );
  fc.assert(
    fc.property(fc.array(piece, { minLength: 200, maxLength: 2_000 }), (pieces) => {
      const source = sourceAt([pieces.join('')], { line: 1, column: 0 });
      const { name = '' } = readDeclaration(source) ?? {};
      expect(source.includes(name)).toBe(true);
    }),
    { numRuns: 300 },
  );
});
