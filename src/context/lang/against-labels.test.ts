import { readFileSync } from 'node:fs';
import { expect, onTestFinished } from 'vitest';
import { factRows } from '../../../test/support/context/rows.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { Language } from './contract.ts';
import { ParserPool } from './parser-pool.ts';

/** Languages ctags does not know: every definition is labelled by hand, at the end of its line. */
const LABELLED: [Language, string][] = [
  ['scala', 'shop.scala'],
  ['swift', 'shop.swift'],
];
const STRUCTURAL = new Set(['class', 'interface', 'method', 'function', 'enum', 'struct', 'type']);

function labels(source: string): string[] {
  return source.split('\n').flatMap((line, at) => {
    const [, name] = /\/\/= \w+ `?([^\s`]+)`?$/.exec(line) ?? [];
    return name === undefined ? [] : [`${at + 1} ${name}`];
  });
}

/** `12:6-14:1 exported method Cart > add | def add(…)` as `12 add`: by line and name, as ctags is compared. */
function structural(rows: readonly string[]): string[] {
  return rows.flatMap((row) => {
    const [, line, kind = '', name] = /^(\d+):\S+ (?:exported )?(\w+) (?:.* > )?`?([^\s`]+)`? \|/.exec(row) ?? [];
    return STRUCTURAL.has(kind) ? [`${line} ${name}`] : [];
  });
}

verifies('C-126').test(
  'definitions of Scala and Swift, which ctags does not know, agree with labels made by hand',
  async () => {
    const pool = new ParserPool({ workers: 1, parseMs: 60_000 });
    onTestFinished(() => pool.close());
    for (const [language, name] of LABELLED) {
      const source = readFileSync(new URL(`../../../test/fixtures/context/labelled/${name}`, import.meta.url), 'utf8');
      const wanted = labels(source);
      const found = structural(factRows(await pool.extract(Buffer.from(source), language)));
      const missing = wanted.filter((label) => !found.includes(label));
      const extra = found.filter((label) => !wanted.includes(label));
      expect({ language, missing, extra, isEnough: wanted.length >= 100 }).toEqual({
        ...{ language, missing: [], extra: [], isEnough: true },
      });
    }
  },
);
