import { ReefError } from '../protocol/errors.ts';

const LONGEST = 4_096;
const CONTROL = /[\p{Cc}\p{Cs}]/u;
const IGNORABLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu;
const PRIVATE = new Set(['.git', '.reef']);

/** Shows the path as JSON, because it may be hostile. */
export function refusePath(path: string, why: string, cause?: unknown): ReefError {
  const shown = JSON.stringify(path.slice(0, 200));
  return new ReefError('path_outside_worktree', `The path ${shown} ${why}.`, { cause, details: { path } });
}

/** The parts of a relative path that stays below its root by its text. Links are checked when the path is walked. */
export function safeParts(path: string): string[] {
  const why = whyUnsafe(path);
  if (why !== undefined) throw refusePath(path, why);
  return partsOf(path);
}

export function whyUnsafe(path: string): string | undefined {
  if (Buffer.byteLength(path) > LONGEST) return `is longer than ${LONGEST} bytes`;
  if (CONTROL.test(path)) return 'contains control characters';
  if (path.startsWith('/')) return 'is absolute';
  const parts = partsOf(path);
  if (parts.includes('..')) return 'contains ".."';
  return parts.some(isPrivateName) ? 'leads into the files of git or Reef' : undefined;
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}

/** Compares like a file system that ignores case, invisible characters, and trailing dots and spaces. */
function isPrivateName(part: string): boolean {
  const folded = part.normalize('NFKC').replace(IGNORABLE, '').toUpperCase().toLowerCase();
  let end = folded.length;
  while (end > 0 && (folded[end - 1] === '.' || folded[end - 1] === ' ')) end--;
  return PRIVATE.has(folded.slice(0, end));
}
