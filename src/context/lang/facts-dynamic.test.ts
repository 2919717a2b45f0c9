import { afterAll, expect } from 'vitest';
import { factRows } from '../../../test/support/context/rows.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { ParserPool } from './parser-pool.ts';

const parser = new ParserPool({ workers: 1 });
afterAll(() => parser.close());

const lines = (...text: string[]) => Buffer.from(`${text.join('\n')}\n`);

verifies('C-012', 'C-040', 'C-042').test(
  'Python: methods, properties, nested functions, lambdas, constants and imports',
  async () => {
    const source = lines(
      'import os, sys as system',
      'from . import sibling',
      'from a.b import c as d, e',
      'from x import *',
      'LIMIT = 3',
      'names: list[str] = []',
      'type Pair = tuple[int, int]',
      '@decorator',
      'class Shop(Base):',
      '    SIZE = 1',
      '    items = []',
      '    @property',
      '    def total(self) -> int:',
      '        def inner(): pass',
      '        local = 1',
      '        return 1',
      '    async def _hidden(self): ...',
      'double = lambda x: x * 2',
      'def main(',
      '    a: int,',
      ') -> None:',
      '    pass',
      'if True:',
      '    def conditional(): pass',
    );
    expect(factRows(await parser.extract(source, 'python'))).toEqual([
      '5:0-5:9 exported constant LIMIT | LIMIT = 3',
      '6:0-6:21 exported variable names | names: list[str] = []',
      '7:5-7:27 exported type Pair | type Pair = tuple[int, int]',
      '9:6-17:32 exported class Shop | class Shop(Base)',
      '10:4-10:12 exported constant Shop > SIZE | SIZE = 1',
      '11:4-11:14 exported variable Shop > items | items = []',
      '13:8-16:16 exported method Shop > total | def total(self) -> int',
      '14:12-14:25 function inner | def inner()',
      '17:14-17:32 method Shop > _hidden | async def _hidden(self)',
      '18:0-18:24 exported function double | double = lambda x',
      '19:4-22:8 exported function main | def main( a: int, ) -> None',
      '24:8-24:27 exported function conditional | def conditional()',
      '1 import os {}',
      '1 import sys {* as system}',
      '2 import . {sibling}',
      '3 import a.b {c as d, e}',
      '4 import x {}',
    ]);
  },
);

verifies('C-012', 'C-040', 'C-042').test('Ruby: modules, singleton methods, aliases, structs and lambdas', async () => {
  const source = lines(
    "require 'json'",
    "require_relative 'shop'",
    'module Shop',
    '  LIMIT = 1',
    '  Point = Struct.new(:x, :y)',
    '  class Cart < Base',
    '    attr_reader :items, :total',
    '    def initialize(a) = @a = a',
    '    def total?',
    '      local = ->(x) { x }',
    '    end',
    '    def self.make(*args)',
    '    end',
    '    def ==(other); end',
    '    alias_method :same, :==',
    '    alias size total?',
    '    class << self',
    '      def build; end',
    '    end',
    '    private',
    '    def hidden; end',
    '  end',
    '  class Deep::Inner; end',
    'end',
    'def top; end',
    'double = ->(x) { x * 2 }',
    'define_method(:dyn) { }',
  );
  expect(factRows(await parser.extract(source, 'ruby'))).toEqual([
    '3:7-24:3 exported module Shop | module Shop',
    '4:2-4:11 exported constant Shop > LIMIT | LIMIT = 1',
    '5:2-5:28 exported class Shop > Point | Point = Struct.new(:x, :y)',
    '6:8-22:5 exported class Shop > Cart | class Cart < Base',
    '8:8-8:30 exported method Shop.Cart > initialize | def initialize(a)',
    '9:8-11:7 exported method Shop.Cart > total? | def total?',
    '10:6-10:25 function local | local = ->(x)',
    '12:13-13:7 exported method Shop.Cart > make | def self.make(*args)',
    '14:8-14:22 exported method Shop.Cart > == | def ==(other); end',
    '16:10-16:21 exported method Shop.Cart > size | alias size total?',
    '18:10-18:20 exported method Shop.Cart > build | def build; end',
    '21:8-21:19 exported method Shop.Cart > hidden | def hidden; end',
    '23:14-23:24 exported class Shop.Deep > Inner | class Deep::Inner; end',
    '25:4-25:12 exported method top | def top; end',
    '26:0-26:24 exported function double | double = ->(x)',
    '1 import json {}',
    '2 import shop {}',
  ]);
});

