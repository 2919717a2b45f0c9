import { ReefError } from '../protocol/errors.ts';

/** A file system bounds each part to 255 bytes, and git appends `.lock` to the last. */
const LONGEST_PART = 240;
const LONGEST = 1_000;
/** What git refuses anywhere in a name, and lone surrogates, which would reach git as another name. */
const FORBIDDEN = /[\p{Cs}\0-\x20\x7f~^:?*[\\]|\.\.|@\{/u;
const OID = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** A full object id, SHA-1 or SHA-256. */
export type Oid = string;

/** The rules of `git check-ref-format` and ours: no leading `-`, no more than a file system takes. */
export function whyBadName(name: string): string | undefined {
  if (name === '' || name === '@') return 'is empty';
  if (FORBIDDEN.test(name)) return 'contains a character or sequence git forbids';
  if (Buffer.byteLength(name) > LONGEST) return `is longer than ${LONGEST} bytes`;
  return name.split('/').map(whyBadPart).find(Boolean);
}

function whyBadPart(part: string): string | undefined {
  if (part === '') return 'has an empty part';
  if (part.startsWith('-')) return 'has a part that looks like an option';
  if (part.startsWith('.') || part.endsWith('.')) return 'has a part that starts or ends with a dot';
  if (part.toLowerCase().endsWith('.lock')) return 'has a part that ends with .lock';
  return Buffer.byteLength(part) > LONGEST_PART ? `has a part longer than ${LONGEST_PART} bytes` : undefined;
}

function refused(what: string, value: string, why: string): ReefError {
  return new ReefError('ref_invalid', `The ${what} ${JSON.stringify(value.slice(0, 200))} ${why}.`);
}

/** `main`, not `refs/heads/main`. */
export function checkBranch(name: string): string {
  const why = name === 'HEAD' ? 'is reserved' : whyBadName(name);
  if (why !== undefined) throw refused('branch', name, why);
  return name;
}

export function checkRef(ref: string): string {
  const why = ref.startsWith('refs/') ? whyBadName(ref) : 'does not start with refs/';
  if (why !== undefined) throw refused('ref', ref, why);
  return ref;
}

export function checkOid(text: string): Oid {
  if (!OID.test(text)) throw refused('object id', text, 'is not 40 or 64 hexadecimal digits');
  return text;
}

/** What a person may type for a commit (`main~2`, `v1.0`, `@{u}`); git reads it after `--end-of-options`. */
export function checkRevision(text: string): string {
  const isBad = text === '' || text.startsWith('-') || text.length > LONGEST || /[\p{Cc}\p{Cs}]/u.test(text);
  if (isBad) throw refused('revision', text, 'is empty, too long, an option or contains control characters');
  return text;
}

const SLUG_LENGTH = 40;

/** A readable part of a name made of any text: `Fix: the Ünïcode bug!` is `fix-the-unicode-bug`. */
export function slugOf(text: string): string {
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const words = plain.slice(0, 1_000).match(/[a-z0-9]+/g) ?? [];
  return words.join('-').slice(0, SLUG_LENGTH).replace(/-$/, '') || 'task';
}

/** Ids of the same time differ only at the end. The part `tip` lets a sandbox open just this folder of refs. */
export function worktreeBranch(title: string, id: string): string {
  return checkBranch(`reef/${slugOf(title)}-${id.slice(-8).toLowerCase()}/tip`);
}
