import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RequirementId, requirements } from '../requirements.ts';
import { isTest, ROOT, sourceFiles } from '../support/source-files.ts';

/**
 * Ids named in test files that use `verifies`, or `inChromium` in its place, with those files. It reads text and so sees tables of ids too; whether a
 * test with the id really ran and passed is what the reporter tells.
 */
export function citations(): Map<RequirementId, string[]> {
  const found = new Map<RequirementId, string[]>();
  for (const path of [...sourceFiles('src'), ...sourceFiles('test')].filter(isTest)) {
    if (path.startsWith('test/requirements')) continue; // the ledger's own tests use ids as samples
    const text = readFileSync(join(ROOT, path), 'utf8');
    if (!/\b(verifies|inChromium)\(/.test(text)) continue;
    const quoted = new Set(Array.from(text.matchAll(/'([A-Z]-?\d+)'/g), (match) => match[1] ?? ''));
    for (const id of quoted) {
      if (isId(id)) found.set(id, [...(found.get(id) ?? []), path]);
    }
  }
  return found;
}

function isId(text: string): text is RequirementId {
  return Object.hasOwn(requirements, text);
}
