import { lstatSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { initRepository, type PlainGit, plainGit, writeFiles } from '../../test/support/repository.ts';
import { disposableFolder } from '../../test/support/temporary-folder.ts';

export interface Corpus {
  name: string;
  /** A temporary folder for clones, worktrees and stores. */
  root: string;
  checkout: string;
  files: string[];
  git: PlainGit;
  remove(): void;
}

/** A clone of a repository by path, or a generated one: the user's own is never touched. */
export function makeCorpus(source: { path: string } | { files: number }): Corpus {
  const folder = disposableFolder();
  const root = folder.path;
  const checkout = join(root, 'repo');
  const git = plainGit(checkout);
  if ('path' in source) plainGit(root)('clone', '-q', '--shared', resolve(source.path), checkout);
  else {
    generate(checkout, source.files);
    initRepository(checkout);
  }
  const files = git('ls-files', '-z').split('\0').filter(Boolean);
  const name = 'path' in source ? basename(source.path) : `generated, ${source.files} files`;
  return { name, root, checkout, files, git, remove: folder[Symbol.dispose] };
}

/** C-122 is of a file that is no larger. */
const EDITED_BYTES = 50 * 1024;

/** A file with definitions, the largest that may be, the same in every part of a run. */
export function parsedFile({ checkout, files }: Pick<Corpus, 'checkout' | 'files'>): string {
  const sizes = files
    .filter((path) => /\.(ts|py|go)$/.test(path))
    .map((path) => ({ path, size: lstatSync(join(checkout, path)).size }))
    .filter(({ size }) => size <= EDITED_BYTES);
  return sizes.sort((a, b) => b.size - a.size)[0]?.path ?? files[0] ?? '';
}

/** A body as long as real ones: definitions alone would make any index look large. */
const BODY = Array.from({ length: 8 }, (_, at) => `seen${at} = seen${at} + value * ${at} - 1`);

const WORDS = ['user', 'order', 'price', 'cart', 'token', 'event', 'queue', 'index', 'merge', 'tree', 'route', 'cache'];

function word(at: number): string {
  return WORDS[at % WORDS.length] as string;
}

function nameOf(at: number): string {
  const second = word(at * 7 + 3);
  return `${word(at)}${second[0]?.toUpperCase()}${second.slice(1)}${at}`;
}

/** Three languages, real imports, calls across files: about 3 KB a file. */
function generate(folder: string, count: number): void {
  for (let at = 0; at < count; at++) {
    const [path, text] = at % 3 === 0 ? python(at, count) : at % 3 === 1 ? script(at, count) : go(at);
    writeFiles(folder, { [path]: text });
  }
}

function script(at: number, count: number): [string, string] {
  const used = (at * 31 + 1) % count;
  const functions = Array.from({ length: 20 }, (_, each) => {
    const name = `${nameOf(at)}Step${each}`;
    return `/** Step ${each} of ${word(at)}. */\nexport function ${name}(value: number): number {\n  ${BODY.map((line) => `let ${line};`).join('\n  ')}\n  const local = value + ${each};\n  return ${nameOf(used)}(local) * 2;\n}\n`;
  });
  const head = `import { ${nameOf(used)} } from '../m${used % 50}/${nameOf(used)}.ts';\n\n`;
  return [
    `src/m${at % 50}/${nameOf(at)}.ts`,
    `${head}export class ${nameOf(at)}Box { total = 0; add(item: number) { this.total += item; } }\n${functions.join('\n')}`,
  ];
}

function python(at: number, count: number): [string, string] {
  const used = (at * 17 + 5) % count;
  const functions = Array.from(
    { length: 20 },
    (_, each) =>
      `def ${nameOf(at)}_step_${each}(value):\n    # step ${each}\n    ${BODY.join('\n    ')}\n    return ${nameOf(used)}(value) + ${each}\n\n\n`,
  );
  return [
    `lib/p${at % 40}/${nameOf(at)}.py`,
    `from lib import ${nameOf(used)}\n\n\nclass ${nameOf(at)}:\n    def run(self):\n        return 1\n\n\n${functions.join('')}`,
  ];
}

function go(at: number): [string, string] {
  const functions = Array.from(
    { length: 20 },
    (_, each) =>
      `// Step${each} of ${word(at)}.\nfunc ${nameOf(at)}Step${each}(value int) int {\n\t${BODY.join('\n\t')}\n\treturn value + ${each}\n}\n`,
  );
  return [
    `pkg/g${at % 30}/${nameOf(at)}.go`,
    `package g${at % 30}\n\ntype ${nameOf(at)} struct{ Total int }\n\n${functions.join('\n')}`,
  ];
}
