import { afterAll, expect } from 'vitest';
import { factRows } from '../../../test/support/context/rows.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { ParserPool } from './parser-pool.ts';

const parser = new ParserPool({ workers: 1 });
afterAll(() => parser.close());

const lines = (...text: string[]) => Buffer.from(`${text.join('\n')}\n`);

verifies('C-040').test(
  'Swift is scanned by its words: always partial, never fooled by comments, strings and interpolation',
  async () => {
    const source = lines(
      'import Foundation',
      'import class UIKit.UIView',
      '// class NotMe',
      'let limit = 1',
      'public class Cart<T>: Base, Store {',
      '  private var items: [Int] = []',
      '  static let shared = Cart()',
      '  class func make() -> Cart { let local = 1; func nested() {} ; return Cart() }',
      '  init?(name: String) { switch x { case .a: break } }',
      '  var total: Int { items.reduce(0) { a, b in a + b } }',
      '  func add(_ i: Int) throws -> String { "class Fake \\(compute("}")) func no" }',
      '  enum Kind: Int { case one, two',
      '    case three }',
      '  subscript(i: Int) -> Int { 1 }',
      '}',
      'protocol Store { associatedtype Id',
      '  func get(id: Id)',
      '  var size: Int { get }',
      '}',
      'extension Cart.Inner where T: Equatable { func extended() {} }',
      'struct Point { let x, y: Int }',
      'func + (a: Point, b: Point) -> Point { a }',
      'typealias Pair = (Int, Int)',
      'actor Worker { }',
    );
    expect(factRows(await parser.extract(source, 'swift'))).toEqual([
      '4:4-4:13 exported constant limit | let limit = 1',
      '5:13-15:1 exported class Cart | public class Cart<T>: Base, Store',
      '6:14-6:31 variable Cart > items | private var items: [Int] = []',
      '7:13-7:28 exported constant Cart > shared | static let shared = Cart()',
      '8:13-8:79 exported method Cart > make | class func make() -> Cart',
      '8:50-8:61 function nested | func nested()',
      '9:2-9:53 exported method Cart > init | init?(name: String)',
      '10:6-10:54 exported variable Cart > total | var total: Int',
      '11:7-11:78 exported method Cart > add | func add(_ i: Int) throws -> String',
      '12:7-13:16 exported enum Cart > Kind | enum Kind: Int',
      '12:24-12:32 exported constant Cart.Kind > one | case one, two',
      '12:29-12:32 exported constant Cart.Kind > two | case one, two',
      '13:9-13:16 exported constant Cart.Kind > three | case three',
      '14:2-14:32 exported method Cart > subscript | subscript(i: Int) -> Int',
      '16:9-19:1 exported interface Store | protocol Store',
      '16:32-16:34 exported type Store > Id | associatedtype Id',
      '17:7-17:18 exported method Store > get | func get(id: Id)',
      '18:6-18:23 exported variable Store > size | var size: Int',
      '20:47-20:60 exported method Cart.Inner > extended | func extended()',
      '21:7-21:30 exported struct Point | struct Point',
      '21:19-21:30 exported constant Point > x | let x, y: Int',
      '21:22-21:30 exported constant Point > y | let x, y: Int',
      '22:5-22:42 exported function + | func + (a: Point, b: Point) -> Point',
      '23:10-23:27 exported type Pair | typealias Pair = (Int, Int)',
      '24:6-24:16 exported class Worker | actor Worker',
      '1 import Foundation {}',
      '2 import UIKit.UIView {}',
      'partial',
    ]);
  },
);

verifies('C-040').test('a case or a let that declares several names declares each of them', async () => {
  const source = lines(
    'enum Kind { case one(Int, String), two(a: (Int) -> Void), three = 3, four }',
    'struct P { let x, y: Int }',
    'func f(q: Kind) { switch q { case let m, n: break } }',
  );
  const rows = factRows(await parser.extract(source, 'swift')).map((row) => row.replace(/ \|.*/, ''));
  expect(rows).toEqual([
    '1:5-1:75 exported enum Kind',
    '1:17-1:75 exported constant Kind > one',
    '1:35-1:75 exported constant Kind > two',
    '1:58-1:75 exported constant Kind > three',
    '1:69-1:75 exported constant Kind > four',
    '2:7-2:26 exported struct P',
    '2:15-2:26 exported constant P > x',
    '2:18-2:26 exported constant P > y',
    '3:5-3:53 exported function f',
    'partial',
  ]);
});
