import { readFile } from 'node:fs/promises';
import type { Language } from '../../src/context/lang/contract.ts';
import type { CorpusFile } from './corpus.ts';

export interface Group {
  label: string;
  language: Language;
  files: CorpusFile[];
}

/** Dialects no grammar of ours reads. They are compared and shown like all others, but judged by themselves. */
export const DIALECTS: Partial<
  Record<Language, { label: string; isOne: (file: CorpusFile, text: string) => boolean }>
> = {
  javascript: {
    label: 'javascript with Flow types',
    isOne: (_file, text) => /^\s*(\/\/|\/?\*+)\s*@flow\b/m.test(text),
  },
  objc: {
    label: 'objective-c++',
    isOne: ({ path }, text) => path.endsWith('.mm') || /\bstd::|\bfacebook::|^namespace\s|^template\s*</m.test(text),
  },
  cpp: { label: 'c++/cli', isOne: (_file, text) => /\b(ref|value) class\b|\bgcnew\b|::!\w/.test(text) },
  bash: { label: 'zsh', isOne: (_file, text) => /^#!.*\bzsh\b/.test(text) },
};

export async function byDialect(files: readonly CorpusFile[]): Promise<Group[]> {
  const groups = new Map<string, Group>();
  for (const file of files) {
    const dialect = DIALECTS[file.language];
    const isOne = dialect?.isOne(file, dialect === undefined ? '' : await readFile(file.path, 'utf8')) ?? false;
    const label = isOne && dialect !== undefined ? dialect.label : file.language;
    const group = groups.get(label) ?? { label, language: file.language, files: [] };
    group.files.push(file);
    groups.set(label, group);
  }
  return [...groups.values()];
}
