import { Limiter } from '../../base/serial.ts';
import type { Basis } from '../../protocol/code.ts';
import { ReefError, toReefError } from '../../protocol/errors.ts';
import { type Expanded, expand, type SliceValues } from './expand.ts';
import {
  type Count,
  definitionLevels,
  exploreLevels,
  fileLevels,
  fitLevels,
  hopsLevels,
  type Leveled,
  type LevelName,
  mapLevels,
  outlineLevels,
  referenceLevels,
  searchLevels,
  treeLevels,
} from './levels.ts';
import { CONTEXT_BUDGET, type Slice } from './slice.ts';
import type { SliceAsk } from './slice-ask.ts';

export interface RenderRequest {
  slices: readonly Slice[];
  /** The most tokens of the whole text. */
  budget?: number | undefined;
  values: SliceValues;
  ask: SliceAsk;
  count: Count;
}

/** A slice that could not be shown. The caller reports it as event `context_degraded`. */
export interface Degraded {
  slice: string;
  code: string;
  message: string;
}

export interface RenderedContext {
  text: string;
  tokens: number;
  /** Nothing is missing or pending, so the same tree gives the same bytes. */
  complete: boolean;
  degraded: Degraded[];
}

type Answer = { leveled: Leveled } | { nothing: string } | { failed: Degraded };
interface Asked {
  expanded: Expanded;
  answer: Answer;
}

/** A hundred slices of twenty files each would be too many questions at once. */
const AT_ONCE = 8;
const EXPLORE = { least: 500, most: 20_000 } as const;

/** Renders slices as the text a block sees, within its budget. Throws `context_unavailable` when a required slice fails. */
export async function renderSlices(request: RenderRequest): Promise<RenderedContext> {
  const { slices, values, budget = CONTEXT_BUDGET.usual, count } = request;
  const expanded = slices.flatMap((slice) => expand(slice, values));
  const share = Math.floor(budget / Math.max(1, expanded.length));
  const limiter = new Limiter(AT_ONCE);
  const asked = await Promise.all(
    expanded.map(async (each): Promise<Asked> => {
      return { expanded: each, answer: await limiter.run(() => answerTo(each, request, share)) };
    }),
  );
  refuseMissing(asked);
  const text = withinBudget(asked, budget, count);
  return {
    text,
    tokens: count(text),
    complete: asked.every(({ answer }) => !('failed' in answer) && ('nothing' in answer || isWhole(answer.leveled))),
    degraded: asked.flatMap(({ answer }) => ('failed' in answer ? [answer.failed] : [])),
  };
}

function isWhole({ basis }: Leveled): boolean {
  return basis === 'disk' || basis.complete;
}

function refuseMissing(asked: readonly Asked[]): void {
  const missing = asked.find(({ expanded, answer }) => expanded.slice.required && 'failed' in answer);
  if (missing === undefined || !('failed' in missing.answer)) return;
  const { slice, code, message } = missing.answer.failed;
  throw new ReefError('context_unavailable', `The slice ${slice} is required and could not be read: ${message}`, {
    details: { slice, code },
  });
}

async function answerTo(expanded: Expanded, request: RenderRequest, share: number): Promise<Answer> {
  const { about, heading, slice, budget = share } = expanded;
  if ('nothing' in about) return about;
  if ('code' in about) return { failed: { slice: heading, ...about } };
  try {
    return { leveled: await askFor(slice, about.text, request, budget) };
  } catch (error) {
    const { code, message } = toReefError(error);
    return { failed: { slice: heading, code, message } };
  }
}

async function askFor(slice: Slice, about: string, request: RenderRequest, room: number): Promise<Leveled> {
  const { ask } = request;
  const { kind, limit, depth } = slice;
  switch (kind) {
    case 'outline':
      return outlineLevels(await ask.outline(about));
    case 'tree':
      return treeLevels(await ask.tree(about, depth));
    case 'symbol':
      return definitionLevels(await ask.symbol(about, false));
    case 'source':
      return definitionLevels(await ask.symbol(about, true));
    case 'refs':
      return referenceLevels(await ask.references(about, limit));
    case 'find':
      return definitionLevels(await ask.find(about, limit));
    case 'search':
      return searchLevels(await ask.search(about, limit));
    case 'explore':
      return exploreLevels(await ask.explore(about, exploring(request, room)));
    case 'map':
      return mapLevels(await ask.explore(about, exploring(request, room)));
    case 'hops':
      return hopsLevels(await ask.hops(about, depth));
    case 'file':
      return askForFile(slice, about, request, room);
  }
}

