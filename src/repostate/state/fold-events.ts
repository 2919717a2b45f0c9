import type { AgentEvent } from '../../protocol/events.ts';
import { type RepoState, stateNewsSchema } from '../../protocol/repostate.ts';

const MOST_RUNS = 20;
const MOST_NOTES = 20;
const LINE = 200;

/** What an event says about a file. Git says the rest at the next refresh. */
export interface FileHint {
  path: string;
  what: 'wrote' | 'read';
  via: 'tool' | 'command' | 'outside';
  turn: number;
}

export interface Fold {
  state: RepoState;
  turn: number;
  hints: FileHint[];
  /** A command ran, so it made the changes that the next scan finds. */
  hasRun: boolean;
  /** Commands that wait for their result, by id of the call. */
  commands: Map<string, string>;
  /** Before the first look at git, Reef's own news in the log say who did what. */
  isReplay: boolean;
}

export function foldEvent(fold: Fold, event: AgentEvent): void {
  const { state } = fold;
  if (event.seq <= state.seq) return;
  state.seq = event.seq;
  state.lastUpdated = event.timestamp;
  if (event.type === 'tool_call') foldCall(fold, event.payload);
  else if (event.type === 'file_edit' && !event.payload.outside) {
    fold.hints.push({ path: event.payload.path, what: 'wrote', via: 'tool', turn: fold.turn });
  } else if (event.type === 'progress') foldProgress(fold, event.payload);
  else if (event.type === 'needs_input') {
    state.openQuestion = { jobId: event.agentId, question: event.payload.question };
  } else if (event.type === 'input_sent') foldAnswer(fold, event.payload);
  else if (event.type === 'error') state.lastFailure = { turn: fold.turn, text: event.payload.message };
}

type Payload<T extends AgentEvent['type']> = Extract<AgentEvent, { type: T }>['payload'];

function foldCall(fold: Fold, { id, tool, input }: Payload<'tool_call'>): void {
  const args = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>;
  if (tool === 'shell') fold.commands.set(id, String(args.command ?? args.cmd ?? ''));
  const path = args.file_path ?? args.path;
  if (tool === 'read' && typeof path === 'string')
    fold.hints.push({ path, what: 'read', via: 'tool', turn: fold.turn });
}

function foldProgress(fold: Fold, payload: Payload<'progress'>): void {
  if (payload.kind === 'turn') fold.turn = payload.n;
  else if (payload.kind === 'tool_result') {
    const command = fold.commands.get(payload.id);
    if (command === undefined) return;
    fold.commands.delete(payload.id);
    addRun(fold, { command, exit: payload.exitCode ?? (payload.ok ? 0 : null), output: payload.text });
  } else if (payload.kind === 'plan') {
    fold.state.openTasks = payload.entries.map(({ text, status }, index) => ({
      id: `k${index + 1}`,
      description: text,
      priority: index + 1,
      status: status === 'completed' || status === 'in_progress' ? status : 'pending',
    }));
  } else foldNews(fold, payload);
}

/** A live tracker wrote these news itself. Folding them again would hide what happened since. */
function foldNews(fold: Fold, payload: unknown): void {
  if (!fold.isReplay) return;
  const news = stateNewsSchema.safeParse(payload);
  if (news.success && news.data.kind === 'repostate.changed') {
    const { path, via, turn } = news.data;
    fold.hints.push({ path, what: 'wrote', via, turn });
  }
}

function foldAnswer(fold: Fold, { text, option, questionId }: Payload<'input_sent'>): void {
  if (questionId !== undefined) delete fold.state.openQuestion;
  const said = text ?? option?.join(', ');
  if (said !== undefined && said !== '') addNote(fold, `user: ${said}`);
}

export function addNote({ state, turn }: Pick<Fold, 'state' | 'turn'>, text: string): void {
  state.notes = [...state.notes, { turn, text: text.slice(0, LINE) }].slice(-MOST_NOTES);
}

export function addRun(
  fold: Fold,
  { command, exit, output }: { command: string; exit: number | null; output: string },
): void {
  fold.hasRun = true;
  const run = { turn: fold.turn, command: command.slice(0, LINE), exit, line: tellingLine(output) };
  fold.state.runs = [...fold.state.runs, run].slice(-MOST_RUNS);
}

const FAILURE = /error\b|\bfail(ed|ure|ing)?\b|exception\b|\bexpected\b|\bpanic\b|not found|\bcannot\b/i;

/** The line a person would quote: the last one about a failure, else the last one. */
export function tellingLine(output: string): string {
  const lines = output
    .slice(-8_000)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  return (lines.findLast((line) => FAILURE.test(line)) ?? lines.at(-1) ?? '').slice(0, LINE);
}
