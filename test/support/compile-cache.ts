import { join } from 'node:path';

/** What V8 compiled of our sources, for every program that tests start: each alone would spend half of its start on that. */
export const COMPILED = join(import.meta.dirname, '../../node_modules/.cache/reef/compile-cache');
