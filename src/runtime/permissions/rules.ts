import { matchesWildcard } from '../../base/glob.ts';
import type { Rule } from '../config/reef-block.ts';
import type { Claims, ToolEffect } from '../tools/tool.ts';
import { splitShellLine } from './shell-line.ts';

type Action = Rule['action'];

interface Verdict {
  action: Action;
  /** Why it is not simply allowed, for the question and the refusal. */
  reasons: string[];
}

type ReadonlyRules = readonly Readonly<Rule>[];

/** One thing that a call does. */
interface Item {
  text: string;
  /** Rules without `match` do not apply to it. */
  needsMatch: boolean;
  otherwise: Action;
  because: string;
}

const STRENGTH: Record<Action, number> = { allow: 0, ask: 1, deny: 2 };

/** The strictest action of all rules that fit anything the call does: deny over ask over allow. */
export function judge(
  rules: ReadonlyRules,
  call: { tool: string; effect: ToolEffect; claims: Claims; arguments: unknown },
): Verdict {
  const own = rules.filter(({ tool }) => matches(tool, call.tool));
  const verdicts = itemsOf(own, call).map((item) => ({ action: judgeItem(own, item), item }));
  const action = verdicts.reduce<Action>((worst, next) => stricter(worst, next.action), 'allow');
  return { action, reasons: verdicts.filter((each) => each.action !== 'allow').map(({ item }) => item.because) };
}

function itemsOf(rules: ReadonlyRules, call: Parameters<typeof judge>[1]): Item[] {
  const { claims, effect } = call;
  // To ask a person needs no permission of that person.
  const otherwise: Action = effect === 'read' || effect === 'ask' ? 'allow' : 'ask';
  const outside = (claims.outside ?? []).map(
    (path): Item => ({
      text: path,
      needsMatch: true,
      otherwise: 'ask',
      because: `${path} is outside the working directory`,
    }),
  );
  if (claims.command !== undefined) return [...outside, ...commandItems(rules, claims.command)];
  const text = claims.subject ?? JSON.stringify(call.arguments) ?? '';
  return [...outside, { text, needsMatch: false, otherwise, because: `${call.tool} would ${effect}: ${text}` }];
}

function commandItems(rules: ReadonlyRules, command: string): Item[] {
  const { parts, unclear } = splitShellLine(command);
  const items = parts.map(
    (text): Item => ({ text, needsMatch: false, otherwise: 'ask', because: `it would run: ${text}` }),
  );
  if (unclear === undefined && items.length > 0) return items;
  // Only a rule without `match` can allow a line that is not understood. A rule that denies a piece of it still holds.
  const pieces = command.split(/[;&|\n(){}`<>$"']+/).flatMap(endingsOf);
  const isDenied = pieces.some((text) => rules.some((rule) => rule.action === 'deny' && fits(rule, text)));
  const because = `the line ${unclear ?? 'is empty'}: ${command}`;
  const otherwise: Action = isDenied ? 'deny' : 'ask';
  return [...items, { text: UNMATCHABLE, needsMatch: false, otherwise, because }];
}

const ENDINGS = 8;

/** A command may follow a few keywords. */
function endingsOf(piece: string): string[] {
  const words = piece.trim().split(/\s+/);
  return Array.from({ length: Math.min(ENDINGS, words.length) }, (_, n) => words.slice(n).join(' '));
}

/** No command contains it, so only rules without `match` apply. */
const UNMATCHABLE = '\0';

function judgeItem(rules: ReadonlyRules, item: Item): Action {
  const found = rules.filter((rule) => (rule.match === undefined ? !item.needsMatch : fits(rule, item.text)));
  if (item.text === UNMATCHABLE) {
    const general = rules.filter(({ match }) => match === undefined);
    if (item.otherwise === 'deny' || general.length === 0) return item.otherwise;
    return general.reduce<Action>((worst, { action }) => stricter(worst, action), 'allow');
  }
  if (found.length === 0) return item.otherwise;
  return found.reduce<Action>((worst, { action }) => stricter(worst, action), 'allow');
}

const stricter = (a: Action, b: Action): Action => (STRENGTH[a] >= STRENGTH[b] ? a : b);

const fits = ({ match }: Readonly<Rule>, text: string) => match !== undefined && matches(match, text);

/** `*` is any text, `?` one character. A trailing ` *` may be missing: `npm test *` also fits `npm test`. */
function matches(pattern: string, text: string): boolean {
  if (pattern.endsWith(' *') && text === pattern.slice(0, -2)) return true;
  return matchesWildcard(pattern, text);
}
