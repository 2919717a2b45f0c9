import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { verifies } from '../../../../test/verifies.ts';
import { openSqlite } from '../../../store/driver.ts';
import type { FileFacts } from '../../lang/contract.ts';
import { packFacts, unpackFacts } from '../../lang/pack-facts.ts';
import type { Fact } from './fact.ts';
import { FactStore } from './fact-store.ts';

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'reef-facts-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

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
  const data = packFacts(FACTS);
  return {
    oid,
    lang: 'typescript',
    stage: 2,
    extractor: 'v1',
    status: 'ok',
    data,
    bytes: 10,
    lines: 3,
    ...changes,
  };
}

const ONE = '1'.repeat(40);
const TWO = '2'.repeat(64);

verifies('C-020').test('a fact is found by content, language and stage, and another extractor replaces it', () => {
  const store = new FactStore(join(folder(), 'code.db'));
  store.put([fact(ONE), fact(TWO), fact(ONE, { lang: 'javascript' })]);
  expect(store.body({ oid: ONE, lang: 'typescript', stage: 2 })).toEqual({
    extractor: 'v1',
    status: 'ok',
    data: Buffer.from(packFacts(FACTS)),
  });
  expect(unpackFacts(packFacts(FACTS))).toEqual(FACTS);
  expect(namesIn(store, 'a').map(({ oid, lang }) => [oid, lang])).toEqual([
    [ONE, 'typescript'],
    [TWO, 'typescript'],
    [ONE, 'javascript'],
  ]);
  store.put([fact(ONE, { extractor: 'v2', data: packFacts({ ...FACTS, definitions: [] }) })]);
  expect(namesIn(store, 'a').map(({ oid, lang }) => [oid, lang])).toEqual([
    [TWO, 'typescript'],
    [ONE, 'javascript'],
  ]);
  expect(store.covered(2).map(({ oids, extractor }) => [oids, extractor])).toContainEqual([[ONE], 'v2']);
  store.close();
});

verifies('C-023').test('a store of a newer Reef is refused and left as it is', () => {
  const file = join(folder(), 'code.db');
  const database = openSqlite(file);
  database.exec('CREATE TABLE later (x)');
  database.pragma('user_version = 99');
  database.close();
  const before = readFileSync(file);
  expect(() => new FactStore(file)).toThrow(expect.objectContaining({ code: 'store_too_new' }));
  expect(readFileSync(file)).toEqual(before);
});

verifies('C-023').test('a damaged store is set aside and made anew', () => {
  const dir = folder();
  const file = join(dir, 'code.db');
  writeFileSync(
    file,
    'this is no database, but it is longer than a header of a hundred bytes would ever be, is it not? yes it is.',
  );
  const store = new FactStore(file);
  store.put([fact(ONE)]);
  expect(namesIn(store, 'a')).toHaveLength(1);
  expect(readdirSync(dir).filter((name) => name.startsWith('code.db.bad-'))).toHaveLength(1);
  store.close();
});

verifies('C-023').test('a store that was removed under a server is noticed before the next write', () => {
  const file = join(folder(), 'code.db');
  const store = new FactStore(file);
  store.put([fact(ONE)]);
  for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
  store.put([fact(TWO)]);
  store.close();
  const again = new FactStore(file);
  expect(again.covered(2).flatMap(({ oids }) => oids)).toEqual([TWO]);
  again.close();
});

verifies('C-025').test('what cannot be written is answered from memory, and says so', () => {
  const dir = folder();
  writeFileSync(join(dir, 'index'), 'a file where the folder should be');
  const store = new FactStore(join(dir, 'index/code.db'));
  store.put([fact(ONE), fact(TWO, { stage: 1, lang: '', data: new Uint8Array([1, 0, 0, 0]) })]);
  expect(store.failure?.code).toBe('store_unavailable');
  expect(namesIn(store, 'b').map(({ oid }) => oid)).toEqual([ONE]);
  expect([...store.sketches()]).toEqual([{ oid: TWO, sketch: new Uint32Array([1]) }]);
  store.close();
});

verifies('C-025').test('what was kept in memory is written once the store can be used again', () => {
  const dir = folder();
  const file = join(dir, 'index/code.db');
  writeFileSync(join(dir, 'index'), '');
  const store = new FactStore(file, { retryMs: 0 });
  store.put([fact(ONE)]);
  rmSync(join(dir, 'index'));
  mkdirSync(join(dir, 'index'));
  store.put([fact(TWO)]);
  expect(store.failure).toBeUndefined();
  store.close();
  const again = new FactStore(file);
  expect(again.covered(2).flatMap(({ oids }) => oids)).toEqual([ONE, TWO]);
  again.close();
});

verifies('C-021').test('what is wanted is claimed by one, a fact is wanted no more, and only one leads', () => {
  const file = join(folder(), 'code.db');
  const [one, two] = [new FactStore(file), new FactStore(file)];
  const want = { oid: ONE, lang: '', stage: 1, rank: 0, extractor: 'v1' } as const;
  one.write(({ claims }) => claims.want([want]));
  const leads = [one, two].map((store) => store.write(({ claims }) => claims.lead()));
  const taken = [one, two].map((store) => store.write(({ claims }) => claims.take(1, 10))?.length);
  const claims = [one, two].map((store) => store.write(({ claims: each }) => each.claim(want, false)));
  one.put([fact(ONE, { lang: '', stage: 1 })]);
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
