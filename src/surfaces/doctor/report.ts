import { printable } from '../../base/printable.ts';
import type { Colour, Style } from '../render/style.ts';
import type { Finding } from './finding.ts';

const COLOURS: Record<Finding['severity'], Colour> = { ok: 'green', warn: 'yellow', error: 'red' };
const SEVERITY_WIDTH = 'error '.length;

/** First what is fine, one line each. Problems come last, with evidence and fix, because people read the end first. */
export function renderFindings(findings: readonly Finding[], style: Style): string {
  const width = Math.max(...findings.map(({ check }) => check.length)) + 1;
  const lines = (among: readonly Finding[]) => among.map((finding) => renderFinding(finding, width, style));
  const well = findings.filter(({ severity }) => severity === 'ok');
  const troubles = findings.filter(({ severity }) => severity !== 'ok');
  const safe = troubles.filter(({ fix }) => fix?.safe).length;
  const summary = [
    troubles.length === 0 ? 'No problems found.' : `Problems found: ${troubles.length}.`,
    ...(safe > 0 ? [`\`reef doctor --fix\` fixes ${safe} of them.`] : []),
  ];
  return [...lines(well), ...(troubles.length > 0 ? ['', ...lines(troubles)] : []), '', summary.join(' ')].join('\n');
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
