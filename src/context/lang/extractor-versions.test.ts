import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { LANGUAGES } from '../../../test/support/context/languages.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { ExtractorVersions } from './extractor-versions.ts';

verifies('C-020').test('each language has a version of 64 bits that stays while nothing behind it changes', () => {
  const first = new ExtractorVersions();
  const second = new ExtractorVersions();
  const versions = LANGUAGES.map((language) => first.extractorVersion(language));
  expect(versions.every((version) => /^[0-9a-f]{16}$/.test(version))).toBe(true);
  expect(new Set(versions).size).toBe(LANGUAGES.length);
  expect(LANGUAGES.map((language) => second.extractorVersion(language))).toEqual(versions);
});

verifies('C-020').test('a byte more in engine, grammar, query or reader is another version', () => {
  const real = new ExtractorVersions().extractorVersion('go');
  const changed = (name: RegExp) => {
    const read = (file: string) => Buffer.concat([readFileSync(file), Buffer.from(name.test(file) ? ' ' : '')]);
    return new ExtractorVersions(read).extractorVersion('go');
  };
  const versions = [/web-tree-sitter\.wasm$/, /tree-sitter-go\.wasm$/, /go\.scm$/, /facts\.ts$/].map(changed);
  expect(new Set([real, ...versions]).size).toBe(5);
  expect(changed(/rust\.scm$/)).toBe(real);
});

verifies('C-020').test('the files behind a language are read once', () => {
  const files: string[] = [];
  const versions = new ExtractorVersions((file) => {
    files.push(file);
    return readFileSync(file);
  });
  for (let times = 0; times < 3; times++) versions.extractorVersion('python');
  expect(new Set(files).size).toBe(files.length);
});
