import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { writeFacts } from '../../../../test/support/context/write-facts.ts';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { openSqlite } from '../../../store/driver.ts';
import type { FileFacts } from '../../lang/contract.ts';
import { packFacts, unpackFacts } from '../../lang/pack-facts.ts';
import { FactStore } from './fact-store.ts';
import type { Fact } from './fact-table.ts';

const FACTS: FileFacts = {
  definitions: [
    {
      name: 'a',
      kind: 'function',
      line: 1,
      column: 9,
      endLine: 3,
      endColumn: 1,
      signature: 'function a()',
      exported: true,
    },
    {
      name: 'b',
      kind: 'method',
      line: 2,
      column: 2,
      endLine: 2,
      endColumn: 9,
      signature: 'b()',
      exported: false,
      container: 'A',
    },
  ],
  imports: [{ source: './x.ts', line: 1, names: [{ name: 'y' }, { name: 'z', alias: 'w' }] }],
  partial: false,
};

/** The contents that define a name, as a reader of the store from its beginning sees it. */
function namesIn(store: FactStore, name: string) {
  return [...store.defined(0), ...store.definedInMemory()].filter(({ names }) => names.includes(name));
}

function fact(oid: string, changes: Partial<Fact> = {}): Fact {
  const { data, summary } = packFacts(FACTS);
  return { oid, lang: 'typescript', stage: 2, extractor: 'v1', status: 'ok', data, summary, bytes: 10, ...changes };
}

function words(oid: string): Fact {
  const { summary, ...rest } = fact(oid, { stage: 1, lang: '', data: new Uint8Array([1, 0, 0, 0]) });
  return rest;
}

const ONE = '1'.repeat(40);
const TWO = '2'.repeat(64);

verifies('C-020').test('a fact is found by content, language and stage, and another extractor replaces it', () => {
  const store = new FactStore(join(temporaryFolder(), 'code.db'));
  writeFacts(store, [fact(ONE), fact(TWO), fact(ONE, { lang: 'javascript' })]);
  expect(store.body({ oid: ONE, lang: 'typescript', stage: 2 })).toEqual({
    extractor: 'v1',
    status: 'ok',
    data: Buffer.from(packFacts(FACTS).data),
  });
  expect(unpackFacts(packFacts(FACTS).data)).toEqual(FACTS);
  expect(namesIn(store, 'a').map(({ oid, lang }) => [oid, lang])).toEqual([
    [ONE, 'typescript'],
    [TWO, 'typescript'],
    [ONE, 'javascript'],
  ]);
  writeFacts(store, [fact(ONE, { extractor: 'v2', ...packFacts({ ...FACTS, definitions: [] }) })]);
  expect(namesIn(store, 'a').map(({ oid, lang }) => [oid, lang])).toEqual([
    [TWO, 'typescript'],
    [ONE, 'javascript'],
  ]);
  expect(store.covered(2).map(({ oids, extractor }) => [oids, extractor])).toContainEqual([[ONE], 'v2']);
  store.close();
});

verifies('C-023').test('a store of a newer Reef is refused and left as it is', () => {
  const file = join(temporaryFolder(), 'code.db');
  const database = openSqlite(file);
  database.exec('CREATE TABLE later (x)');
  database.pragma('user_version = 99');
  database.close();
  const before = readFileSync(file);
  expect(() => new FactStore(file)).toThrow(expect.objectContaining({ code: 'store_too_new' }));
  expect(readFileSync(file)).toEqual(before);
});

verifies('C-023').test('a damaged store is set aside and made anew', () => {
  const dir = temporaryFolder();
  const file = join(dir, 'code.db');
  writeFileSync(
    file,
    'this is no database, but it is longer than a header of a hundred bytes would ever be, is it not? yes it is.',
  );
  const store = new FactStore(file);
  writeFacts(store, [fact(ONE)]);
  expect(namesIn(store, 'a')).toHaveLength(1);
  expect(readdirSync(dir).filter((name) => name.startsWith('code.db.bad-'))).toHaveLength(1);
  store.close();
});

verifies('C-023').test('a store that was removed under a server is noticed before the next write', () => {
  const file = join(temporaryFolder(), 'code.db');
  const store = new FactStore(file);
  writeFacts(store, [fact(ONE)]);
  for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
  writeFacts(store, [fact(TWO)]);
  store.close();
  const again = new FactStore(file);
  expect(again.covered(2).flatMap(({ oids }) => oids)).toEqual([TWO]);
  again.close();
});

verifies('C-025').test('what cannot be written is answered from memory, and says so', () => {
  const dir = temporaryFolder();
  writeFileSync(join(dir, 'index'), 'a file where the folder should be');
  const store = new FactStore(join(dir, 'index/code.db'));
  writeFacts(store, [fact(ONE), words(TWO)]);
  expect(store.failure?.code).toBe('store_unavailable');
  expect(namesIn(store, 'b').map(({ oid }) => oid)).toEqual([ONE]);
  expect([...store.sketches()]).toEqual([{ oid: TWO, sketch: new Uint32Array([1]) }]);
  store.close();
});

