import { readFileSync } from 'node:fs';

import { expect, onTestFinished } from 'vitest';
import { Query, type QueryMatch } from 'web-tree-sitter';
import { verifies } from '../../../test/support/verifies.ts';
import { Engine } from './engine.ts';
import { type ParsedLanguage, queryFile, splitQuery } from './grammars.ts';

/** With comments between the parts of rules, errors, and kinds that a rule calls by another name. */
const SOURCES: Record<ParsedLanguage, string> = {
  typescript:
    'import a, { b as c } from "d"; export default class A<T> { #x = 1; y = () => { class In { z() {} } } }\n' +
    'interface I { a: number; b(): { c: string } } type T = { d: number }; declare module "m" { let q: string }\n' +
    'export const { e, f: [g] } = h, k = class {}; const o = { p: function () {}, "q"() {} }; r.s = t => 1; export { k as l }; let ) = 3',
  tsx: 'export const App = () => <div onClick={() => { function inner() {} }}>{/* c */ [1].map((x) => <b>{x}</b>)}</div>;',
  javascript:
    '#!/usr/bin/env node\nconst { a, b: c } = require("x"), d = require("y");\nmodule.exports = { a, e: c }; exports.f = a;\n' +
    'A.prototype.g = function () { var h = 1; h = () => 2; }; class B { static i = 1; get j() { return { k: async () => {} }; } }',
  python:
    'import os, sys as s\nfrom . import (a, b as c)  # why\nX: int = 1\ny = lambda z: (lambda: z)\n@d\nclass A(B):\n    K = 1\n    # no\n' +
    '    async def f(self):\n        w = v = 1\n        def g(): pass\n        h = lambda: 1\ntype P = int\ndef (:\n',
  go:
    'package p // p\nimport ( f "fmt"; . "os" )\nconst ( A, B = 1, 2 )\nvar ( g = func() { type In struct{ x int } } )\n' +
    'type S[T any] struct { a, b int; E }\ntype I interface { M(); N() }\nfunc (s *S[T]) F() { var h = func() {} }\ntype Q = S',
  rust:
    'use a::{b, c as d, e::*}; mod m { pub struct S<T> { x: T } impl<T> S<T> { const K: u8 = 1; fn f(&self) { let c = |x| x; fn g() {} } } }\n' +
    'macro_rules! m { () => {} } enum E { A, B(u8) } trait T { type O; fn h(); } impl T for &str {} union U { a: u8 } static Z: u8 = 1;',
  java:
    'package a.b; import java.util.*; import static c.D.e;\n/** x */ public class A extends B { static final int K = 1; Runnable r = () -> {}; int x, y;\n' +
    'A() {} <T> void f() { class In {} new Object() { void g() {} }; } enum E { P, Q { int z; } } record R(int a) { R {} } @interface N { int v(); } }',
  kotlin:
    'package a\nimport b.c as d\nimport e.*\nenum class E { A, B; val x = 1 }\nclass C(val p: Int) { companion object N { fun f() {} }\nval g = { x: Int -> x }\n' +
    'interface I { val q: Int } }\nobject O\ntypealias T = C\nval top = fun() {}\nfun C.ext() { fun inner() {} }\n',
  scala:
    'package a.b\nimport c.{d, e => f}\nclass A(x: Int) { val (p, q) = (1, 2); val r = 1; type T = { val s: Int; def t: Int }\n  def u: B { val v: Int } = new B { val w = 2 } }\n' +
    'object O { var y = 1; val g = (z: Int) => z }\ntrait Q { val n: Int }\nenum E { case A, B; case C(i: Int) }\npackage object k { type M = Int }\n',
  c:
    '#include <a.h>\n#define F(x) x\nstruct s { int a; /* c */\n#if X\nint b, *c[3];\n#else\nint d;\n#endif\n};\nint (*fp)(int), old(a) int a; { return a; }\n' +
    'enum e { P,\n#ifdef Y\nQ\n#endif\n};\n#if Z\nextern int g;\n#elif W\nstatic char *h(void);\n#endif\ntypedef struct s T;\nint m( { int l; }\n',
  cpp:
    'namespace a::b { template <class T> struct S : public B { S() = default; ~S(); operator bool() const { return 1; } static int x; enum class E : char { P };\n' +
    'template <class U> void f(U) { auto g = [] { struct In { int i; }; }; } }; using std::vector; using V = int; extern "C" { int h(); } }\nvoid a::S::k() {}\n#if A\nint z;\n#endif\n',
  objc:
    '#import <A/A.h>\n@interface A : B <C>\n@property (nonatomic) int x;\n- (void)f:(int)a g:(int)b;\n#if X\n+ (id)h;\n#endif\n@end\n@implementation A\n' +
    '- (void)f:(int)a g:(int)b { int l = 1; }\nstatic int z;\n@end\n@protocol P\n@optional\n- (int)q;\n@end\ntypedef enum { E1, E2 } E;\nvoid cf(void) {}\n',
  csharp:
    'using A.B; using C = D.E;\nnamespace N { [X] public class A<T> : B { const int K = 1; Func<int> f = () => 1; int a, b; event E e; public int P { get; set; }\n' +
    'A() {} ~A() {} public static A operator +(A x) => x; public static implicit operator int(A x) { int L() => 1; return L(); } } enum G { P, Q } record R(int Z); delegate void H(); }',
  php:
    '<?php\nnamespace A\\B;\nuse C\\D as E, F;\nuse G\\{H, I as J};\ndefine("K", 1); const L = 1;\nabstract class M { const N = 1; private $o = 1, $p; function __construct(public int $q) { $r = function () {}; $s = fn() => 1; } }\n' +
    'interface T { function u(); } trait V {} enum W: int { case X = 1; } function y() { function z() {} }\n',
  ruby:
    'require "a"\nrequire_relative("b")\nmodule A\n  class B < C\n    D = Struct.new(:x) do\n      def y; end\n    end\n    E = 1\n    f = ->(z) { z }\n    puts g h\n' +
    '    def self.i = 1\n    alias j i\n    k = raise l, "m"\n    n.o.p { |q| load "r" }\n  end\nend\n',
  bash: '. ./a.sh\nsource "b"\nreadonly C=1 D\nE=2\nf() { local G=1; h() { :; }; }\nfunction i { echo "$(j() { k; })"; }\nif [[ $x ]; then l() { m; }\n',
};

