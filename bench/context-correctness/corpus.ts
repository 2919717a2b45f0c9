import { mkdir, open, readdir } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import type { Language } from '../../src/context/lang/contract.ts';
import { languageOf } from '../../src/context/lang/language-of.ts';
import { run } from '../../src/process/run.ts';
import { disposableFolder } from '../../test/support/temporary-folder.ts';

export interface CorpusFile {
  path: string;
  /** From the root of its corpus, for showing. */
  shown: string;
  language: Language;
}

export interface Corpus {
  name: string;
  root: string;
  files: CorpusFile[];
}

const HEAD_BYTES = 8_192;

/** Unpacks npm packages under a fresh directory, which goes when `use` has ended. */
export async function withPackages<T>(specs: readonly string[], use: (roots: Corpus[]) => Promise<T>): Promise<T> {
  using folder = disposableFolder();
  const corpora: Corpus[] = [];
  for (const [index, spec] of specs.entries()) corpora.push(await fetchPackage(spec, join(folder.path, String(index))));
  return await use(corpora);
}

async function fetchPackage(spec: string, target: string): Promise<Corpus> {
  const unpacked = join(target, 'unpacked');
  await mkdir(unpacked, { recursive: true });
  await tool('npm', ['pack', '--silent', '--pack-destination', target, spec], { cwd: target });
  const archive = (await readdir(target)).find((name) => name.endsWith('.tgz'));
  if (archive === undefined) throw new Error(`npm pack gave no archive for ${spec}`);
  await tool('tar', ['-xzf', join(target, archive), '-C', unpacked, '--strip-components=1'], { cwd: target });
  return readCorpus(spec, unpacked);
}

/** Runs a program the comparison needs and gives what it printed. */
export async function tool(file: string, args: string[], where: { cwd: string; input?: string }): Promise<string> {
  const env = Object.fromEntries(Object.entries(process.env).map(([name, value = '']) => [name, value])); // npm's proxy and certificates
  const result = await run({
    file,
    args,
    cwd: where.cwd,
    env,
    input: where.input ?? '',
    timeoutMs: 300_000,
    maxBytes: 1 << 29,
  });
  // ripgrep ends with 1 when it finds nothing
  if (result.code !== 0 && !(file === 'rg' && result.code === 1)) {
    throw new Error(`${file} ended with ${result.code}: ${result.stderr.toString().slice(0, 500)}`);
  }
  return result.stdout.toString();
}

export async function readCorpus(name: string, root: string): Promise<Corpus> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/(^|\/)(node_modules|\.git)\//.test(relative(root, path)))
    .sort();
  const siblings = Map.groupBy(paths, (path) => join(path, '..'));
  const files: CorpusFile[] = [];
  for (const path of paths) {
    const around = siblings.get(join(path, '..')) ?? [];
    const siblingExtensions = new Set(around.map((other) => extname(other).slice(1).toLowerCase()));
    const language = languageOf(path, { head: await readHead(path), siblingExtensions });
    if (language !== undefined) files.push({ path, shown: relative(root, path), language });
  }
  return { name, root, files };
}

async function readHead(path: string): Promise<Uint8Array> {
  await using file = await open(path);
  const head = Buffer.alloc(HEAD_BYTES);
  const { bytesRead } = await file.read(head, 0, HEAD_BYTES, 0);
  return head.subarray(0, bytesRead);
}
