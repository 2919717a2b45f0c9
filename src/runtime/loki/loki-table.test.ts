import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { parse } from 'yaml';
import { hasLoki, NO_LOKI, ownLokiFolder, realLokiFolder } from '../../../test/support/runtime/loki-folders.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { agentSpecSchema } from '../agent-spec/spec.ts';
import { FILE_KEYS } from '../config/app-config.ts';
import { checkLayer } from '../config/check-layer.ts';
import { settingsIn } from './config-notes.ts';
import { lokiTable, rowOfFile, rowOfKey } from './loki-table.ts';

const AGENT = 'agents/NAME/config.yaml';
const keysOf = (file: string) => lokiTable.flatMap((row) => (row.file === file ? (row.keys ?? []) : []));

verifies('R-160').test('the table has every setting of ours that Loki has, once, and says rightly what loads', () => {
  const top = keysOf('config.yaml').filter((key) => !key.includes('[]'));
  expect(FILE_KEYS.filter((key) => key !== 'reef' && !top.includes(key))).toEqual([]);
  const ours = Object.keys(agentSpecSchema.shape).filter((key) => key !== 'spawnable_agents');
  expect(keysOf(AGENT).sort()).toEqual(ours.sort());
  expect(lokiTable.flatMap(({ file, keys = [] }) => keys.map((key) => `${file} ${key}`)).length).toBe(
    new Set(lokiTable.flatMap(({ file, keys = [] }) => keys.map((key) => `${file} ${key}`))).size,
  );
  const value = Object.fromEntries(top.map((key) => [key, null]));
  const { warnings } = checkLayer({ file: 'config.yaml', value, lineOf: () => undefined });
  expect(warnings.filter(({ message }) => message.includes('is not a setting'))).toEqual([]);
});

verifies('R-160', 'R-165').test('a setting that is said to work is read by the program', () => {
  const src = join(import.meta.dirname, '../..');
  const files = globSync('**/*.ts', { cwd: src }).filter(
    (path) => !/\.test\.ts$|^runtime\/(config|loki)\/|state\/(info|setting-keys|repl-complete)\.ts$/.test(path),
  );
  const text = files.map((path) => readFileSync(join(src, path), 'utf8')).join('\n');
  const unread = FILE_KEYS.filter((key) => !new RegExp(`\\b${key === 'model' ? 'model_id' : key}\\b`).test(text));
  expect(unread).toEqual([]);
});

const FOLDERS = [
  ['our own folder in the shape of Loki', verifies('R-160'), ownLokiFolder],
  ["Loki's own folder", verifies('R-160').needs(hasLoki, NO_LOKI), realLokiFolder],
] as const;

for (const [what, proves, folder] of FOLDERS) {
  proves.test(`the table has every file and every key of ${what}`, () => {
    const dir = folder();
    const files = globSync('**/*', { cwd: dir, withFileTypes: true }).filter((entry) => entry.isFile());
    const paths = files.map(({ parentPath, name }) => join(parentPath, name).slice(dir.length + 1));
    expect(paths.length).toBeGreaterThan(10);
    expect(paths.filter((path) => rowOfFile(path) === undefined)).toEqual([]);
    const config = parse(readFileSync(join(dir, 'config.yaml'), 'utf8'));
    const settings = [...settingsIn(config)].map(({ key }) => key).filter((key) => !key.includes('[].type: '));
    expect(settings.filter((key) => rowOfKey('config.yaml', key) === undefined)).toEqual([]);
    const agents = paths.filter((path) => /^agents\/[^/]+\/config\.yaml$/.test(path));
    const keys = agents.flatMap((path) => Object.keys(parse(readFileSync(join(dir, path), 'utf8')) ?? {}));
    expect(keys.filter((key) => rowOfKey(AGENT, key) === undefined)).toEqual([]);
  });
}
