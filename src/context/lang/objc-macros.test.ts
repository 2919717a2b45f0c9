import { expect, onTestFinished } from 'vitest';
import { factRows } from '../../../test/support/context/rows.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { ParserPool } from './parser-pool.ts';
import { readableText } from './readable-text.ts';

const CART = `@interface Cart : NSObject
SHOP_EXTERN_METHOD(empty:(int)count)
@end

@implementation Cart

SHOP_EXPORT_MODULE();
SHOP_CONVERTER(Price, @{ @"a" : @(1), @"b\\")" : @(2) }, doubleValue)

SHOP_EXPORT_METHOD(add:(Item *)item amount:(int)amount) {
  SHOP_LOG(@"added");
}

SHOP_REMAP_METHOD(drop, remove
                  : (nonnull Item *)item // the last, if there are many
                      reason
                  : (NSString *)reason)
{
  return;
}

SHOP_CUSTOM_PROPERTY(color, UIColor, Cart) {
  self.color = json;
}

- (void)close SHOP_AVAILABLE(ios(13.0))
{
}
@end

@implementation Till
- (void)open {
}
@end

SHOP_EXTERN Till *__nullable NextTill(void);
`;

verifies('C-042').test(
  'Objective-C: a macro that defines a method is one, one that says nothing hides nothing',
  async () => {
    const pool = new ParserPool({ workers: 1, parseMs: 60_000 });
    onTestFinished(() => pool.close());
    expect(factRows(await pool.extract(Buffer.from(CART), 'objc'))).toEqual([
      '1:11-3:4 exported class Cart | @interface Cart : NSObject',
      '2:19-2:36 exported method Cart > empty | SHOP_EXTERN_METHOD(empty:(int)count)',
      '5:16-29:4 exported class Cart | @implementation Cart',
      '10:19-12:1 exported method Cart > add | SHOP_EXPORT_METHOD(add:(Item *)item amount:(int)amount)',
      expect.stringContaining('14:24-20:1 exported method Cart > remove | SHOP_REMAP_METHOD(drop, remove'),
      '22:21-24:1 exported method Cart > color | SHOP_CUSTOM_PROPERTY(color, UIColor, Cart)',
      '26:8-28:1 exported method Cart > close | - (void)close SHOP_AVAILABLE(ios(13.0))',
      '31:16-34:4 exported class Till | @implementation Till',
      '32:8-33:1 exported method Till > open | - (void)open',
      '36:29-36:44 exported function NextTill | SHOP_EXTERN Till *__nullable NextTill(void)',
    ]);
  },
);

verifies('C-042').test('Objective-C: whatever is opened and never closed, no line and no column moves, in time', () => {
  const texts = ['A_B(\n', 'A_B("\n', 'A_METHOD(a, b\n', 'A_B(c) {\n', '  A_METHOD(c,\n'].map((text) =>
    text.repeat(10_000),
  );
  const lengths = (of: string) => of.split('\n').map((line) => line.length);
  for (const text of texts) expect(lengths(readableText(text, 'objc'))).toEqual(lengths(text));
});
