import fc from 'fast-check';
import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { readableText } from './readable-text.ts';

verifies('C-042').test('macros that say nothing about structure become spaces, all else stays where it was', () => {
  const cases = {
    'class SHOP_API Cart : public Base {': 'class          Cart : public Base {',
    'SQLITE_API SQLITE_EXTERN const char *version(void);': '                         const char *version(void);',
    'void f() const REQUIRES(mutex_);': 'void f() const                  ;'.replace(
      '                  ',
      ' REQUIRES(mutex_)',
    ),
    'void f() LOCKS_REQUIRED(mutex_);': `void f() ${' '.repeat('LOCKS_REQUIRED(mutex_)'.length)};`,
    'if (failed) RETURN_ERROR(1);': 'if (failed) RETURN_ERROR(1);',
    'typedef int (CALLTYPE *handler)(int);': 'typedef int (         *handler)(int);',
    'UINT_PTR name;': 'UINT_PTR name;',
    '#define LIMIT_MAX 3': '#define LIMIT_MAX 3',
  };
  const found = Object.fromEntries(Object.keys(cases).map((text) => [text, readableText(text, 'cpp')]));
  expect(found).toEqual(cases);
  expect(readableText('typedef NS_ENUM(NSInteger, Color) { Red };', 'objc')).toBe(
    '        enum               Color  { Red };',
  );
});

verifies('C-042').test('whatever the text, no line and no column moves', () => {
  const word = fc.constantFrom(
    'class',
    'API_X',
    'A_B(',
    ')',
    '(',
    '*',
    'f',
    '{',
    '}',
    ';',
    '\n',
    ' ',
    'NS_ENUM(',
    ',',
    '#ifdef __cplusplus\n',
    'extern "C" {',
    '- (void)',
    'é𝒳',
  );
  const text = fc.array(word, { maxLength: 60 }).map((words) => words.join(' '));
  fc.assert(
    fc.property(text, fc.constantFrom('c', 'cpp', 'objc'), (source, language) => {
      const lengths = (of: string) => of.split('\n').map((line) => line.length);
      expect(lengths(readableText(source, language))).toEqual(lengths(source));
    }),
  );
});
