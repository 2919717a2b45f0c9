import { capText } from '../../base/cap.ts';
import { defined } from '../../base/defined.ts';
import { progress, warning } from '../adapter-effects.ts';
import { askForHints } from './mcp-hints.ts';
import { ackMessage } from './message-lines.ts';
import {
  initLine,
  noticeLine,
  retryLine,
  sessionStateLine,
  taskEndedLine,
  taskStartedLine,
  tasksLine,
  taskUpdatedLine,
} from './schema.ts';
import { type Draft, needsEcho, type Reader, reader, remember } from './state.ts';
import { fieldOf } from './tools.ts';
import { ackAnswers, rest, settle, work } from './turn.ts';

const NOTICE_CAP = 1024;

const readInit = reader('an init line', initLine, (draft, line) => {
  const { state, effects } = draft;
  work(draft);
  const { session_id: sessionId, model, claude_code_version: agentVersion, cwd } = line;
  if (agentVersion !== undefined) state.echoes = needsEcho(agentVersion);
  effects.push({ do: 'session', sessionId, ...defined({ model, agentVersion, cwd }) });
  if (line.mcp_servers?.some(({ name }) => name !== 'reef')) askForHints(draft);
  // A Claude that does not acknowledge messages by name has taken them when it says hello.
  if (!state.tells.lifecycle) for (const message of state.messages) ackMessage(draft, message);
});

const readSessionState = reader('a session state', sessionStateLine, (draft, { state: told }) => {
  draft.state.tells = { ...draft.state.tells, sessionState: true };
  if (told === 'running') {
    work(draft);
    ackAnswers(draft);
  } else if (told === 'idle') {
    rest(draft);
  } else if (told !== 'requires_action') {
    draft.effects.push({ do: 'unknown', name: `system/session_state_changed/${told}` });
  }
});

const readRetry = reader('a retry', retryLine, ({ effects }, line) => {
  const { attempt, max_retries: max, retry_delay_ms: delayMs, error_status, error: message } = line;
  const known = defined({ max, delayMs, status: error_status });
  effects.push(progress({ kind: 'retry', attempt, ...known, message }));
});

/** The whole set of background tasks. A Claude that sends it needs no pairing of starts and ends. */
const readTasks = reader('a list of background tasks', tasksLine, (draft, { tasks }) => {
  const { state } = draft;
  state.tells = { ...state.tells, tasks: true };
  // Claude does not come back to watchers and to work on other machines.
  state.tasks = tasks
    .filter((task) => !task.ambient && !task.off_host)
    .map((task) => task.task_id)
    .slice(0, 32);
  settle(draft);
});

const readTaskStarted = reader('the start of a task', taskStartedLine, (draft, line) => {
  const { state } = draft;
  if (isHidden(line)) return;
  if (!state.tells.tasks && line.is_backgrounded !== false) state.tasks = remember(state.tasks, line.task_id);
  // Its tool call tells it.
  if (line.task_type === 'local_bash' && line.is_backgrounded === false)
    state.commands = remember(state.commands ?? [], line.task_id);
  else tellTask(draft, { ...line, status: 'started', text: line.description });
});

const readTaskUpdated = reader('news of a task', taskUpdatedLine, (draft, { task_id, patch }) => {
  if (patch.status === 'killed') endTask(draft, task_id);
});

const readTaskEnded = reader('the end of a task', taskEndedLine, (draft, line) => {
  if (isHidden(line)) return;
  if (!draft.state.isBusy && line.status !== 'stopped') draft.state.willWake = draft.state.isTurnOpen;
  const isCommand = draft.state.commands?.includes(line.task_id);
  if (isCommand) draft.state.commands = draft.state.commands?.filter((id) => id !== line.task_id) ?? [];
  else tellTask(draft, { ...line, text: line.summary });
  endTask(draft, line.task_id);
});

function endTask(draft: Draft, taskId: string): void {
  if (draft.state.tells.tasks) return;
  draft.state.tasks = draft.state.tasks.filter((task) => task !== taskId);
  settle(draft);
}

function isHidden(line: { ambient?: boolean | undefined; skip_transcript?: boolean | undefined }): boolean {
  return line.ambient === true || line.skip_transcript === true;
}

interface TaskNews {
  task_id: string;
  tool_use_id?: string | undefined;
  status: string;
  text: string | undefined;
}

function tellTask({ effects }: Draft, { task_id, tool_use_id, status: state, text }: TaskNews): void {
  const said = text === undefined ? {} : { text: capText(text, NOTICE_CAP) };
  effects.push(progress({ kind: 'subagent', id: tool_use_id ?? task_id, state, ...said }));
}

const readNotice = reader('a notice', noticeLine, ({ effects }, line) => {
  const said = line.content ?? line.text;
  if (said !== undefined) effects.push(warning(capText(said, NOTICE_CAP)));
});

const readCompaction: Reader = ({ effects }) => {
  effects.push(warning('Claude summarised the conversation to make room'));
};

const READERS: ReadonlyMap<string, Reader> = new Map([
  ['init', readInit],
  ['session_state_changed', readSessionState],
  ['api_retry', readRetry],
  ['background_tasks_changed', readTasks],
  ['task_started', readTaskStarted],
  ['task_updated', readTaskUpdated],
  ['task_notification', readTaskEnded],
  ['informational', readNotice],
  ['notification', readNotice],
  ['model_fallback', readNotice],
  ['compact_boundary', readCompaction],
]);

/** What other lines say as well, or what Reef does not show. */
const IGNORED = new Set([
  'status',
  'thinking_tokens',
  'task_progress',
  'permission_denied',
  'control_request_progress',
  'session_metadata',
  'session_title_changed',
  'turn_duration',
  'post_turn_summary',
  'commands_changed',
  'files_persisted',
  'file_snapshot',
  'memory_recall',
  'memory_saved',
]);
const IGNORED_FAMILY = /^(?:hook|ui)_/;

export function readSystem(draft: Draft, json: unknown): void {
  const subtype = fieldOf(json, 'subtype') ?? 'unnamed';
  const read = READERS.get(subtype);
  if (read) read(draft, json);
  else if (!IGNORED.has(subtype) && !IGNORED_FAMILY.test(subtype)) {
    draft.effects.push({ do: 'unknown', name: `system/${subtype}` });
  }
}
