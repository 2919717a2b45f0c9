import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { makeRepository } from '../../../../test/support/repository.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { openSqlite } from '../../../store/driver.ts';
import type { CodeParser } from '../../lang/contract.ts';
import { ParserPool } from '../../lang/parser-pool.ts';
import { CodeIndex } from '../code-index.ts';
import { explore } from '../explore/explore.ts';
import { related } from '../relations/relations.ts';
import { Classifier } from './classifier.ts';
import { KeptClasses } from './kept-classes.ts';
import { Pager } from './paging.ts';
import { references } from './references.ts';
import { RepoGraph } from './repo-graph.ts';

async function openIndex(files: Record<string, string>) {
  const repository = makeRepository(files);
  const pool = new ParserPool({ workers: 1 });
  const storeFile = join(repository.root, 'code.db');
  const { git, checkout: worktree } = repository;
  const index = await CodeIndex.open({
    git,
    worktree,
    storeFile,
    parser: async () => pool,
    workers: 1,
    engine: 'test',
  });
  onTestFinished(async () => {
    await index.close();
    await pool.close();
  });
  await index.view();
  await index.until(() => index.pendingWords === 0);
  return { index, storeFile, classifier: new Classifier(index.parser, 1), pager: new Pager() };
}

const keptOf = ({ store, languages }: CodeIndex) => new KeptClasses(store, (each) => languages.extractor(each));

/** The index's own parser classifies, when the test says so. */
function gated({ index }: { index: CodeIndex }) {
  const { parser } = index;
  let opened = Promise.withResolvers<void>();
  const gate = {
    begun: 0,
    ended: 0,
    open: () => opened.resolve(),
    close: () => {
      opened = Promise.withResolvers();
    },
  };
  const classify: CodeParser['classify'] = async (request) => {
    gate.begun += 1;
    await opened.promise;
    const classes = await (await parser()).classify(request);
    gate.ended += 1;
    return classes;
  };
  return { gate, classifier: new Classifier(async () => ({ classify }), 1, keptOf(index)) };
}

const FILES = Object.fromEntries(
  Array.from({ length: 12 }, (_, at) => [`src/f${at}.ts`, `// shared\nexport const f${at} = () => shared(${at});\n`]),
);

verifies('C-062').test(
  'what is not classified in time is returned as lexical, and says so; the next asker gets more',
  async () => {
    const open = await openIndex(FILES);
    const { gate, classifier } = gated(open);
    const tools = { ...open, classifier };
    const hasty = await references(tools, { name: 'shared', include_text: true }, { classifyMs: 0 });
    expect([hasty.total_count, hasty.basis.complete, hasty.basis.stage]).toEqual([24, false, 1]);
    expect(hasty.references.every(({ confidence }) => confidence === 'lexical')).toBe(true);
    gate.open();
    const patient = await references(tools, { name: 'shared' }, { classifyMs: 20_000 });
    expect([patient.total_count, patient.basis.complete, patient.basis.stage]).toEqual([12, true, 2]);
    expect(new Set(patient.references.map(({ reference_type }) => reference_type))).toEqual(new Set(['Call']));
  },
);

verifies('C-144').test(
  'a parser that starts late is awaited, and what it said is kept for the next server',
  async () => {
    const open = await openIndex(FILES);
    await open.index.until(() => open.index.pending === 0);
    const first = gated(open);
    const asked = references({ ...open, classifier: first.classifier }, { name: 'shared' });
    await expect.poll(() => first.gate.begun).toBe(1);
    await sleep(1_000); // longer than any file may take, shorter than a thread on a busy machine
    first.gate.open();
    const answer = await asked;
    const unsure = answer.references.filter(({ confidence }) => confidence === 'lexical');
    expect(answer.basis.complete ? unsure : answer.note).toEqual(
      answer.basis.complete ? [] : expect.stringContaining('not classified yet'),
    );
    expect(answer.references.some(({ reference_type }) => reference_type === 'Call')).toBe(true);
    const whole = await references(
      { ...open, classifier: first.classifier },
      { name: 'shared' },
      { classifyMs: 20_000 },
    );
    // The same store, and a parser that never answers.
    const next = gated(open);
    const again = await references({ ...open, classifier: next.classifier, pager: new Pager() }, { name: 'shared' });
    expect([again.references, again.basis.complete, next.gate.begun]).toEqual([whole.references, true, 0]);
  },
);