/** Files that are planned or changed count as nearer. */
function exploring({ values }: RenderRequest, room: number): { budget_tokens: number; files: string[] } {
  const files = [...new Set([...values.plan, ...values.changed])].sort().slice(0, 200);
  return { budget_tokens: Math.min(EXPLORE.most, Math.max(EXPLORE.least, room)), files };
}

/** Only a file that may not fit needs the outline, and with it a server. */
async function askForFile(
  { lines }: Slice,
  path: string,
  { ask, count }: RenderRequest,
  room: number,
): Promise<Leveled> {
  const text = await ask.file(path);
  const whole = fileLevels(text, lines, undefined);
  if (count((whole.levels[0]?.lines ?? []).join('\n')) < room) return whole;
  const outline = await ask.outline(path).then(outlineLevels, () => undefined);
  return fileLevels(text, lines, outline);
}

/** The token counts of parts need not add up to that of the whole, so an excess is taken off the room until it fits. */
function withinBudget(asked: readonly Asked[], budget: number, count: Count): string {
  for (let room = budget; room > 0; ) {
    const text = layOut(asked, room, count);
    const excess = count(text) - budget;
    if (excess <= 0) return text;
    room -= excess;
  }
  return '';
}

function layOut(asked: readonly Asked[], budget: number, count: Count): string {
  const placed = place(asked, budget, count);
  const dropped = asked.length - placed.size;
  if (dropped === 0) return written(asked, placed);
  const note = `(${dropped} of ${asked.length} slices left out: no room)`;
  const fewer = place(asked, budget - count(note) - 1, count);
  const left = asked.length - fewer.size;
  return [written(asked, fewer), note.replace(String(dropped), String(left))]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** Slices with a budget of their own come first. The others share the rest, and what one leaves goes to the next. */
function place(asked: readonly Asked[], budget: number, count: Count): Map<Asked, string> {
  const separator = count('\n\n');
  const placed = new Map<Asked, string>();
  const own = asked.filter(({ expanded }) => expanded.budget !== undefined);
  const rest = asked.filter(({ expanded }) => expanded.budget === undefined);
  let left = budget;
  for (const [index, each] of [...own, ...rest].entries()) {
    const waiting = own.length + rest.length - index;
    const room = index < own.length ? Math.min(each.expanded.budget ?? 0, left) : Math.floor(left / waiting);
    const text = write(each, room - separator, count);
    if (text === undefined) continue;
    placed.set(each, text);
    left -= count(text) + separator;
  }
  return placed;
}

function written(asked: readonly Asked[], placed: ReadonlyMap<Asked, string>): string {
  return asked.flatMap((each) => placed.get(each) ?? []).join('\n\n');
}

function write({ expanded, answer }: Asked, room: number, count: Count): string | undefined {
  if ('leveled' in answer) {
    const { basis, levels } = answer.leveled;
    const heading = (shrunkTo: LevelName | undefined) => headingOf(expanded.heading, basis, shrunkTo);
    return fitLevels({ heading, levels, room, count });
  }
  const text = 'nothing' in answer ? `(${answer.nothing})` : `(not available: ${answer.failed.message})`;
  const whole = `#### ${expanded.heading}\n${text}`;
  return count(whole) <= room ? whole : undefined;
}

export function headingOf(text: string, basis: Leveled['basis'], shrunkTo: LevelName | undefined): string {
  const states = basis === 'disk' ? [] : stateOf(basis);
  if (shrunkTo !== undefined) states.push(`shrunk to ${shrunkTo}`);
  return states.length === 0 ? `#### ${text}` : `#### ${text} (${states.join(', ')})`;
}

function stateOf({ engine, stage, complete, pending }: Basis): string[] {
  if (engine === 'foreign') return ['perhaps incomplete'];
  if (complete) return [`stage ${stage}`, 'complete'];
  return [`stage ${stage}`, pending > 0 ? `incomplete: ${pending} files pending` : 'incomplete'];
}
