import { isAbsolute, relative, resolve, sep } from 'node:path';
import { capText } from '../base/cap.ts';
import { defined } from '../base/defined.ts';
import type { EventBody, EventOf } from '../protocol/events.ts';
import type { Effect } from './adapter.ts';
import { askAboutBudget, measureBudget } from './budget.ts';
import type { Noise } from './job-runtime.ts';
import type { JobTransaction } from './job-transaction.ts';
import { acknowledgeMessage, enqueueLine } from './outbox.ts';
import { acknowledgeAnswer, ask, withdraw } from './questions.ts';
import { addTokens, addUsage, usageSoFar } from './usage.ts';

const TEXT_FLUSH = 4 * 1024;
const LAST_TEXT_CAP = 16 * 1024;
const RAW_CAP = 1024;
/** Each is an event or more, and nothing else happens until all of them are stored. No agent says so much in a line. */
const MOST_EFFECTS = 120;
/** A tool that was called before so many others and never ended is forgotten. */
const MOST_OPEN = 250;

/** The line that led to the effects, and where it stands in the raw file. */
export interface Source {
  stream: 'out' | 'err';
  offset: number;
  bytes: number;
  text: string;
  /** Long strings were cut out of it. */
  skeleton?: true;
  /** It is refused, whatever it asks. */
  isTooLarge?: true;
}

/** What an adapter understood of one line becomes events, questions and messages of the job. */
export function applyEffects(tx: JobTransaction, effects: Effect[], source: Source): void {
  for (const [index, effect] of effects.slice(0, MOST_EFFECTS).entries()) {
    if (effect.do !== 'text') flushText(tx);
    applyEffect(tx, effect, { ...source, index });
  }
  const left = effects.length - MOST_EFFECTS;
  if (left > 0) tx.warn(`one line said ${effects.length} things; the last ${left} were left out`);
}

function applyEffect(tx: JobTransaction, effect: Effect, source: Source & { index: number }): void {
  switch (effect.do) {
    case 'emit':
      emitAgentEvent(tx, effect.event, source);
      break;
    case 'text':
      joinText(tx, effect);
      break;
    case 'ask':
      ask(tx, {
        ...effect,
        line: source,
        isSkeleton: source.skeleton === true,
        isTooLarge: source.isTooLarge === true,
      });
      break;
    case 'withdraw':
      withdraw(tx, effect.by, effect.requestId);
      break;
    case 'write':
      enqueueLine(tx, effect.line, `${tx.job.launch}:${source.stream}:${source.offset}:${source.index}`);
      break;
    case 'ack':
      if ('messageId' in effect) acknowledgeMessage(tx, effect.messageId);
      else acknowledgeAnswer(tx, effect.requestId);
      break;
    case 'session':
      noteSession(tx, effect);
      break;
    case 'usage':
      noteUsage(tx, effect.report);
      break;
    case 'answer':
      delete tx.runtime.toldError;
      tx.job.turns += 1;
      tx.emit({ type: 'progress', payload: { kind: 'turn', n: tx.job.turns } });
      measureBudget(tx);
      break;
    case 'turn':
      noteTurn(tx, effect);
      break;
    case 'limit':
      reachLimit(tx, effect);
      break;
    case 'routine':
      break;
    case 'unknown':
      noteUnknown(tx, effect.name, source);
      break;
  }
}

function emitAgentEvent(tx: JobTransaction, event: Extract<Effect, { do: 'emit' }>['event'], source: Source): void {
  if (event.type === 'error' && event.payload.scope === 'line') {
    noteBadLine(tx, event.payload, source);
    return;
  }
  if (event.type === 'error' && event.payload.scope === 'turn') {
    tellTurnError(tx, event.payload);
    return;
  }
  trackTools(tx, event);
  tx.emit(event.type === 'file_edit' ? { ...event, payload: inFolder(tx.job.cwd, event.payload) } : event);
}

/** Once, however often the agent says it in a row. */
function tellTurnError(tx: JobTransaction, payload: EventOf<'error'>['payload']): void {
  const { code, message } = payload;
  const before = tx.runtime.toldError;
  tx.runtime.toldError = { code, message };
  if (before?.code !== code || before.message !== message) tx.emit({ type: 'error', payload });
}

function trackTools(tx: JobTransaction, event: EventBody): void {
  const { openTools } = tx.runtime;
  if (event.type === 'tool_call') tx.runtime.openTools = [...openTools.slice(-MOST_OPEN), event.payload.id];
  if (event.type === 'progress' && event.payload.kind === 'tool_result') {
    const { id } = event.payload;
    tx.runtime.openTools = openTools.filter((open) => open !== id);
  }
}

