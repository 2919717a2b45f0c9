import { afterAll, expect } from 'vitest';
import { factRows } from '../../../test/support/context/rows.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { ParserPool } from './parser-pool.ts';

const parser = new ParserPool({ workers: 1 });
afterAll(() => parser.close());

const lines = (...text: string[]) => Buffer.from(`${text.join('\n')}\n`);

verifies('C-012', 'C-040', 'C-042').test(
  'TypeScript: classes, interfaces, enums, namespaces, overloads, bound functions and every form of import',
  async () => {
    const source = lines(
      "import def, { a as b, type C } from './x.ts';",
      "import * as ns from 'ns';",
      "import './side';",
      "export { q as r } from './y';",
      "const fs = require('fs');",
      'export abstract class A<T> extends B implements I {',
      '  private x = 1;',
      '  static y?: string;',
      '  #p = () => 3;',
      '  constructor(private readonly z: number) { super(); }',
      '  abstract m(a: string): void;',
      '  get v(): number { return 1; }',
      '  async *gen() {}',
      '  [Symbol.iterator]() {}',
      "  'quoted name'() {}",
      '  arrow = async (x: number): Promise<void> => { const inner = () => 1; let loc = 3; };',
      '}',
      'export const api = { get() { return 1 }, post: function (a) {}, put: (x) => x, "str-key": () => 1 };',
      'export const f = (a: number): string => {',
      "  return '';",
      '};',
      'interface I extends J { p: string; q(): void; readonly r?: number }',
      'type U = string | number;',
      'enum E { X, Y = 2 }',
      'namespace N.M { export function inside(): void {} }',
      "declare module 'ext' { export function e(): void }",
      'declare const dc: number;',
      'declare function df(a: string): void;',
      'function over(a: string): void;',
      'function over(a: any) {}',
      'let v1 = 1, v2 = class Named {};',
      'Foo.prototype.bar = function () {};',
      'module.exports.baz = () => {};',
      'export default function main() {}',
      'export { v1, U as UU };',
    );
    expect(factRows(await parser.extract(source, 'typescript'))).toEqual([
      "5:6-5:24 constant fs | const fs = require('fs')",
      '6:22-17:1 exported class A | export abstract class A<T> extends B implements I',
      '7:10-7:15 variable A > x | private x = 1',
      '8:9-8:19 exported variable A > y | static y?: string',
      '9:2-9:14 method A > #p | #p = () =>',
      '10:2-10:54 exported method A > constructor | constructor(private readonly z: number)',
      '11:11-11:29 exported method A > m | abstract m(a: string): void',
      '12:6-12:31 exported method A > v | get v(): number',
      '13:9-13:17 exported method A > gen | async *gen()',
      '14:2-14:24 exported method A > [Symbol.iterator] | [Symbol.iterator]()',
      "15:3-15:20 exported method A > quoted name | 'quoted name'()",
      '16:2-16:85 exported method A > arrow | arrow = async (x: number): Promise<void> =>',
      '16:54-16:69 function inner | const inner = () =>',
      '18:13-18:99 exported constant api | export const api = { get() { return 1 }, post: function (a) {}, put: (x) => x, "str-key": () => 1 }',
      '18:21-18:39 exported method api > get | get()',
      '18:41-18:62 exported method api > post | post: function (a)',
      '18:64-18:77 exported method api > put | put: (x) =>',
      '18:80-18:97 exported method api > str-key | "str-key": () =>',
      '19:13-21:1 exported function f | export const f = (a: number): string =>',
      '22:10-22:67 interface I | interface I extends J',
      '22:24-22:33 variable I > p | p: string',
      '22:35-22:44 method I > q | q(): void',
      '22:55-22:65 variable I > r | readonly r?: number',
      '23:5-23:25 exported type U | type U = string | number',
      '24:5-24:19 enum E | enum E',
      '24:9-24:10 constant E > X | X',
      '24:12-24:17 constant E > Y | Y = 2',
      '25:10-25:51 module N.M | namespace N.M',
      '25:32-25:49 function N.M > inside | export function inside(): void',
      "26:16-26:50 exported module ext | declare module 'ext'",
      '26:39-26:48 exported function ext > e | export function e(): void',
      '27:14-27:24 exported variable dc | declare const dc: number',
      '28:17-28:37 exported function df | declare function df(a: string): void',
      '29:9-29:31 function over | function over(a: string): void',
      '30:9-30:24 function over | function over(a: any)',
      '31:4-31:10 exported variable v1 | let v1 = 1',
      '31:12-31:31 class v2 | v2 = class Named',
      '32:14-32:34 method Foo > bar | Foo.prototype.bar = function ()',
      '33:15-33:29 exported function baz | module.exports.baz = () =>',
      '34:24-34:33 exported function main | export default function main()',
      '1 import ./x.ts {default as def, a as b, C}',
      '2 import ns {* as ns}',
      '3 import ./side {}',
      '4 import ./y {q as r}',
      '5 import fs {* as fs}',
    ]);
  },
);

