import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { citations } from './requirements/citations.ts';
import { requirementRows } from './requirements.ts';
import { ROOT } from './support/source-files.ts';

test('every requirement that is done is cited by a test', () => {
  const cited = citations();
  const done = requirementRows.filter(([, row]) => row.status === 'done').map(([id]) => id);
  expect(done.filter((id) => !cited.has(id))).toEqual([]);
});

// The design pages are not part of the repository: where they are at hand, the ledger is held against them.
const pages = [resolve(ROOT, process.env.REEF_DESIGN_PAGES ?? 'design')].filter((folder) =>
  existsSync(join(folder, 'style.md')),
);

describe.each(pages)('against the design pages', (folder) => {
  const textOf = (page: string) => readFileSync(join(folder, `${page}.md`), 'utf8');

  test('the ledger has a row for every id and no other', () => {
    const all = readdirSync(folder).map((file) => textOf(file.replace('.md', '')));
    // D1 to D16 are the ancestor's defects; runtime.md keeps each as a regression test.
    const forms = [/(?<![A-Za-z0-9-])[AQXUWTCSRFJ]-\d+\b/g, /\bD\d{1,2}\b/g];
    const ids = forms.flatMap((form) => all.join('\n').match(form) ?? []);
    expect(requirementRows.map(([id]) => id).sort()).toEqual([...new Set(ids)].sort());
  });

  test('a row stands on the page that defines it and says what comes from a seed', () => {
    const wrong = requirementRows.filter(([id, row]) => {
      const text = textOf(row.page);
      const mark = text.match(new RegExp(`(?<![A-Za-z0-9-])${id}\\b[^(\\n]{0,4}\\((S|\\+)`))?.[1];
      const said = row.from === '+' ? '+' : 'S';
      return !text.includes(id) || (mark !== undefined && mark !== said);
    });
    expect(wrong).toEqual([]);
  });
});
