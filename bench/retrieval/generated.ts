import { join } from 'node:path';
import { initRepository, plainGit, writeFiles } from '../../test/support/repository.ts';

const THINGS = ['invoice', 'ledger', 'courier', 'voucher', 'warehouse', 'refund', 'customer', 'parcel'];
const DEEDS = ['round', 'merge', 'print', 'validate', 'archive', 'forward', 'reject', 'schedule'];
const HOW = ['twice', 'too late', 'without its header', 'when it is empty', 'in another currency', 'after midnight'];

/** A small repository with fixes in its history, for a run without any other: it shows that the bench works, not how good an answer is. */
export function generateHistory(root: string): string {
  const folder = join(root, 'generated');
  const files = new Map(THINGS.flatMap((thing, at) => [moduleOf(thing, at), testOf(thing)]));
  const git = initRepository(folder, Object.fromEntries(files));
  for (const [at, thing] of THINGS.entries()) {
    for (const [turn, deed] of DEEDS.entries()) {
      const path = pathOf(thing, at);
      const text = files.get(path) as string;
      const changed = text.replace(
        `seen = ${capital(deed)}.of(value, ${turn})`,
        `seen = ${capital(deed)}.of(value, ${turn + 100})`,
      );
      files.set(path, changed);
      writeFiles(folder, { [path]: changed });
      git('commit', '-q', '-a', '-m', `Fix ${thing} that is ${deed}ed ${HOW[(at + turn) % HOW.length]}`);
    }
  }
  plainGit(folder)('checkout', '-q', '--detach');
  return folder;
}

function pathOf(thing: string, at: number): string {
  return at % 2 === 0 ? `src/${thing}.ts` : `lib/${thing}.py`;
}

function moduleOf(thing: string, at: number): [string, string] {
  const isScript = at % 2 === 0;
  const bodies = DEEDS.map((deed, turn) => {
    const name = isScript ? `${deed}${capital(thing)}` : `${deed}_${thing}`;
    const line = `seen = ${capital(deed)}.of(value, ${turn})`;
    return isScript
      ? `export function ${name}(value: number) {\n  let seen = value;\n  ${line};\n  return seen;\n}\n`
      : `def ${name}(value):\n    seen = value\n    ${line}\n    return seen\n`;
  });
  return [pathOf(thing, at), bodies.join('\n')];
}

function testOf(thing: string): [string, string] {
  return [
    `test/${thing}.test.ts`,
    DEEDS.map((deed) => `test('${deed} ${thing}', () => ${deed}${capital(thing)}(1));`).join('\n'),
  ];
}

function capital(word: string): string {
  return `${word[0]?.toUpperCase()}${word.slice(1)}`;
}
