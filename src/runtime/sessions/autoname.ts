import { AUTONAMES } from './alias.ts';

const LONGEST_TITLE = 60;

/** Whatever the model wrote, as part of a name: letters, digits and hyphens. */
export function slugOf(title: string): string {
  return title
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .slice(0, LONGEST_TITLE)
    .replace(/^-+|-+$/g, '');
}

/** `_/YYYYMMDDTHHMMSS[-slug]`. */
export function autoname(now: Date, title: string | undefined): string {
  const stamp = now.toISOString().replace(/[-:]|\.\d+Z$/g, '');
  const slug = title === undefined ? '' : slugOf(title);
  return `${AUTONAMES}/${stamp}${slug === '' ? '' : `-${slug}`}`;
}