verifies('C-144').test(
  'once complete, the same question has the same answer, at once, until a file changes; before, it says why it is not',
  async () => {
    const open = await openIndex(FILES);
    const { gate, classifier } = gated(open);
    const ask = (ms: number) =>
      related({ ...open, classifier }, { tool: 'get_impact', args: { name: 'f1', depth: 3 } }, { ms });
    const hasty = await ask(0);
    expect([hasty.basis.complete, hasty.note]).toEqual([false, expect.stringContaining('ask again')]);
    gate.open();
    expect((await ask(20_000)).basis.complete).toBe(true);

    const { index } = open;
    const pager = new Pager();
    let made = 0;
    const place = async (pending: number) => {
      const make = async () => ({ count: ++made, items: () => [], paths: ['src/f1.ts'], pending });
      return (await pager.place({ question: ['f1'], cursor: undefined, make }, await index.view())).whole.count;
    };
    expect([await place(1), await place(0), await place(0)]).toEqual([1, 2, 2]);
    writeFileSync(join(index.tree.checkout.toplevel, 'src/new.ts'), 'export const more = 1;\n');
    expect(await place(0)).toBe(3);
  },
);

verifies('C-062', 'C-078').test(
  'what is classified for nobody any more can be left, what is waited for cannot',
  async () => {
    const open = await openIndex(FILES);
    const { gate, classifier } = gated(open);
    const ask = async (classifyMs: number) => {
      const asked = { name: 'shared', include_text: true };
      return (await references({ ...open, classifier }, asked, { classifyMs })).basis;
    };
    expect((await ask(0)).pending).toBe(12); // answered without; it goes on in the background
    expect(classifier.rest()).toBe(false);
    gate.open();
    await expect.poll(() => gate.ended).toBe(1);
    await setImmediate();
    expect(gate.begun).toBe(1);

    gate.close();
    const patient = ask(20_000);
    await expect.poll(() => gate.begun).toBe(2);
    expect(classifier.rest()).toBe(true);
    gate.open();
    expect(await patient).toMatchObject({ complete: true, pending: 0 });
  },
);

verifies('C-060').test('a name that stands ten thousand times in one line is found at each place of it', async () => {
  const places = 20_000;
  const tools = await openIndex({ 'out/bundle.min.js': `${'é=>e(q);'.repeat(places)}\ne` });
  const whole = await references(tools, { name: 'e', limit: 3 });
  expect(whole.total_count).toBe(places + 1);
  const shown = whole.references.map(({ location: { start_line, start_column } }) => [start_line, start_column]);
  expect(shown).toEqual([
    [1, 3],
    [1, 11],
    [1, 19],
  ]);
  const last = await references(tools, { name: 'e', cursor: cursorAt(whole.next_cursor, places - 1) });
  const [inLine, alone] = last.references;
  expect([inLine?.location.start_column, alone?.location]).toMatchObject([
    8 * places - 5,
    { start_line: 2, start_column: 0 },
  ]);
  expect(inLine?.line_text).toMatch(/^.{0,2}(é=>e\(q\);){10,}$/);
  expect(alone?.line_text).toBe('e');
});

/** The same answer from another place on. */
function cursorAt(cursor = '', at: number): string {
  return cursor.replace(/\d+$/, String(at));
}

verifies('C-064').test('the base rank is kept by tree alone: another question, another row there is not', async () => {
  const tools = await openIndex({ ...FILES, 'src/shared.ts': 'export function shared(at: number) { return at; }\n' });
  const { index, storeFile } = tools;
  await index.until(() => index.pendingStructures === 0);
  const graph = new RepoGraph(index);
  const rows = () => {
    const database = openSqlite(storeFile, 'read');
    const found = database.prepare('SELECT tree, extractor FROM base_rank').all();
    database.close();
    return found;
  };
  const view = await index.view();
  const { base, paths } = await graph.get(view);
  const first = rows();
  await explore({ index, graph }, { question: 'what does shared return' });
  await explore({ index, graph }, { question: 'something else altogether, f3 say' });
  expect([first.length, rows()]).toEqual([1, first]);
  expect(paths[base.indexOf(Math.max(...base))]).toBe('src/shared.ts');
});