/** Agents report absolute paths; people read them relative to the folder of the job. */
function inFolder(cwd: string, edit: EventOf<'file_edit'>['payload']): EventOf<'file_edit'>['payload'] {
  const path = shortPath(cwd, edit.path);
  const from = edit.from === undefined ? undefined : shortPath(cwd, edit.from);
  return { ...edit, path, ...defined({ from, outside: isAbsolute(path) || undefined }) };
}

/** Relative below the folder, absolute elsewhere. */
function shortPath(cwd: string, path: string): string {
  const below = relative(cwd, resolve(cwd, path));
  return below === '' || below === '..' || below.startsWith(`..${sep}`) ? resolve(cwd, path) : below;
}

function joinText(tx: JobTransaction, piece: Extract<Effect, { do: 'text' }>): void {
  const { pendingText } = tx.runtime;
  if (pendingText && (pendingText.id !== piece.id || pendingText.kind !== piece.kind)) flushText(tx);
  const { kind, id, parent } = piece;
  const text = (tx.runtime.pendingText?.text ?? '') + piece.text;
  tx.runtime.pendingText = { kind, id, text, ...defined({ parent }) };
  if (piece.final) flushText(tx, true);
  else if (text.length >= TEXT_FLUSH) flushText(tx);
}

/** Joined pieces become an event at the end of their message, at 4 KiB, or when something else happens. */
export function flushText(tx: JobTransaction, isWhole = false): void {
  const pending = tx.runtime.pendingText;
  tx.runtime.pendingText = null;
  if (!pending || pending.text === '') return;
  const { kind, id, text, parent } = pending;
  if (kind === 'text' && parent === undefined) keepText(tx, text, id);
  const extras = defined({ delta: isWhole ? undefined : true, parent });
  tx.emit({ type: 'progress', payload: { kind, text, ...extras } });
}

/** Keeps the last message whole, although it became several events: it is the job's final output. */
function keepText(tx: JobTransaction, text: string, id: string | null): void {
  const before = id !== null && id === tx.runtime.lastTextId ? tx.runtime.lastText : '';
  tx.runtime.lastText = tx.storage.log.excerpt(before + text, -LAST_TEXT_CAP);
  tx.runtime.lastTextId = id;
}

function noteSession(tx: JobTransaction, hello: Extract<Effect, { do: 'session' }>): void {
  const { do: _, ...payload } = hello;
  // An agent may put anything into them, and the job keeps them.
  const { sessionId, agentVersion, cwd } = tx.storage.log.redact(payload);
  const isNews = !tx.runtime.wasGreeted || sessionId !== tx.job.sessionId;
  const isResumed = tx.job.launch > 1;
  tx.runtime.wasGreeted = true;
  tx.job = { ...tx.job, ...defined({ sessionId, agentVersion }) };
  if (!isNews) return;
  tx.emit({ type: 'progress', payload: { kind: 'session', ...payload } });
  if (isResumed && cwd !== undefined && cwd !== tx.job.cwd) {
    const message = `the agent resumed in ${cwd}, the job belongs to ${tx.job.cwd}`;
    tx.runtime.ending ??= { why: 'failure', fails: { code: 'cwd_mismatch', message } };
  }
}

function noteUsage(tx: JobTransaction, report: Extract<Effect, { do: 'usage' }>['report']): void {
  if (report.tokens?.scope === 'ahead') tx.runtime.ahead = addTokens(tx.runtime.ahead, report.tokens);
  else tellUsage(tx, report);
  measureBudget(tx);
}

function tellUsage(tx: JobTransaction, report: Extract<Effect, { do: 'usage' }>['report']): void {
  if (report.tokens) tx.runtime.ahead = null;
  const { usage, totals } = addUsage(tx.job.usage, tx.runtime.sessionTotals, report);
  tx.job.usage = usage;
  tx.runtime.sessionTotals = totals;
  tx.emit({ type: 'progress', payload: { kind: 'usage', usage } });
}

function noteTurn(tx: JobTransaction, turn: Extract<Effect, { do: 'turn' }>): void {
  if (turn.is === 'begun') {
    tx.runtime.turn = { is: 'open' };
    delete tx.runtime.toldError;
    tx.runtime.turnStartedAt = tx.now();
  } else if (turn.is === 'failed') {
    failTurn(tx, turn);
  } else {
    endTurn(tx, turn);
  }
}

function failTurn(tx: JobTransaction, turn: Extract<Effect, { is: 'failed' }>): void {
  closeTurn(tx, 'turn');
  const { code, message, retryable, status } = turn;
  tx.runtime.turn = { is: 'failed', code, message, retryable };
  const payload = { code, message, fatal: false, scope: 'turn', retryable, ...defined({ status }) } as const;
  tellTurnError(tx, payload);
}

