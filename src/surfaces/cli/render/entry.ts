import type { Colour } from './style.ts';

/** One event as it is shown: a mark, its words, and how they look. */
export interface Entry {
  mark: string;
  text: string;
  colour?: Colour;
  /** Lines shown before the rest is only counted; all when absent. */
  lines?: number;
}
