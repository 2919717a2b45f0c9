import { renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { namesIn } from '../../../test/support/context/names-in.ts';
import { openNoted, sweepsIn } from '../../../test/support/context/noted-tools.ts';
import { ServerClient } from '../../../test/support/context/server-client.ts';
import { makeRepository, type TestRepository } from '../../../test/support/repository.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { CodeToolName } from '../../protocol/code.ts';

function serve(repository: TestRepository, worktree: string): ServerClient {
  const client = new ServerClient({ worktree, store: join(repository.root, 'index/code.db') });
  onTestFinished(async () => void (await client.close()));
  return client;
}

const MASKED = {
  'src/gone.ts': 'export function alphaGone() {}\n',
  'src/old.ts': 'export function betaMoved() {}\n',
  'src/text.ts': 'export function gammaOld() {}\n',
  'src/user.ts': "import { betaMoved } from './old.ts';\nexport const used = betaMoved;\n",
};
/** Of every tool, about everything that was ever there. */
const QUESTIONS: [CodeToolName, object][] = [
  ...['alphaGone', 'gammaOld'].flatMap((name): [CodeToolName, object][] => [
    ['get_symbol', { name, include_source: true }],
    ['get_symbol_references', { name, include_text: true }],
    ['find_symbols', { query: name }],
    ['code_search', { query: name }],
    ['explore_code', { question: `where is ${name}?` }],
  ]),
  ['get_symbol', { name: 'betaMoved' }],
  ['get_symbol_references', { name: 'betaMoved' }],
  ['get_directory_outline', { directory_path: '.' }],
  ['get_hops', { files: ['src/user.ts'], depth: 3 }],
  ['explore_code', { question: 'alphaGone betaMoved gammaOld', files: ['src/user.ts'] }],
];

verifies('C-144').test(
  'the first answer is right: of a file written just now, and of a server started just now, and index and status agree',
  async () => {
    const repository = makeRepository(MASKED);
    const ask = async (client: ServerClient) => {
      const { references, basis } = await client.call('get_symbol_references', { name: 'freshlyMade' });
      const { symbols } = await client.call('get_symbol', { name: 'freshlyMade' });
      const told = references.map(({ location, reference_type }) => `${location.file} ${reference_type}`);
      return { told, sure: references.map(({ confidence }) => confidence), complete: basis.complete, symbols };
    };
    const first = serve(repository, repository.checkout);
    await first.call('index_code', { path: repository.checkout, wait: 'complete' });
    writeFileSync(join(repository.checkout, 'src/fresh.ts'), 'export function freshlyMade() {}\n');
    writeFileSync(
      join(repository.checkout, 'src/uses.ts'),
      "import { freshlyMade } from './fresh.ts';\nfreshlyMade();\n",
    );
    const told = ['src/fresh.ts Definition', 'src/uses.ts Call', 'src/uses.ts Import'];
    const before = await ask(first);
    expect([before.told.toSorted(), before.complete, before.symbols.length]).toEqual([told, true, 1]);
    expect(before.sure).not.toContain('lexical');
    await first.close();
    const second = serve(repository, repository.checkout);
    expect(await ask(second)).toEqual(before);
    const status = async (wait: 'usable' | 'complete') =>
      (await second.call('index_code', { path: repository.checkout, wait })).basis;
    const { freshAsOf: _then, ...indexed } = await status('complete');
    const { freshAsOf: _now, ...seen } = await status('usable');
    expect([seen, seen.stage, seen.pending]).toEqual([indexed, 2, 0]);
    await second.close();
  },
);

verifies('C-034').test(
  'what its writer announces is read before anybody asks: a file in a folder nobody watches, a new one, and one of many',
  async () => {
    const old = Object.fromEntries(
      Array.from({ length: 9 }, (_, at) => [`src/old${at}.ts`, `export const old${at} = 1;\n`]),
    );
    const repository = makeRepository({ ...old, '.gitignore': 'out/\n' });
    for (const path of Object.keys(old)) utimesSync(join(repository.checkout, path), 1, 1); // so no folder is watched
    const client = serve(repository, repository.checkout);
    await client.call('index_code', { path: repository.checkout, wait: 'complete' });
    const known = () => namesIn(join(repository.root, 'index/code.db'));
    repository.write('src/old1.ts', 'export const rewritten = 1;\n');
    client.notify('reef/changed', { paths: ['src/old1.ts'] });
    await expect.poll(known).toContain('rewritten');
    repository.write('src/made/fresh.ts', 'export const freshlyMade = 1;\n');
    repository.write('out/ignored.ts', 'export const builtHere = 1;\n');
    client.notify('reef/changed', { paths: ['src/made/fresh.ts', 'out/ignored.ts', '../beside.ts', 7] });
    await expect.poll(known).toContain('freshlyMade');
    repository.write('src/old2.ts', 'export const unnamed = 1;\n');
    client.notify('reef/changed', { paths: [] });
    client.notify('reef/changed', 'nonsense');
    client.notify('reef/unknown', {});
    await expect.poll(known).toContain('unnamed');
    expect([known().includes('builtHere'), client.refusals]).toEqual([false, []]);
  },
);

verifies('C-031').test(
  'what is deleted, renamed or rewritten in one worktree is gone from every tool there, though others still hold it',
  async () => {
    const repository = makeRepository(MASKED);
    const two = join(repository.root, 'two');
    repository.plain('worktree', 'add', '-q', '-b', 'two', two);
    const [one, other] = [serve(repository, repository.checkout), serve(repository, two)];
    const told = async (client: ServerClient) => {
      const answers = await Promise.all(
        QUESTIONS.map(([name, args]) => client.call(name, { ...args, require: 'complete' } as never)),
      );
      return JSON.stringify(answers.map(({ basis: _basis, ...answer }: { basis: object }) => answer));
    };
    const before = await told(one);
    expect(await told(other)).toBe(before);
    rmSync(join(two, 'src/gone.ts'));
    renameSync(join(two, 'src/old.ts'), join(two, 'src/new.ts'));
    writeFileSync(join(two, 'src/text.ts'), 'export function gammaNew() {}\n');
    const traces = ['src/gone.ts', 'alphaGone', 'src/old.ts', 'gammaOld'];
    const after = await told(other);
    // What imports it still names it: that is in its own text.
    const inText = (trace: string) => (trace === 'src/old.ts' ? after.replaceAll("'./old.ts'", '') : after);
    expect(traces.filter((trace) => inText(trace).includes(trace))).toEqual([]);
    const places = (await other.call('get_symbol', { name: 'betaMoved' })).symbols.map(({ location }) => location.file);
    expect([places, after.includes('gammaNew')]).toEqual([['src/new.ts'], true]);
    for (const path of ['src/gone.ts', 'src/old.ts'])
      expect(await other.refusal('get_file_outline', { file_path: path })).toMatchObject({ code: 'file_not_found' });
    // The same by commits: another branch is checked out below the server.
    repository.plain('-C', two, 'add', '-A');
    repository.plain('-C', two, 'commit', '-qm', 'changed');
    expect(await told(other)).toBe(after);
    repository.plain('-C', two, 'checkout', '-q', '--detach', 'main');
    expect(await told(other)).toBe(before);
    expect(await told(one)).toBe(before);
  },
  120_000,
);

verifies('C-033').test(
  'a question about one file looks at that file alone; any other rests on a sweep that began after it, which many share',
  async () => {
    const repository = makeRepository({
      'src/a.ts': 'export function first() {}\n',
      'src/b.ts': 'export function second() {}\n',
    });
    const { commands, ask } = await openNoted(repository);
    await ask('index_code', { path: '.', wait: 'complete' });
    commands.length = 0;
    repository.write('src/a.ts', 'export function fresh() {}\n');
    const outline = await ask('get_file_outline', { file_path: 'src/a.ts' });
    expect([outline.symbols.map(({ name }) => name), sweepsIn(commands)]).toEqual([['fresh'], 0]);
    const asked = Date.now();
    repository.write('src/b.ts', 'export function newer() {}\n');
    const many = (more: { require?: 'complete' }) =>
      Promise.all(Array.from({ length: 20 }, () => ask('get_symbol', { name: 'newer', ...more })));
    const hasty = await many({});
    expect([sweepsIn(commands) > 0, sweepsIn(commands) <= 4]).toEqual([true, true]);
    const complete = await many({ require: 'complete' }); // each asks again until it is
    const late = [...hasty, ...complete].filter(({ basis }) => Date.parse(basis.freshAsOf) < asked);
    expect([late, complete.filter(({ symbols }) => symbols.length !== 1)]).toEqual([[], []]);
  },
);

verifies('C-012').test(
  'structure comes in the background, the files most others name first, and at once for what a question touches',
  async () => {
    const files: Record<string, string> = {};
    const write = (name: string, text: string) => {
      files[`src/${name}.ts`] = `// ${name}\n${text}\nexport function ${name}Own() {}\n`;
    };
    write('hub', '');
    write('middle', '');
    for (let at = 0; at < 260; at++) write(`leaf${at}`, at < 160 ? 'const x = hub;' : 'const y = middle;');
    const repository = makeRepository(files);
    const { parsed, ask, hold } = await openNoted(repository);
    hold(true);
    const indexed = await ask('index_code', { path: repository.checkout });
    expect([indexed.status, indexed.basis.stage]).toEqual(['success', 1]); // usable before anything is parsed
    await expect.poll(() => parsed.length).toBe(200); // as many as are under way at a time
    const later =
      Object.keys(files)
        .map((path) => basename(path, '.ts'))
        .find((name) => !parsed.includes(name)) ?? '';
    const outline = ask('get_file_outline', { file_path: `src/${later}.ts` });
    await expect.poll(() => parsed.includes(later)).toBe(true);
    expect(parsed.indexOf(later)).toBe(200); // next of all, though it is named by nobody
    hold(false);
    expect((await outline).symbols.map(({ name }) => name)).toContain(`${later}Own`);
    await ask('index_code', { path: '.', wait: 'complete' });
    expect([parsed.slice(0, 2), parsed.length, new Set(parsed).size]).toEqual([['hub', 'middle'], 262, 262]);
  },
);

verifies('C-012').test(
  'of a file its definitions, imports and scopes are known, and the answers rest on them',
  async () => {
    const { ask } = await openNoted(
      makeRepository({
        'src/price.ts': 'export function round(value: number) {\n  return value;\n}\n',
        'src/cart.ts': [
          "import { round as tidy } from './price.ts';",
          'export class Cart {',
          '  total(round: number) {',
          '    return round + tidy(1);',
          '  }',
          '}',
          'const hidden = 1;',
          '',
        ].join('\n'),
      }),
    );
    const [total] = (await ask('get_symbol', { name: 'total', require: 'complete' })).symbols;
    expect(total).toMatchObject({
      symbol_type: 'method',
      namespace: 'Cart',
      visibility: 'public',
      signature: 'total(round: number)',
      location: { start_line: 3, start_column: 2, end_line: 5 },
    });
    const [hidden] = (await ask('get_symbol', { name: 'hidden' })).symbols;
    expect(hidden?.visibility).toBe('private');
    const uses = await ask('get_symbol_references', {
      name: 'round',
      file_path: 'src/price.ts',
      line: 1,
      require: 'complete',
    });
    // The parameter of the same name lies in a scope of its own: what is meant comes first.
    expect(uses.references.map(({ location, confidence }) => [location.file, location.start_line, confidence])).toEqual(
      [
        ['src/cart.ts', 1, 'exact'],
        ['src/price.ts', 1, 'exact'],
        ['src/cart.ts', 3, expect.stringMatching(/exact|name/)],
        ['src/cart.ts', 4, expect.stringMatching(/exact|name/)],
      ],
    );
    const { files } = await ask('get_hops', { files: ['src/price.ts'], depth: 1, require: 'complete' });
    expect(files).toContainEqual({ file_path: 'src/cart.ts', distance: 1, via: 'imported_by' });
  },
);
