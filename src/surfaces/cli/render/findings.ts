import { printable } from '../../../base/printable.ts';
import type { Finding } from '../../doctor/finding.ts';
import type { Colour, Style } from './style.ts';

const COLOURS: Record<Finding['severity'], Colour> = { ok: 'green', warn: 'yellow', error: 'red' };
const SEVERITY_WIDTH = 'error '.length;

/** One line each; what is not well also shows where to look and what mends it. */
export function renderFindings(findings: readonly Finding[], style: Style): string {
  const width = Math.max(...findings.map(({ check }) => check.length)) + 1;
  return findings.map((finding) => renderFinding(finding, width, style)).join('\n');
}

function renderFinding({ check, severity, what, evidence, fix }: Finding, width: number, { paint }: Style): string {
  const name = paint(COLOURS[severity], severity.padEnd(SEVERITY_WIDTH));
  const head = `${name}${printable(check).padEnd(width)} ${printable(what)}`;
  if (severity === 'ok') return head;
  const lines = [
    paint('dim', printable(evidence)),
    ...(fix ? [`fix${fix.safe ? ' (safe)' : ''}: ${printable(fix.does)}`] : []),
  ];
  return [head, ...lines.map((line) => `${' '.repeat(SEVERITY_WIDTH + width + 1)}${line}`)].join('\n');
}
