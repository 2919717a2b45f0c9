import type { AgentEvent, EventOf } from '../../../../src/protocol/events.ts';
import { answeredBy } from '../../questions/asked.ts';

type ToolCall = EventOf<'tool_call'>['payload'];
interface ToolResult {
  ok: boolean;
  text: string;
  exitCode?: number | undefined;
  closedBy?: string | undefined;
}

interface Head {
  seq: number;
  at: string;
  /** Of a sub-agent. */
  isChild: boolean;
}
interface TextRow extends Head {
  is: 'text' | 'thinking';
  text: string;
  /** It may go on with the text before it. */
  isPiece: boolean;
}
export interface ToolRow extends Head {
  is: 'tool';
  call: ToolCall;
  result?: ToolResult | undefined;
  /** Its first result, with the seq of the event: what comes later under the same id changes nothing that was said before. */
  first?: { seq: number; text: string };
}
interface ResultRow extends Head {
  is: 'result';
  result: ToolResult & { id: string };
}
export interface EditRow extends Head {
  is: 'edit';
  edit: EventOf<'file_edit'>['payload'];
}
interface QuestionRow extends Head {
  is: 'question';
  question: EventOf<'needs_input'>['payload'];
}
interface InputRow extends Head {
  is: 'input';
  input: EventOf<'input_sent'>['payload'];
}
interface ErrorRow extends Head {
  is: 'error';
  error: EventOf<'error'>['payload'];
}
interface StartRow extends Head {
  is: 'started';
  started: EventOf<'started'>['payload'];
}
interface EndRow extends Head {
  is: 'end';
  end: EventOf<'completed'>['payload'];
  /** Its result was said just before, and is read once. */
  isEcho: boolean;
}
interface TurnRow extends Head {
  is: 'turn';
  n: number;
}
export interface PlanRow extends Head {
  is: 'plan';
  entries: readonly { text: string; status?: string | undefined }[];
}
interface NoteRow extends Head {
  is: 'note';
  text: string;
  isWarning: boolean;
}

/** What is about the job itself. */
export type MomentRow = QuestionRow | InputRow | ErrorRow | StartRow | EndRow;
/** What one line of the timeline shows. Several events may be one row: a text in pieces, a tool and its result. */
export type Row = TextRow | ToolRow | ResultRow | EditRow | TurnRow | PlanRow | NoteRow | MomentRow;

/** How far above its end the last words of a job may stand. */
const ECHO_ROWS = 4;

/** Rows grow as events come; only the last ones ever change. */
export class Rows {
  #all: Row[] = [];
  readonly #tools = new Map<string, number>();

  get all(): readonly Row[] {
    return this.#all;
  }

  clear(): void {
    this.#all = [];
    this.#tools.clear();
  }

  add(event: AgentEvent): void {
    if (this.#continues(event) || this.#ends(event)) return;
    const row = rowOf(event);
    if (!row) return;
    this.#all.push(row.is === 'end' ? this.#withEcho(row) : row);
    if (row.is === 'tool') this.#tools.set(row.call.id, this.#all.length - 1);
  }

  /** What came before all that is here. The rows are those of all events in their order. */
  prepend(events: readonly AgentEvent[]): void {
    const newer = this.#all;
    this.clear();
    for (const event of events) this.add(event);
    // Only where the two meet, and where a result finds its call, something becomes different.
    const isFound = (row: Row) => row.is === 'result' && this.#tools.has(row.result.id);
    const rejoined = newer.findLastIndex(isFound) + 2 + ECHO_ROWS;
    let mayContinue = true;
    for (const row of newer.slice(0, rejoined)) mayContinue = this.#rejoin(row, mayContinue);
    this.#all = this.#all.concat(newer.slice(rejoined));
    for (const [at, row] of this.#all.entries()) if (row.is === 'tool') this.#tools.set(row.call.id, at);
  }

  /** True when the next row follows what was there before this one. */
  #rejoin(row: Row, mayContinue: boolean): boolean {
    if (row.is === 'result' && this.#finds(row.result, row.seq)) return true;
    if (mayContinue && (row.is === 'text' || row.is === 'thinking') && this.#goesOn(row)) return false;
    this.#all.push(row.is === 'end' ? this.#withEcho(row) : row);
    return false;
  }

  /** A piece of the same text. */
  #continues(event: AgentEvent): boolean {
    if (event.type !== 'progress') return false;
    const { payload } = event;
    if (payload.kind !== 'text' && payload.kind !== 'thinking') return false;
    return this.#goesOn({ ...payload, is: payload.kind, isPiece: isPiece(payload), isChild: isOfChild(payload) });
  }

  #goesOn({ is, text, isPiece: goesOn, isChild }: Pick<TextRow, 'is' | 'text' | 'isPiece' | 'isChild'>): boolean {
    const last = this.#all.at(-1);
    if (!last || !goesOn || last.is !== is || last.isChild !== isChild) return false;
    this.#all[this.#all.length - 1] = { ...last, text: last.text + text };
    return true;
  }

  /** What an agent said last is most often its result, too. */
  #withEcho(row: EndRow): EndRow {
    const said = row.end.result.trim();
    return { ...row, isEcho: this.#all.slice(-ECHO_ROWS).some((each) => lastWordsOf(each, row.seq) === said) };
  }

  /** The result of a tool stands on the card of its call. */
  #ends(event: AgentEvent): boolean {
    return event.type === 'progress' && event.payload.kind === 'tool_result' && this.#finds(event.payload, event.seq);
  }

