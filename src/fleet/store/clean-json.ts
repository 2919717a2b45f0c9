/** `jsonb` refuses NUL and halves of a surrogate pair, which agents do write; each becomes U+FFFD. */
const REFUSED = /\\u(?:0000|d[89a-f][0-9a-f]{2})(?<=(?:^|[^\\])(?:\\\\)*\\u.{4})/gi;

export function cleanJson(value: unknown): string {
  return (JSON.stringify(value) ?? 'null').replace(REFUSED, '\\ufffd');
}

export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}