const row = ({ patternIndex, captures }: QueryMatch) =>
  [
    patternIndex,
    ...captures.map(
      ({ name, node }) =>
        `${name} ${node.type} ${node.startPosition.row}:${node.startPosition.column}-${node.endIndex} ${node.id}`,
    ),
  ].join(' | ');

verifies('C-126').test(
  'a query asked only where a pattern may begin finds what it finds when it is asked everywhere',
  async () => {
    const engine = await Engine.start();
    for (const [language, text] of Object.entries(SOURCES) as [ParsedLanguage, string][]) {
      const loaded = engine.load(language);
      const tree = engine.parse(text, loaded, () => false);
      if (tree === undefined) throw new Error('not parsed');
      onTestFinished(() => tree.delete());
      const { definitions } = splitQuery(readFileSync(queryFile(language), 'utf8'));
      const everywhere = new Query(loaded.grammar, definitions);
      const found: string[] = [];
      loaded.definitions.each({ root: tree.rootNode, text, isLate: () => false }, (match) => found.push(row(match)));
      const wanted = everywhere.matches(tree.rootNode).map(row);
      expect({ language, found: found.sort(), isEnough: found.length > 2 }).toEqual({
        language,
        found: wanted.sort(),
        isEnough: true,
      });
      // Where a pattern begins is found by its line.
      expect(definitions.match(/^\(/gm)).toHaveLength(everywhere.patternCount());
    }
  },
);