  #finds(result: ResultRow['result'], seq: number): boolean {
    const at = this.#tools.get(result.id);
    const row = at === undefined ? undefined : this.#all[at];
    if (at === undefined || row?.is !== 'tool') return false;
    this.#all[at] = { ...row, result, first: row.first ?? { seq, text: result.text.trim() } };
    return true;
  }
}

type Text = Extract<Progress, { kind: 'text' | 'thinking' }>;
const isPiece = ({ kind, delta }: Text) => delta === true || kind === 'thinking';
const isOfChild = ({ parent }: { parent?: string | undefined }) => parent !== undefined;

function lastWordsOf(row: Row, before: number): string | undefined {
  if (row.is === 'text') return row.text.trim();
  return row.is === 'tool' && row.first && row.first.seq < before ? row.first.text : undefined;
}

function rowOf(event: AgentEvent): Row | undefined {
  const isChild = 'parent' in event.payload && event.payload.parent !== undefined;
  const head = { seq: event.seq, at: event.timestamp, isChild };
  switch (event.type) {
    case 'started':
      return { ...head, is: 'started', started: event.payload };
    case 'tool_call':
      return { ...head, is: 'tool', call: event.payload };
    case 'file_edit':
      return { ...head, is: 'edit', edit: event.payload };
    case 'needs_input':
      return { ...head, is: 'question', question: event.payload };
    case 'input_sent':
      return { ...head, is: 'input', input: event.payload };
    case 'error':
      return { ...head, is: 'error', error: event.payload };
    case 'completed':
      return event.payload.scope === 'turn' ? undefined : { ...head, is: 'end', end: event.payload, isEcho: false };
    case 'progress':
      return progressRow(head, event.payload);
  }
}

type Progress = EventOf<'progress'>['payload'];

function progressRow(head: Head, payload: Progress): Row | undefined {
  switch (payload.kind) {
    case 'text':
    case 'thinking':
      return { ...head, is: payload.kind, text: payload.text, isPiece: isPiece(payload) };
    case 'tool_result':
      return { ...head, is: 'result', result: payload };
    case 'turn':
      return { ...head, is: 'turn', n: payload.n };
    case 'plan':
      return { ...head, is: 'plan', entries: payload.entries };
    // The head of the screen says it.
    case 'usage':
    case 'queued':
      return undefined;
    default:
      return { ...head, is: 'note', ...noteOf(payload) };
  }
}

type Rest = Exclude<Progress, { kind: 'text' | 'thinking' | 'tool_result' | 'turn' | 'plan' | 'usage' | 'queued' }>;

function noteOf(payload: Rest): { text: string; isWarning: boolean } {
  switch (payload.kind) {
    case 'session':
      return calm(`Session ${payload.sessionId}${payload.model ? ` with ${payload.model}` : ''}`);
    case 'retry':
      return warning(`Tries again (${payload.attempt}${payload.max ? ` of ${payload.max}` : ''}): ${payload.message}`);
    case 'rate_limit':
      return warning(`Rate limit${payload.message ? `: ${payload.message}` : ''}`);
    case 'outage':
      return warning(`The provider is away: ${payload.message}`);
    case 'budget':
      return warning(`${payload.used} of ${payload.limit} ${payload.what} used`);
    case 'subagent':
      return calm(`Sub-agent ${payload.id} ${payload.state}${payload.text ? `: ${payload.text}` : ''}`);
    case 'withdrawn':
      return calm(`The question was withdrawn by ${payload.by}`);
    case 'auto_answered':
      return calm(answeredBy(payload.grant));
    case 'warning':
      return warning(payload.message + (payload.count && payload.count > 1 ? ` (${payload.count} times)` : ''));
    case 'raw':
      return calm(`Unknown message ${payload.name}${payload.text ? `: ${payload.text}` : ''}`);
    case 'repostate.divergence':
      return warning(`${payload.path} was changed by somebody else`);
    case 'repostate.detected':
      return calm(`${payload.detector.replaceAll('_', ' ')}: ${payload.action}`);
    case 'context.rolled':
      return calm(`Prompt shortened: ${payload.tokensBefore} → ${payload.tokensAfter} tokens of history`);
    case 'context.cache_miss':
      return calm(`The provider did not cache the prompt; first difference: ${payload.segment}`);
    default:
      // A newer Reef has written it.
      return calm(JSON.stringify(payload));
  }
}

const calm = (text: string) => ({ text, isWarning: false });
const warning = (text: string) => ({ text, isWarning: true });
