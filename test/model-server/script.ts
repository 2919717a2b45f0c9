/** What a scripted model does: the format of a script, and its check at the door. */

export type Json = Record<string, unknown>;

export interface Question {
  question: string;
  options: string[];
  header?: string;
  multi?: boolean;
}

/** What the model wants done, in words of no agent; `actions.ts` finds the tool that the caller offers for it. */
export type Action =
  | { write: string; content: string }
  | { edit: string; old: string; new: string }
  | { read: string }
  /** `escalate` is the reason Codex shows when it asks to leave its sandbox; the others ask by their own rules. */
  | { shell: string; escalate?: string }
  | { ask: Question[] }
  | { plan: string }
  /** A tool by name; `mcp__<server>__<tool>` is found under whatever name the agent gives it. */
  | { tool: string; input: Json };

export interface Usage {
  input: number;
  output: number;
  cached?: number;
}

export type Stop = 'end' | 'length' | 'refusal';

/** The answer to one request that offers tools. */
export interface Turn {
  /** A regular expression on what is new in the request (user text, tool results); no match: the turn is passed over. */
  if?: string;
  text?: string;
  thinking?: string;
  tools?: Action[];
  usage?: Usage;
  stop?: Stop;
  /** So many characters follow the text. */
  bigText?: number;
  /** An HTTP error in place of an answer. */
  status?: number;
  /** Seconds, as a header of the error. */
  retryAfter?: number;
  /** How many requests this turn answers before the next one's turn comes: 1. */
  times?: number;
  /** An error event where the stream should end. */
  streamError?: string;
  /** The connection breaks after so many events. */
  cutAfter?: number;
  /** The content is sent, the end never comes. */
  hang?: boolean;
  /** Before the first byte. */
  delayMs?: number;
  /** Between two events. */
  chunkMs?: number;
}

export type Scripts = Record<string, Turn[]>;

export class ScriptError extends Error {
  override name = 'ScriptError';
}

type Check = (value: unknown) => boolean;
const isText: Check = (value) => typeof value === 'string';
const isNumber: Check = (value) => typeof value === 'number' && value >= 0;
const isFlag: Check = (value) => typeof value === 'boolean';
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const usageFields: Record<string, Check> = { input: isNumber, output: isNumber, cached: isNumber };

const turnFields: Record<string, Check> = {
  if: isText,
  text: isText,
  thinking: isText,
  tools: (value) => Array.isArray(value) && value.length > 0,
  usage: (value) =>
    isObject(value) && Object.entries(value).every(([key, field]) => usageFields[key]?.(field) === true),
  stop: (value) => value === 'end' || value === 'length' || value === 'refusal',
  bigText: isNumber,
  status: (value) => typeof value === 'number' && value >= 400 && value <= 599,
  retryAfter: isNumber,
  times: (value) => isNumber(value) && value !== 0,
  streamError: isText,
  cutAfter: isNumber,
  hang: isFlag,
  delayMs: isNumber,
  chunkMs: isNumber,
};

const isQuestion: Check = (value) =>
  isObject(value) &&
  isText(value.question) &&
  Array.isArray(value.options) &&
  value.options.every(isText) &&
  (value.header === undefined || isText(value.header)) &&
  (value.multi === undefined || isFlag(value.multi));

/** Per kind of action: its fields, `?` after a name that may be missing. */
const actionFields: Record<string, Record<string, Check>> = {
  write: { write: isText, content: isText },
  edit: { edit: isText, old: isText, new: isText },
  read: { read: isText },
  shell: { shell: isText, 'escalate?': isText },
  ask: { ask: (value) => Array.isArray(value) && value.length > 0 && value.every(isQuestion) },
  plan: { plan: isText },
  tool: { tool: isText, input: isObject },
};

function checkFields(value: Json, fields: Record<string, Check>, at: string): void {
  for (const key of Object.keys(value)) {
    const check = fields[key] ?? fields[`${key}?`];
    if (!check) throw new ScriptError(`${at}: unknown field "${key}"`);
    if (!check(value[key])) throw new ScriptError(`${at}: bad value of "${key}": ${JSON.stringify(value[key])}`);
  }
}

function checkAction(value: unknown, at: string): void {
  if (!isObject(value)) throw new ScriptError(`${at}: an action is an object`);
  const kind = Object.keys(actionFields).find((name) => name in value);
  const fields = kind === undefined ? undefined : actionFields[kind];
  if (!fields) throw new ScriptError(`${at}: an action has one of ${Object.keys(actionFields).join(', ')}`);
  const missing = Object.keys(fields).find((key) => !key.endsWith('?') && !(key in value));
  if (missing) throw new ScriptError(`${at}: "${missing}" is missing`);
  checkFields(value, fields, at);
}

function checkTurn(value: unknown, at: string): void {
  if (!isObject(value)) throw new ScriptError(`${at}: a turn is an object`);
  checkFields(value, turnFields, at);
  const actions = (value.tools ?? []) as unknown[];
  for (const [n, action] of actions.entries()) checkAction(action, `${at}.tools[${n}]`);
  try {
    if (typeof value.if === 'string') new RegExp(value.if);
  } catch (cause) {
    throw new ScriptError(`${at}: "if" is no regular expression`, { cause });
  }
}

/** Takes `{ name: [turn, …] }`, or one script alone as `[turn, …]`, which is then called `main`. */
export function parseScripts(value: unknown): Scripts {
  const scripts = Array.isArray(value) ? { main: value } : value;
  if (!isObject(scripts)) throw new ScriptError('a script is an array of turns, or an object of such arrays by name');
  for (const [name, turns] of Object.entries(scripts)) {
    if (!/^[\w.-]+$/.test(name)) throw new ScriptError(`"${name}": a name is made of letters, digits, ".", "_", "-"`);
    if (!Array.isArray(turns)) throw new ScriptError(`${name}: a script is an array of turns`);
    for (const [n, turn] of turns.entries()) checkTurn(turn, `${name}[${n}]`);
  }
  return scripts as Scripts;
}
