import { expect } from 'vitest';
import { verifies } from '../../../../test/support/verifies.ts';
import { NameIndex } from './name-index.ts';

/** A store that notes from where it is read. */
function storeOf(names: string[][]) {
  const read: number[] = [];
  const row = (own: readonly string[], at: number) => ({
    id: at + 1,
    oid: `o${at}`,
    lang: 'go',
    names: own,
    imports: [],
  });
  return {
    read,
    generation: 1,
    names,
    kept: [] as string[][],
    *defined(after: number) {
      read.push(after);
      yield* this.names.map(row).slice(after);
    },
    *definedInMemory() {
      yield* this.kept.map((own, at) => ({ ...row(own, at), oid: `kept${at}` }));
    },
  };
}

verifies('C-128', 'C-066').test(
  'who defines a name is found among old and new facts, and only what is new is read',
  () => {
    const many = Array.from({ length: 3_000 }, (_, at) => [`name${at}`, `other${at}`, 'shared']);
    const store = storeOf(many);
    const index = new NameIndex(store);
    const definers = (name: string) => index.definers(name).map(({ oid }) => oid);
    expect([definers('name1234'), definers('shared').length, definers('absent')]).toEqual([['o1234'], 3_000, []]);
    store.names.push(['name1234', 'new']);
    expect([definers('name1234'), definers('new')]).toEqual([['o1234', 'o3000'], ['o3000']]);
    expect(store.read).toEqual([0, 3_000, 3_000, 3_000, 3_001]);
  },
);

verifies('C-023', 'C-025').test(
  'another store in its place is read from its beginning, and what cannot be written is found',
  () => {
    const store = storeOf([['gone'], ['gone']]);
    const index = new NameIndex(store);
    expect(index.definers('gone')).toHaveLength(2);
    store.generation = 2;
    store.names = [['here']];
    store.kept = [['unwritten']];
    const found = ['gone', 'here', 'unwritten'].map((name) => index.definers(name).map(({ oid }) => oid));
    expect(found).toEqual([[], ['o0'], ['kept0']]);
    index.unload();
    expect(index.definers('here')).toHaveLength(1);
  },
);
