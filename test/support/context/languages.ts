import type { Language } from '../../../src/context/lang/contract.ts';

/** In the order of the tables. */
export const LANGUAGES =
  'typescript tsx javascript python go rust java kotlin scala c cpp objc csharp php ruby swift bash'.split(
    ' ',
  ) as Language[];