verifies('C-012', 'C-040', 'C-042').test('PHP: namespaces, traits, enums, constants and grouped imports', async () => {
  const source = lines(
    '<?php',
    'namespace Shop\\Deep;',
    'use A\\B;',
    'use A\\C as D;',
    'use function A\\helper;',
    'use A\\{E, F as G};',
    'const LIMIT = 1;',
    "define('OTHER', 2);",
    'interface Store { const K = 1; public function get(int $id): ?Item; }',
    'trait Loud { private function shout() {} }',
    'abstract class Cart extends Base implements Store {',
    '  public const SIZE = 1;',
    '  private ?int $a = 1, $b;',
    '  public function __construct(private int $x) {}',
    '  public static function make(): static { $f = function ($a) { return $a; }; return new static; }',
    '  abstract protected function hidden();',
    '}',
    "enum Color: string { case Red = 'r'; public function label(): string { return ''; } }",
    'function top(array $xs) { return fn($x) => $x; }',
    '$double = fn($x) => $x * 2;',
  );
  expect(factRows(await parser.extract(source, 'php'))).toEqual([
    '2:10-2:20 exported module Shop\\Deep | namespace Shop\\Deep',
    '7:6-7:15 exported constant LIMIT | const LIMIT = 1',
    "8:8-8:18 exported constant OTHER | define('OTHER', 2)",
    '9:10-9:69 exported interface Store | interface Store',
    '9:24-9:29 exported constant Store > K | const K = 1',
    '9:47-9:67 exported method Store > get | public function get(int $id): ?Item',
    '10:6-10:42 exported class Loud | trait Loud',
    '10:30-10:40 method Loud > shout | private function shout()',
    '11:15-17:1 exported class Cart | abstract class Cart extends Base implements Store',
    '12:15-12:23 exported constant Cart > SIZE | public const SIZE = 1',
    '13:16-13:21 variable Cart > a | private ?int $a = 1',
    '13:24-13:25 exported variable Cart > b | $b',
    '14:18-14:48 exported method Cart > __construct | public function __construct(private int $x)',
    '15:25-15:97 exported method Cart > make | public static function make(): static',
    '15:43-15:75 function f | $f = function ($a)',
    '16:30-16:39 method Cart > hidden | abstract protected function hidden()',
    '18:5-18:85 exported enum Color | enum Color: string',
    "18:26-18:36 exported constant Color > Red | case Red = 'r'",
    '18:53-18:83 exported method Color > label | public function label(): string',
    '19:9-19:48 exported function top | function top(array $xs)',
    '20:1-20:26 exported function double | $double = fn($x) =>',
    '3 import A\\B {B}',
    '4 import A\\C {C as D}',
    '5 import A\\helper {helper}',
    '6 import A {E, F as G}',
  ]);
});

verifies('C-012', 'C-040').test('Bash: functions in both forms, variables and sourced files', async () => {
  const source = lines(
    '#!/bin/bash',
    'source ./lib.sh',
    '. other.sh',
    'LIMIT=1',
    'readonly SIZE=2',
    'export NAME=x',
    'declare -a list=(1)',
    'greet() {',
    '  local who=$1',
    '  echo "hi $(name) $who"',
    '}',
    'function build { :; }',
    'function deploy() { inner() { :; }; }',
    'if true; then check() { :; }; fi',
  );
  expect(factRows(await parser.extract(source, 'bash'))).toEqual([
    '4:0-4:7 exported variable LIMIT | LIMIT=1',
    '5:9-5:15 exported constant SIZE | readonly SIZE=2',
    '6:7-6:13 exported variable NAME | export NAME=x',
    '7:11-7:19 exported variable list | declare -a list=(1)',
    '8:0-11:1 exported function greet | greet()',
    '12:9-12:21 exported function build | function build',
    '13:9-13:37 exported function deploy | function deploy()',
    '13:20-13:34 function inner | inner()',
    '14:14-14:28 exported function check | check()',
    '2 import ./lib.sh {}',
    '3 import other.sh {}',
  ]);
});

verifies('C-040', 'C-126').test('Bash: what the grammar cannot read in an expansion swallows no function', async () => {
  const strange = [
    `theme="\${theme/ '[GTK2/3]'}"`,
    `folder="\${folder/$'/:'*}"`,
    `name="\${names[1]##*'}'}"`,
    `[[ "$*" = '( set -'*'; true'* ]]`,
    `echo "\${list[($at - 1)]}"`,
    `echo "\${word:$from:$length}"`,
    '[ \\( -h a -a \\( "$b" = "$c" -o d = e \\) \\) -o f ] && g',
  ];
  const source = lines(...strange.map((line, at) => `f${at}() { ${line}; }`), "last() { echo 'end'; }");
  expect(factRows(await parser.extract(source, 'bash'))).toEqual([
    ...strange.map((line, at) => `${at + 1}:0-${at + 1}:${line.length + 10} exported function f${at} | f${at}()`),
    '8:0-8:22 exported function last | last()',
  ]);
});
