import { z } from 'zod';
import type { Language } from '../../src/context/lang/contract.ts';
import { type CorpusFile, tool } from './corpus.ts';

const tagSchema = z.object({
  name: z.string(),
  path: z.string(),
  line: z.number(),
  kind: z.string(),
  pattern: z.string().optional(),
  scopeKind: z.string().optional(),
});
export type Tag = z.infer<typeof tagSchema>;

/** What universal-ctags 5.9 calls our languages, and which of its kinds are classes, functions, methods or types. */
export const CTAGS: Partial<Record<Language, { name: string; kinds: readonly string[] }>> = {
  typescript: { name: 'TypeScript', kinds: ['function', 'class', 'interface', 'enum', 'method', 'alias', 'generator'] },
  tsx: { name: 'TypeScript', kinds: ['function', 'class', 'interface', 'enum', 'method', 'alias', 'generator'] },
  javascript: { name: 'JavaScript', kinds: ['function', 'class', 'method', 'generator', 'getter', 'setter'] },
  python: { name: 'Python', kinds: ['class', 'function', 'member'] },
  go: { name: 'Go', kinds: ['func', 'type', 'struct', 'interface', 'methodSpec', 'talias'] },
  rust: { name: 'Rust', kinds: ['struct', 'enum', 'interface', 'function', 'method', 'typedef', 'macro'] },
  java: { name: 'Java', kinds: ['class', 'interface', 'enum', 'method', 'annotation'] },
  kotlin: { name: 'Kotlin', kinds: ['class', 'interface', 'object', 'method', 'typealias'] },
  c: { name: 'C', kinds: ['function', 'prototype', 'struct', 'union', 'enum', 'typedef', 'macro'] },
  cpp: { name: 'C++', kinds: ['function', 'prototype', 'class', 'struct', 'union', 'enum', 'typedef', 'macro'] },
  objc: {
    name: 'ObjectiveC',
    kinds: [
      'interface',
      'implementation',
      'protocol',
      'method',
      'class',
      'function',
      'typedef',
      'struct',
      'enum',
      'macro',
    ],
  },
  csharp: { name: 'C#', kinds: ['class', 'interface', 'enum', 'struct', 'method', 'typedef'] },
  php: { name: 'PHP', kinds: ['class', 'interface', 'trait', 'function'] },
  ruby: { name: 'Ruby', kinds: ['class', 'module', 'method', 'singletonMethod'] },
  bash: { name: 'Sh', kinds: ['function'] },
};

/** Every tag of some files of one language; prototypes and all other kinds included. */
export async function tagsOf(language: Language, files: readonly CorpusFile[]): Promise<Tag[]> {
  const known = CTAGS[language];
  if (known === undefined || files.length === 0) return [];
  const list = files.map(({ path }) => path).join('\n');
  const args = ['--output-format=json', '--fields=+nKs', '--sort=no', '--kinds-all=*'];
  const printed = await tool('ctags', [...args, `--language-force=${known.name}`, '-L', '-', '-f', '-'], {
    cwd: '/',
    input: list,
  });
  return printed.split('\n').filter(Boolean).flatMap(parseTag);
}

/** ctags writes names that are no UTF-8 as they are; such a line is no tag of ours either. */
function parseTag(line: string): Tag[] {
  try {
    const parsed = tagSchema.safeParse(JSON.parse(line));
    return parsed.success ? [parsed.data] : [];
  } catch {
    return [];
  }
}
