import type { AgentEvent } from '../../protocol/events.ts';
import { type RepoState, stateNewsSchema } from '../../protocol/repostate.ts';

const MOST_RUNS = 20;
const MOST_NOTES = 20;
const LINE = 200;

/** What an event says about a file. Git says the rest at the next refresh. */
export interface FileHint {
  jobId: string;
  path: string;
  what: 'wrote' | 'read';
  via: 'tool' | 'command' | 'outside';
  turn: number;
}

export interface Fold {
  state: RepoState;
  /** Whose turns these are, and where the other jobs in the worktree were. */
  jobId: string;
  turn: number;
  turns: Map<string, number>;
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
  if (fold.jobId !== event.agentId) takeTurnsOf(fold, event.agentId);
  state.lastUpdated = event.timestamp;
  if (event.type === 'tool_call') foldCall(fold, event.payload);
  else if (event.type === 'file_edit' && !event.payload.outside) {
    hint(fold, { path: event.payload.path, what: 'wrote', via: 'tool' });
  } else if (event.type === 'progress') foldProgress(fold, event.payload);
  else if (event.type === 'needs_input') {
    state.openQuestion = { jobId: event.agentId, question: event.payload.question };
  } else if (event.type === 'input_sent') foldAnswer(fold, event.payload);
  else if (event.type === 'error') state.lastFailure = { ...at(fold), text: event.payload.message };
}

function takeTurnsOf(fold: Fold, jobId: string): void {
  fold.turns.set(fold.jobId, fold.turn);
  fold.jobId = jobId;
  fold.turn = fold.turns.get(jobId) ?? 0;
}

/** The turn of a fact, and whose it was: another job in the same checkout counts its own. */
function at({ jobId, turn }: Pick<Fold, 'jobId' | 'turn'>): { jobId: string; turn: number } {
  return { jobId, turn };
}

export function hint(fold: Fold, file: Pick<FileHint, 'path' | 'what' | 'via'>): void {
  fold.hints.push({ ...file, ...at(fold) });
}

type Payload<T extends AgentEvent['type']> = Extract<AgentEvent, { type: T }>['payload'];

function foldCall(fold: Fold, { id, tool, input }: Payload<'tool_call'>): void {
  const args = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>;
  if (tool === 'shell') fold.commands.set(id, String(args.command ?? args.cmd ?? ''));
  const path = args.file_path ?? args.path;
  if (tool === 'read' && typeof path === 'string') hint(fold, { path, what: 'read', via: 'tool' });
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
    const { kind: _, ...by } = news.data;
    fold.hints.push({ ...by, what: 'wrote' });
  }
}

function foldAnswer(fold: Fold, { text, option, questionId }: Payload<'input_sent'>): void {
  if (questionId !== undefined) delete fold.state.openQuestion;
  const said = text ?? option?.join(', ');
  if (said !== undefined && said !== '') addNote(fold, `user: ${said}`);
}

export function addNote(fold: Fold, text: string): void {
  const { state } = fold;
  state.notes = [...state.notes, { ...at(fold), text: text.slice(0, LINE) }].slice(-MOST_NOTES);
}

export function addRun(
  fold: Fold,
  { command, exit, output }: { command: string; exit: number | null; output: string },
): void {
  fold.hasRun = true;
  const run = { ...at(fold), command: command.slice(0, LINE), exit, line: tellingLine(output) };
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
