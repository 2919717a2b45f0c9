import { printable } from '../../../base/printable.ts';
import { GATES, type Gate } from '../../../protocol/workflow.ts';
import type { Alternative } from '../../../workflow/project/propose.ts';
import type { Suggestion } from '../../../workflow/project/toolchain.ts';
import { loginWords, type ReadyAgent } from '../../doctor/ready-agents.ts';
import { shellQuote } from '../../render/short-names.ts';
import type { Style } from '../../render/style.ts';
import type { NextCommand } from './init-advice.ts';

interface Found {
  repository: string;
  folder: string;
  toolchains: readonly string[];
  gates: Partial<Record<Gate, Suggestion>>;
  setup: Suggestion | null;
  alternatives: readonly Alternative[];
  config: { path: string; state: ConfigOutcome; aside?: string };
  agents: readonly ReadyAgent[];
}

const STATES = {
  none: 'nothing to write',
  would_write: 'would be written',
  written: 'written',
  replaced: 'replaced',
  same: 'is up to date',
  kept: 'was not changed',
};
export type ConfigOutcome = keyof typeof STATES;

/** The commands found, with the reason for each, and the agents. */
export function renderFound(
  { repository, folder, toolchains, gates, setup, alternatives, config, agents }: Found,
  style: Style,
): string {
  const kinds = toolchains.length === 0 ? 'no toolchain recognised' : toolchains.join(', ');
  const { paint } = style;
  return [
    `${paint('bold', printable(folder === '' ? repository : `${repository}, in ${folder}`))}  ${kinds}`,
    ...columns([
      ['set-up', ...commandCells(setup ?? undefined, 'none')],
      ...GATES.map((gate) => [
        gate,
        ...commandCells(gates[gate], gate === 'test' ? 'none: a run needs one' : 'none: skipped'),
      ]),
    ]),
    `  ${config.path}  ${STATES[config.state]}${config.aside === undefined ? '' : `; the old one is now ${config.aside}`}`,
    ...alsoFound(alternatives, config.state, style),
    '',
    paint('bold', 'Agents'),
    ...columns(agents.filter(({ isInstalled }) => isInstalled).map((agent) => [agent.name, agentState(agent)])),
    ...absent(agents),
  ].join('\n');
}

function commandCells(suggestion: Suggestion | undefined, otherwise: string): string[] {
  return suggestion ? [suggestion.command.map(shellQuote).join(' '), suggestion.because] : [otherwise];
}

/** Commands that were not taken, each with the flag that takes it. */
function alsoFound(alternatives: readonly Alternative[], state: ConfigOutcome, { paint }: Style): string[] {
  if (alternatives.length === 0) return [];
  const again = state === 'none' || state === 'would_write' ? 'reef init' : 'reef init --force';
  const rows = alternatives.map(({ toolchain, for: flag, command, because }) => [
    toolchain,
    `--${flag} ${shellQuote(command.map(shellQuote).join(' '))}`,
    because,
  ]);
  return [
    '',
    `${paint('bold', 'Also found')}  to use one of these instead, add its flag to \`${again}\``,
    ...columns(rows),
  ];
}

function agentState({ name, version, login, shellKeys, finding, toDo }: ReadyAgent): string {
  const state = [version, loginWords(name, login, shellKeys), finding].filter(Boolean).join(', ');
  return `${state || 'found'}${toDo === undefined ? '' : `: ${toDo}`}`;
}

function absent(agents: readonly ReadyAgent[]): string[] {
  const missing = agents.filter(({ isInstalled }) => !isInstalled);
  return missing.length === 0 ? [] : [`  not installed: ${missing.map(({ name }) => name).join(', ')}`];
}

/** What to know before a first run, and what to type. */
export function renderAhead(
  { notes, next }: { notes: readonly string[]; next: readonly NextCommand[] },
  { paint }: Style,
): string {
  const lines = columns(next.map(({ type, to }) => [type, paint('dim', to)]));
  const warnings = notes.map((note) => `  ${printable(note)}`);
  return [
    ...(notes.length > 0 ? ['', paint('yellow', 'Note'), ...warnings] : []),
    '',
    paint('bold', 'Next'),
    ...lines,
  ].join('\n');
}

/** Aligns cells. Commands are never cut, so that they can be pasted. */
function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = [0, 1].map((at) =>
    Math.max(0, ...rows.filter((row) => row.length > at + 1).map((row) => (row[at] ?? '').length)),
  );
  return rows.map(
    (row) => `  ${row.map((cell, at) => cell.padEnd(at < row.length - 1 ? (widths[at] ?? 0) : 0)).join('  ')}`,
  );
}
