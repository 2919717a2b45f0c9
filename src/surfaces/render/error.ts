import { printable } from '../../base/printable.ts';
import type { ErrorBody } from '../../protocol/errors.ts';
import type { Style } from './style.ts';

export function renderError({ error }: ErrorBody, { paint }: Style): string {
  const details = Object.entries(error.details ?? {}).flatMap(([key, value]) => detail(key, value));
  return [
    `${paint('red', printable(error.code))}: ${printable(error.message)}`,
    ...details.map((line) => `  ${line}`),
    paint('dim', printable(error.hint)),
  ].join('\n');
}

function detail(key: string, value: unknown): string[] {
  // The message has them already.
  if (['fields', 'problems', 'options'].includes(key)) return [];
  const name = printable(key);
  const lines = (Array.isArray(value) ? value : [value]).flatMap(linesOf);
  return lines.length === 1 ? [`${name}: ${lines[0]}`] : [`${name}:`, ...lines.map((line) => `  ${line}`)];
}

function linesOf(value: unknown): string[] {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return printable(text ?? '')
    .trimEnd()
    .split('\n');
}