verifies('C-012', 'C-040', 'C-042').test('TSX: components are functions of their names', async () => {
  const source = lines(
    "import type { Props } from './props';",
    'export const Button = ({ label }: Props) => <button onClick={() => press(label)}>{label}</button>;',
    'export default function Page<T>() {',
    '  return <Button label="class Fake {}" />;',
    '}',
    'const Memo = React.memo(function Inner() { return null; });',
  );
  expect(factRows(await parser.extract(source, 'tsx'))).toEqual([
    '2:13-2:97 exported function Button | export const Button = ({ label }: Props) =>',
    '3:24-5:1 exported function Page | export default function Page<T>()',
    '6:6-6:58 constant Memo | const Memo = React.memo(function Inner() { return null; })',
    '1 import ./props {Props}',
  ]);
});

verifies('C-012', 'C-040', 'C-042').test('JavaScript: CommonJS exports, prototypes and object literals', async () => {
  const source = lines(
    '#!/usr/bin/env node',
    "'use strict';",
    "const { join } = require('node:path');",
    "const path = require('node:path');",
    'class Cart extends Base {',
    '  static count = 0;',
    '  #total = 0;',
    '  get total() { return this.#total; }',
    '  static async *walk() {}',
    '}',
    'function add(a, b) { return a + b; }',
    'const twice = (x) => { return add(x, x); };',
    'Cart.prototype.clear = function () {};',
    'exports.helper = () => twice(1);',
    "const api = { list() {}, get: function (id) {}, 'drop-all': () => {} };",
    'let counter = 0;',
    'var legacy = function named() {};',
    'module.exports = { add, api, renamed: twice };',
  );
  expect(factRows(await parser.extract(source, 'javascript'))).toEqual([
    "4:6-4:33 constant path | const path = require('node:path')",
    '5:6-10:1 class Cart | class Cart extends Base',
    '6:9-6:18 variable Cart > count | static count = 0',
    '7:2-7:12 variable Cart > #total | #total = 0',
    '8:6-8:37 method Cart > total | get total()',
    '9:16-9:25 method Cart > walk | static async *walk()',
    '11:9-11:36 exported function add | function add(a, b)',
    '12:6-12:42 exported function twice | const twice = (x) =>',
    '13:15-13:37 method Cart > clear | Cart.prototype.clear = function ()',
    '14:8-14:31 exported function helper | exports.helper = () =>',
    "15:6-15:70 exported constant api | const api = { list() {}, get: function (id) {}, 'drop-all': () => {} }",
    '15:14-15:23 exported method api > list | list()',
    '15:25-15:46 exported method api > get | get: function (id)',
    "15:49-15:68 exported method api > drop-all | 'drop-all': () =>",
    '16:4-16:15 variable counter | let counter = 0',
    '17:4-17:32 function legacy | var legacy = function named()',
    '3 import node:path {join}',
    '4 import node:path {* as path}',
  ]);
});
