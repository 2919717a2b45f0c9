export type Redact = (text: string) => string;

export const MARK = '[redacted]';
/** Shorter values occur everywhere by chance. */
const SHORTEST = 8;

/**
 * Tokens known by their shape. Each pattern fails within a bounded distance or begins at the start of a token, so a search is
 * linear. It runs only where its hint occurs.
 */
const TOKEN_SHAPES: readonly (readonly [hint: string, shape: RegExp])[] = [
  ['sk-', /(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{20,}/g],
  ['gh', /(?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{30,}/g],
  ['github_pat_', /(?<![A-Za-z0-9])github_pat_[A-Za-z0-9_]{22,}/g],
  ['glpat-', /(?<![A-Za-z0-9])glpat-[A-Za-z0-9_-]{20,}/g],
  ['xox', /(?<![A-Za-z0-9])xox[abeprs]-[A-Za-z0-9-]{10,}/g],
  ['npm_', /(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}/g],
  ['AKIA', /(?<![A-Za-z0-9])AKIA[A-Z0-9]{16}(?![A-Za-z0-9])/g],
  ['ASIA', /(?<![A-Za-z0-9])ASIA[A-Z0-9]{16}(?![A-Za-z0-9])/g],
  ['AIza', /(?<![A-Za-z0-9_-])AIza[A-Za-z0-9_-]{35}/g],
  ['eyJ', /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g],
  ['earer', /(?<=\b[Bb]earer(?: |%20|\+))[A-Za-z0-9._~+/=-]{16,}/g],
];

export type Span = [start: number, end: number];

/** Replaces known secrets (plain, and as JSON, URL or base64 would write them) and tokens of well-known shape. Secrets under 8 characters are ignored. */
export function createRedactor(secrets: readonly string[]): Redact {
  const needles = [...new Set(secrets.flatMap(formsOf))];
  return (text) => {
    const spans = secretSpans(text, needles);
    return spans.length === 0 ? text : withoutSpans(text, spans);
  };
}

/** No secret is longer: one that begins before a cut ends within this margin. */
const MARGIN = 16 * 1024;

/** The start of a text, redacted at about the cost of what is kept: at least `length` long if nothing was found in it. */
export function redactStart(redact: Redact, text: string, length: number): { start: string; isWhole: boolean } {
  if (text.length <= length + MARGIN) return { start: redact(text), isWhole: true };
  // The margin's end may hold a part of a secret, wherever marks that are shorter than what they stand for have moved it.
  return { start: redact(text.slice(0, length + MARGIN)).slice(0, -MARGIN), isWhole: false };
}

/** The same for the end of a text. */
export function redactEnd(redact: Redact, text: string, length: number): string {
  if (text.length <= length + MARGIN) return redact(text);
  return redact(text.slice(-(length + MARGIN))).slice(MARGIN);
}

/** Where the same secrets lie among bytes: for those who pass on a part, and must not pass on a part of a secret. */
export function findSecrets(secrets: readonly string[], bytes: Buffer): Span[] {
  const needles = new Set(secrets.flatMap(formsOf).map((form) => Buffer.from(form).toString('latin1')));
  return secretSpans(bytes.toString('latin1'), needles).sort((a, b) => a[0] - b[0]);
}

function secretSpans(text: string, needles: Iterable<string>): Span[] {
  const spans: Span[] = [];
  for (const needle of needles) {
    for (let at = text.indexOf(needle); at !== -1; at = text.indexOf(needle, at + 1)) {
      spans.push([at, at + needle.length]);
    }
  }
  for (const [hint, shape] of TOKEN_SHAPES) {
    if (!text.includes(hint)) continue;
    for (const match of text.matchAll(shape)) spans.push([match.index, match.index + match[0].length]);
  }
  return spans;
}

/** For payloads that are already parsed: all strings, keys included. */
export function redactDeep<T>(redact: Redact, value: T): T {
  return copyDeep(redact, value) as T;
}

function copyDeep(redact: Redact, value: unknown): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((child) => copyDeep(redact, child));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [redact(key), copyDeep(redact, child)]));
}

/** Overlapping finds become one mark, so that no part of either survives. */
function withoutSpans(text: string, spans: Span[]): string {
  spans.sort((a, b) => a[0] - b[0]);
  let out = '';
  let done = 0;
  for (const [start, end] of spans) {
    if (start >= done) out += text.slice(done, start) + MARK;
    done = Math.max(done, end);
  }
  return out + text.slice(done);
}

function formsOf(secret: string): string[] {
  if (secret.length < SHORTEST) return [];
  const json = jsonForm(secret);
  const forms = [secret, json, asciiForm(json), jsonForm(json), ...urlForms(secret), ...base64Forms(secret)];
  return forms.filter((form) => form.length >= SHORTEST);
}

function jsonForm(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function asciiForm(json: string): string {
  return json.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function urlForms(secret: string): string[] {
  const usual = encodeURIComponent(secret.toWellFormed());
  const strict = usual.replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  const form = new URLSearchParams({ '': secret }).toString().slice(1);
  const forms = [usual, strict, form, usual.replaceAll('%2F', '/')];
  return forms.flatMap((text) => [text, text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())]);
}

/** In base64 of a longer text a secret has one of three alignments: the characters that depend on it alone. */
function base64Forms(secret: string): string[] {
  const length = Buffer.byteLength(secret);
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]).toString('base64');
    const form = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + length) * 8) / 6));
    return [form, form.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
