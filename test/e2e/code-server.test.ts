import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { NO_REAL_ROBERTO, REAL_ROBERTO, writePlayer } from '../fixtures/context/roberto/programs.ts';
import { SHOP } from '../fixtures/context/roberto/shop.ts';
import { verifies } from '../support/verifies.ts';
import { RunsRig } from './runs-rig.ts';

/** Another analysis server in the place of our own, asked by a person through the real daemon. */

const FOOT = 'completeness unknown: the configured server does not report it';

const PROGRAMS = {
  'roberto-mcp as it was recorded': { programIn: writePlayer, isThere: true },
  'a real roberto-mcp': { programIn: () => REAL_ROBERTO ?? '', isThere: REAL_ROBERTO !== undefined },
};

for (const [name, { programIn, isThere }] of Object.entries(PROGRAMS)) {
  verifies('C-095')
    .needs(isThere, NO_REAL_ROBERTO)
    .test(
      `${name} answers what people ask on the command line`,
      async () => {
        const rig = new RunsRig(SHOP);
        onTestFinished(() => rig.close());
        rig.world.configure({ reef: { context: { server: programIn(join(rig.world.root, 'bin')) } } });
        const asked = async (...args: string[]) => {
          const { code, out, err } = await rig.reef('code', ...args);
          return [code, err === '' ? out.trimEnd().split('\n').sort() : err.split('\n', 1)];
        };
        expect([
          await asked('outline', 'src/stock.c'),
          await asked('outline', 'README.md'),
          await asked('tree', 'src/lib'),
          await asked('symbol', 'Cart'),
          await asked('refs', 'Cart'),
          await asked('search', 'pay'),
          await asked('explore', 'where?'),
        ]).toEqual([
          [
            0,
            [
              '    2  constant  LIMIT',
              '    3  class  stock',
              '    3  variable  stock_t',
              '    5  function  static int stock_count(const stock_t *stock)',
              '   11  function  int main(int argc, char **argv) { return stock_count(0); }',
              FOOT,
            ],
          ],
          [0, [FOOT, 'nothing found']],
          [0, ['         class  Money', 'Summary: 1 symbols across 1 files', FOOT, 'src/lib/money.ts']],
          [0, [FOOT, 'src/cart.ts:7  class  Cart']],
          [
            0,
            [
              FOOT,
              'src/cart.ts:15  Usage, lexical  export function total(cart: Cart): number {',
              'src/cart.ts:20  Usage, lexical  total(new Cart());',
              'src/cart.ts:7  Usage, lexical  export class Cart {',
            ],
          ],
          [0, [FOOT, expect.stringMatching(/^src\/pay\.py/)]],
          [1, ['mcp_query: This analysis server has no explore_code.']],
        ]);
        const slices = await rig.reef('code', 'slice', 'outline:src/Order.java', 'refs:Cart');
        expect([slices.code, slices.out.match(/\(perhaps incomplete\)/g)?.length]).toEqual([0, 2]);
        expect(slices.out).toContain('8: public int compareTo(Order other) {');
        expect(slices.out).not.toContain(rig.world.root);
      },
      120_000,
    );
}