function endTurn(tx: JobTransaction, turn: Extract<Effect, { is: 'over' }>): void {
  const { outcome, result, stopReason } = turn;
  closeTurn(tx, outcome === 'interrupted' ? 'interrupt' : 'turn');
  tx.runtime.turn = { is: 'over', outcome };
  if (result !== '') keepText(tx, result, null);
  const durationMs = Math.max(0, Date.parse(tx.now()) - Date.parse(tx.runtime.turnStartedAt ?? tx.now()));
  const end = { scope: 'turn', outcome, result, usage: tx.job.usage, durationMs } as const;
  tx.emit({ type: 'completed', payload: { ...end, ...defined({ stopReason }) } });
  if (outcome === 'interrupted') askAboutBudget(tx);
}

/** At the end of a turn or a process: open tools get a result, open questions are withdrawn. */
export function closeTurn(tx: JobTransaction, by: 'turn' | 'interrupt' | 'exit'): void {
  flushText(tx);
  settleUsage(tx);
  for (const id of tx.runtime.openTools) {
    tx.emit({ type: 'progress', payload: { kind: 'tool_result', id, ok: false, text: '', closedBy: by } });
  }
  tx.runtime.openTools = [];
  withdraw(tx, by);
}

/** No sum will come any more for what counted ahead of it. */
function settleUsage(tx: JobTransaction): void {
  if (!tx.runtime.ahead) return;
  tx.job.usage = usageSoFar(tx);
  tx.runtime.ahead = null;
  tx.emit({ type: 'progress', payload: { kind: 'usage', usage: tx.job.usage } });
}

function reachLimit(tx: JobTransaction, limit: Extract<Effect, { do: 'limit' }>): void {
  const { message, resumeAt: told } = limit;
  const resumeAt = told !== undefined && !Number.isNaN(Date.parse(told)) ? told : undefined;
  const until = defined({ resumeAt });
  closeTurn(tx, 'turn');
  tx.runtime.ending ??= { why: 'limit' };
  tx.job = { ...tx.job, ...until };
  tx.emit({ type: 'progress', payload: { kind: 'rate_limit', message, ...until } });
}

function noteUnknown(tx: JobTransaction, name: string, source: Source): void {
  tx.job.unknownMessages += 1;
  const payload = { kind: 'raw', name, ref: reference(tx, source), text: excerpt(tx, source.text) } as const;
  tellNoise(tx, 'warnings', { type: 'progress', payload });
}

/** A line that is no message of the protocol. The job goes on; the event shows a piece of the line. */
export function noteBadLine(tx: JobTransaction, error: EventOf<'error'>['payload'], source: Source): void {
  const payload = { ...error, raw: excerpt(tx, source.text), ref: reference(tx, source) };
  tellNoise(tx, 'badLines', { type: 'error', payload });
}

export function noteStderr(tx: JobTransaction, text: string): void {
  tellNoise(tx, 'warnings', { type: 'progress', payload: { kind: 'warning', message: excerpt(tx, text) } });
}

function excerpt(tx: JobTransaction, line: string): string {
  return capText(tx.storage.log.excerpt(line, RAW_CAP + 1), RAW_CAP);
}

function reference(tx: JobTransaction, source: Source): string {
  return `${tx.job.launch}/${source.stream}@${source.offset}`;
}

function tellNoise(tx: JobTransaction, kind: 'warnings' | 'badLines', body: EventBody): void {
  const minute = Math.floor(tx.storage.clock.now().getTime() / 60_000);
  const { noise, isShown, toTell } = admit(tx.runtime[kind], minute);
  tx.runtime[kind] = noise;
  if (toTell > 0) tellHidden(tx, toTell);
  if (isShown) tx.emit(body);
}

function tellHidden(tx: JobTransaction, count: number): void {
  const message = `${count} more lines like these were not shown`;
  tx.emit({ type: 'progress', payload: { kind: 'warning', message, count } });
}

/** At the end of a process: tells what was only counted so far. */
export function flushNoise(tx: JobTransaction): void {
  for (const kind of ['warnings', 'badLines'] as const) {
    const { hidden } = tx.runtime[kind];
    if (hidden > 0) tellHidden(tx, hidden);
    tx.runtime[kind] = { ...tx.runtime[kind], hidden: 0 };
  }
}

const SHOWN_A_MINUTE = 20;

/** Lets 20 lines of a kind through a minute. The rest are counted, and the next minute tells how many they were. */
export function admit(noise: Noise, minute: number): { noise: Noise; isShown: boolean; toTell: number } {
  const isNewMinute = minute !== noise.minute;
  const current = isNewMinute ? { minute, shown: 0, hidden: 0 } : noise;
  const toTell = isNewMinute ? noise.hidden : 0;
  const isShown = current.shown < SHOWN_A_MINUTE;
  const next = isShown ? { ...current, shown: current.shown + 1 } : { ...current, hidden: current.hidden + 1 };
  return { noise: next, isShown, toTell };
}