verifies('C-025').test('what was kept in memory is written once the store can be used again', () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const dir = temporaryFolder();
  const file = join(dir, 'index/code.db');
  writeFileSync(join(dir, 'index'), '');
  const store = new FactStore(file);
  writeFacts(store, [fact(ONE)]);
  vi.advanceTimersByTime(60_001);
  rmSync(join(dir, 'index'));
  mkdirSync(join(dir, 'index'));
  writeFacts(store, [fact(TWO)]);
  expect(store.failure).toBeUndefined();
  store.close();
  const again = new FactStore(file);
  expect(again.covered(2).flatMap(({ oids }) => oids)).toEqual([ONE, TWO]);
  again.close();
});

verifies('C-021').test('who leads claims its own by the batch, and nobody else works at it meanwhile', () => {
  const file = join(temporaryFolder(), 'code.db');
  const [one, two] = [new FactStore(file), new FactStore(file)];
  const wants = [ONE, TWO].map((oid) => ({ oid, lang: 'c', stage: 2, rank: 0, extractor: 'v1' }) as const);
  const [first, second] = wants as [(typeof wants)[0], (typeof wants)[0]];
  two.write(({ claims }) => claims.want([first])); // asked for before it is claimed …
  const asked = two.write(({ claims }) => claims.claim(second, false)); // … and taken for a question
  const mine = one.write(({ claims }) => claims.claimAll(wants).map(({ oid }) => oid));
  const busy = two.write(({ claims }) => [claims.claim(first, false), claims.claimAll([first]).length]);
  const again = one.write(({ claims }) => [claims.take(2, 10).length, claims.claimAll([first]).length]);
  writeFacts(one, [fact(ONE, { lang: 'c' })]);
  const done = two.write(({ claims }) => [claims.claim(first, false), claims.claimAll([first]).length]);
  one.close();
  two.close();
  expect({ asked, mine, busy, again, done }).toEqual({
    ...{ asked: 'mine', mine: [ONE], busy: ['busy', 0] },
    ...{ again: [0, 1], done: ['done', 0] },
  });
});

verifies('C-021').test('what a server claimed that died is free for others after a while, at once if it ended', () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const file = join(temporaryFolder(), 'code.db');
  const [dead, two] = [new FactStore(file), new FactStore(file)];
  const want = { oid: ONE, lang: 'c', stage: 2, rank: 0, extractor: 'v1' } as const;
  const claim = (store: FactStore) => store.write(({ claims }) => claims.claimAll([want]).length);
  const claims = [claim(dead), claim(two)];
  vi.advanceTimersByTime(10_001);
  claims.push(claim(two), claim(dead));
  two.close();
  claims.push(claim(dead));
  dead.close();
  expect(claims).toEqual([1, 0, 1, 0, 1]);
});

verifies('C-023').test('what is to be written later is found at once, and on disk in transactions of 200', () => {
  const file = join(temporaryFolder(), 'code.db');
  const [store, other] = [new FactStore(file), new FactStore(file)];
  const oids = Array.from({ length: 450 }, (_, at) => at.toString(16).padStart(40, '0'));
  for (const oid of oids) store.put(words(oid));
  const countOf = (each: FactStore) => each.covered(1).reduce((sum, row) => sum + row.oids.length, 0);
  const seen = [[countOf(store), [...store.sketches()].length, countOf(other)]];
  for (let more = true; more; ) {
    more = store.flush(1);
    seen.push([countOf(store), [...store.sketches()].length, countOf(other)]);
  }
  store.put(fact(ONE));
  store.close();
  expect([...seen, other.covered(2).length]).toEqual([
    ...[
      [450, 450, 0],
      [450, 450, 200],
      [450, 450, 400],
      [450, 450, 450],
    ],
    1,
  ]);
  other.close();
});

verifies('C-021').test('what is wanted is claimed by one, a fact is wanted no more, and only one leads', () => {
  const file = join(temporaryFolder(), 'code.db');
  const [one, two] = [new FactStore(file), new FactStore(file)];
  const want = { oid: ONE, lang: '', stage: 1, rank: 0, extractor: 'v1' } as const;
  one.write(({ claims }) => claims.want([want]));
  const leads = [one, two].map((store) => store.write(({ claims }) => claims.lead()));
  const taken = [one, two].map((store) => store.write(({ claims }) => claims.take(1, 10))?.length);
  const claims = [one, two].map((store) => store.write(({ claims: each }) => each.claim(want, false)));
  writeFacts(one, [words(ONE)]);
  two.write(({ claims: each }) => each.want([want]));
  const after = two.write(({ claims: each }) => each.claim(want, false));
  one.close();
  expect({ leads, taken, claims, after, freed: two.write(({ claims: each }) => each.lead()) }).toEqual({
    leads: [true, false],
    taken: [1, 0],
    claims: ['mine', 'busy'],
    after: 'done',
    freed: true,
  });
  two.close();
});
