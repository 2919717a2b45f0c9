/**
 * The one error table. A code is stable; `hint` says what the reader can do next and is shown after the message.
 * Plain data and no zod here: the command line reads it at every start.
 */
interface ErrorRow {
  /** HTTP status on the socket API. */
  status: number;
  /** Exit code of the command line (U-02). */
  exit: 1 | 2 | 3 | 4 | 5 | 69;
  /** True when the same call may succeed later without a change. */
  retryable: boolean;
  hint: string;
}

const row = (status: number, exit: ErrorRow['exit'], retryable: boolean, hint: string): ErrorRow => ({
  status,
  exit,
  retryable,
  hint,
});

export const errorTable = {
  // wrong usage
  bad_request: row(400, 2, false, 'Correct the named field; `reef <command> --help` shows an example.'),
  bad_option: row(400, 2, false, 'Answer with one of the listed labels, or its number counted from 1.'),
  bad_cursor: row(400, 2, false, 'Pass a `nextCursor` of an earlier page, or an ISO-8601 time.'),
  answer_needs_decision: row(400, 2, false, 'Use --allow or --deny: text never answers a permission.'),
  which_question: row(400, 2, false, 'Several questions are open: name one with --question ID.'),
  ambiguous_id: row(400, 2, false, 'Type more characters of the id.'),
  agent_unknown: row(400, 2, false, 'Choose one of the agents listed, or add it to the configuration.'),
  script_invalid: row(400, 2, false, 'Correct the named line of the script.'),
  task_too_large: row(413, 2, false, 'Keep the task under 1 MiB; put the rest in a file and name the file.'),
  path_outside_worktree: row(400, 2, false, 'Use a path inside the working folder of the job.'),
  unsafe_needs_consent: row(
    400,
    2,
    false,
    'Add --sandbox, or --unsafe to say that you know nothing contains the agent.',
  ),
  config_invalid: row(400, 2, false, 'Correct the named line of the configuration file.'),
  // not found
  job_not_found: row(404, 4, false, '`reef ps` lists the jobs there are.'),
  question_not_found: row(404, 4, false, '`reef inbox` lists the open questions.'),
  not_a_repository: row(400, 2, false, 'Run `git init` here, choose a repository with --cwd, or set REEF_HOME.'),
  cwd_missing: row(400, 2, false, 'Choose a folder that exists with --cwd.'),
  cursor_expired: row(410, 4, false, 'Read on from the oldest cursor that is kept, given in the details.'),
  // state
  job_ended: row(409, 1, false, '`reef resume ID` continues it; `reef spawn` starts another.'),
  invalid_transition: row(409, 1, false, 'Look at the job with `reef status ID`.'),
  not_resumable: row(409, 1, false, 'A killed job stays ended: start another with `reef spawn`.'),
  no_session: row(409, 1, false, 'The agent never named a session: start another job with `reef spawn`.'),
  resume_unsupported: row(409, 1, false, 'This agent cannot continue a session: start another job with `reef spawn`.'),
  already_answered: row(409, 1, false, 'Somebody answered first; the details say who and what.'),
  question_changed: row(409, 1, false, 'Look at the question again: its arguments are not those you saw.'),
  question_withdrawn: row(409, 1, false, 'The agent no longer waits for this answer.'),
  question_too_large: row(413, 1, false, 'The request was over 16 MiB and was denied.'),
  send_unsupported: row(409, 1, false, 'Wait until the job is idle, then `reef resume ID "<text>"`.'),
  interrupt_timeout: row(504, 1, true, 'Try again, or end it with `reef kill ID`.'),
  queue_full: row(503, 69, true, 'Wait until jobs have ended, or kill some.'),
  not_yours: row(403, 1, false, 'A job may only act on itself and its own children.'),
  // agents
  agent_not_installed: row(422, 69, false, 'Install it, or choose one of the agents that `reef doctor` finds.'),
  agent_not_logged_in: row(422, 69, false, 'Log in with the command named, then resume the job.'),
  agent_too_old: row(422, 69, false, 'Update the agent to the version named.'),
  agent_start_timeout: row(
    504,
    1,
    true,
    'The agent said nothing for a minute: see its stderr with `reef output ID --raw`.',
  ),
  agent_ended_early: row(502, 1, true, 'See `reef output ID --raw`; `reef resume ID` tries again.'),
  agent_exit: row(502, 1, true, 'See `reef output ID --raw`; `reef resume ID` tries again.'),
  agent_signalled: row(502, 1, true, 'Something ended the agent; `reef resume ID` tries again.'),
  agent_sandbox_broken: row(
    502,
    1,
    false,
    'The agent cannot start its own sandbox; `reef doctor` says what is missing.',
  ),
  agent_error: row(502, 1, true, 'The agent reported a failure; its message is above.'),
  bad_agent_home: row(422, 2, false, 'Move the agent home out of the temporary folder.'),
  adapter_failed: row(500, 1, false, 'Reef could not read this agent; please report it with `reef output ID --raw`.'),
  bad_event: row(500, 1, false, 'Please report it with `reef output ID --raw`.'),
  bad_line: row(502, 1, false, 'The agent wrote a line that is not its protocol.'),
  spawn_failed: row(502, 1, true, 'See the cause above; `reef doctor` checks what a launch needs.'),
  spawn_interrupted: row(502, 1, true, 'The daemon was ended while starting the job: `reef resume ID` or spawn again.'),
  rate_limit: row(429, 1, true, '`reef resume ID` continues it when the limit has passed.'),
  ceiling: row(504, 1, false, 'The job reached its ceiling; `reef resume ID` continues it.'),
  output_limit: row(507, 1, false, 'The job wrote more than 1 GiB and was ended.'),
  budget_exhausted: row(402, 5, false, 'Raise the budget and `reef resume ID`.'),
  cwd_mismatch: row(409, 1, false, 'The agent resumed in another folder and was stopped before it used a tool.'),
  worktree_gone: row(409, 1, false, 'Restore the folder of the job, or start another job.'),
  headful_unsupported: row(422, 69, false, 'Install tmux, or use --mode headless.'),
  sandbox_unavailable: row(422, 69, false, 'Install bubblewrap, or leave --sandbox out.'),
  not_headful: row(
    409,
    1,
    false,
    'Only jobs started with --mode headful have a terminal; use `reef output ID --follow`.',
  ),
  // daemon and home
  daemon_unavailable: row(503, 69, true, 'Try again; `reef doctor` says what is wrong with the home.'),
  home_in_use: row(409, 69, false, 'Another daemon owns this home; `reef daemon status` shows it.'),
  home_not_writable: row(500, 69, false, 'Make the home writable, or choose another with REEF_HOME.'),
  storage_unavailable: row(
    503,
    69,
    true,
    'Free disk space or mend permissions; running agents go on and nothing is lost.',
  ),
  store_too_new: row(500, 69, false, 'Update Reef: this home was written by a newer version.'),
  too_many_files: row(503, 69, true, 'Raise `ulimit -n`, or end some jobs.'),
  unauthorized: row(401, 2, false, 'Use the token of this home.'),
  not_found: row(404, 4, false, 'There is no such operation.'),
  body_too_large: row(413, 2, false, 'Keep the request under 1 MiB.'),
  internal: row(500, 1, false, 'Please report it with the log of the daemon.'),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errorTable;

/** Unknown codes come from a newer daemon; they are shown as they are. */
export function errorRow(code: string): ErrorRow {
  return Object.hasOwn(errorTable, code) ? errorTable[code as ErrorCode] : errorTable.internal;
}

export interface ErrorBody {
  error: { code: string; message: string; hint: string; retryable: boolean; details?: Record<string, unknown> };
}

export class ReefError extends Error {
  readonly code: ErrorCode;
  readonly details: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, more: { cause?: unknown; details?: Record<string, unknown> } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = 'ReefError';
    this.code = code;
    this.details = more.details;
  }

  get retryable(): boolean {
    return errorTable[this.code].retryable;
  }

  toBody(): ErrorBody {
    const { hint, retryable } = errorTable[this.code];
    const details = this.details ? { details: this.details } : {};
    return { error: { code: this.code, message: this.message, hint, retryable, ...details } };
  }
}

/** Every failure that leaves the daemon is a ReefError; what is not one is a defect and says so. */
export function toReefError(error: unknown): ReefError {
  if (error instanceof ReefError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new ReefError('internal', message, { cause: error });
}
