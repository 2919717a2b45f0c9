import { contextErrors } from './errors/context.ts';
import { repostateErrors } from './errors/repostate.ts';
import { type ErrorRow, final, passing } from './errors/row.ts';
import { runtimeErrors } from './errors/runtime.ts';

/**
 * The one error table. A code is stable; `hint` says what the reader can do next and is shown after the message.
 * Plain data and no zod here: the command line reads it at every start.
 */
export const errorTable = {
  // wrong usage
  bad_request: final(400, 2, 'Correct the named field; `reef <command> --help` shows an example.'),
  bad_option: final(400, 2, 'Answer with one of the listed labels, or its number counted from 1.'),
  bad_cursor: final(400, 2, 'Pass a `nextCursor` of an earlier page, or an ISO-8601 time.'),
  answer_needs_decision: final(400, 2, 'Use --allow or --deny: text never answers a permission.'),
  which_question: final(400, 2, 'Several questions are open: name one with --question ID.'),
  ambiguous_id: final(400, 2, 'Type more characters of the id.'),
  agent_unknown: final(400, 2, 'Choose one of the agents listed, or add it to the configuration.'),
  task_too_large: final(413, 2, 'Keep the task under 1 MiB; put the rest in a file and name the file.'),
  path_outside_worktree: final(400, 2, 'Use a path inside the working folder of the job.'),
  unsafe_needs_consent: final(400, 2, 'Add --sandbox, or --unsafe to say that you know nothing contains the agent.'),
  config_invalid: final(400, 2, 'Correct the named line of the configuration file.'),
  // not found
  job_not_found: final(404, 4, '`reef ps` lists the jobs there are.'),
  question_not_found: final(404, 4, '`reef inbox` lists the open questions.'),
  grant_not_found: final(404, 4, '`reef grants` lists what is allowed for good.'),
  repo_untrusted: final(403, 2, 'Read what it is with `reef trust`, and trust it there.'),
  trust_changed: final(409, 2, 'Look again with `reef trust`.'),
  call_not_found: final(404, 4, '`reef calls list` lists the calls there are.'),
  not_a_block: final(409, 1, 'Only the agent of a workflow block hands in a result.'),
  result_invalid: final(400, 2, 'Correct what is listed and hand it in again.'),
  not_a_repository: final(400, 2, 'Run `git init` here, choose a repository with --cwd, or set REEF_HOME.'),
  cwd_missing: final(400, 2, 'Choose a folder that exists with --cwd.'),
  cursor_expired: final(410, 4, 'Read on from the oldest cursor that is kept, given in the details.'),
  // state
  job_ended: final(409, 1, '`reef resume ID` continues it; `reef spawn` starts another.'),
  invalid_transition: final(409, 1, 'Look at the job with `reef status ID`.'),
  not_resumable: final(409, 1, 'A killed job stays ended: start another with `reef spawn`.'),
  no_session: final(409, 1, 'The agent never named a session: start another job with `reef spawn`.'),
  session_in_use: passing(409, 1, 'Another process uses this session: end it, then `reef resume ID`.'),
  resume_unsupported: final(409, 1, 'This agent cannot continue a session: start another job with `reef spawn`.'),
  already_answered: final(409, 1, 'Somebody answered first; the details say who and what.'),
  question_changed: final(409, 1, 'Look at the question again: its arguments are not those you saw.'),
  question_withdrawn: final(409, 1, 'The agent no longer waits for this answer.'),
  send_unsupported: final(409, 1, 'Wait until the job is idle, then `reef resume ID "<text>"`.'),
  interrupt_timeout: passing(504, 1, 'Try again, or end it with `reef kill ID`.'),
  queue_full: passing(503, 69, 'Wait until jobs have ended, or kill some.'),
  not_yours: final(403, 1, 'A job may only act on itself and its own children.'),
  // agents
  agent_not_installed: final(422, 69, 'Install it, or choose one of the agents that `reef doctor` finds.'),
  agent_not_logged_in: final(422, 69, 'Log in with the command named, then resume the job.'),
  agent_too_old: final(422, 69, 'Update the agent to the version named.'),
  agent_start_timeout: passing(504, 1, 'The agent said nothing for a minute: see its stderr with `reef output ID --raw`.'),
  agent_ended_early: passing(502, 1, 'See `reef output ID --raw`; `reef resume ID` tries again.'),
  agent_exit: passing(502, 1, 'See `reef output ID --raw`; `reef resume ID` tries again.'),
  agent_signalled: passing(502, 1, 'Something ended the agent; `reef resume ID` tries again.'),
  agent_sandbox_broken: final(502, 1, 'The agent cannot start its own sandbox; `reef doctor` says what is missing.'),
  agent_error: passing(502, 1, 'The agent reported a failure; its message is above.'),
  bad_agent_home: final(422, 2, 'Move the agent home out of the temporary folder.'),
  adapter_failed: final(500, 1, 'Reef could not read this agent; please report it with `reef output ID --raw`.'),
  bad_event: final(500, 1, 'Please report it with `reef output ID --raw`.'),
  bad_line: final(502, 1, 'The agent wrote a line that is not its protocol.'),
  spawn_failed: passing(502, 1, 'See the cause above; `reef doctor` checks what a launch needs.'),
  exit_unknown: final(502, 1, 'Its end was not seen; `reef resume ID` continues it.'),
  spawn_interrupted: passing(502, 1, 'The daemon was ended while starting the job: `reef resume ID` or spawn again.'),
  rate_limit: passing(429, 1, '`reef resume ID` continues it when the limit has passed.'),
  ceiling: final(504, 1, 'The job reached its ceiling; `reef resume ID` continues it.'),
  output_limit: final(507, 1, 'The job wrote more than 1 GiB and was ended.'),
  budget_exhausted: final(402, 5, 'Raise the budget and `reef resume ID`.'),
  cwd_mismatch: final(409, 1, 'The agent resumed in another folder and was stopped before it used a tool.'),
  worktree_gone: final(409, 1, 'Restore the folder of the job, or start another job.'),
  headful_unsupported: final(422, 69, 'Install tmux, or use --mode headless.'),
  sandbox_unavailable: final(422, 69, 'Install bubblewrap, or leave --sandbox out.'),
  sandbox_unsupported: final(422, 2, 'Leave --sandbox out, or choose an agent that works in one: claude, codex.'),
  not_headful: final(409, 1, 'Only jobs started with --mode headful have a terminal; use `reef output ID --follow`.'),
  // git
  git_failed: final(500, 1, 'See what git said; `reef doctor` checks the repository.'),
  git_timeout: passing(504, 1, 'Try again; the repository may be large or on a slow disk.'),
  git_missing: final(422, 69, 'Install git 2.38 or newer.'),
  git_too_old: final(422, 69, 'Update git to 2.38 or newer.'),
  git_locked: passing(409, 1, 'Another git holds the lock named; try again, and remove the file only if none runs.'),
  git_redirected: final(409, 1, 'Mend the `.git` of the folder or `core.worktree`: git takes it for another checkout.'),
  git_config_refused: final(409, 1, 'Remove the key named from the configuration of the repository.'),
  repo_empty: final(409, 1, 'Make a first commit, then try again.'),
  repo_bare: final(400, 2, 'Choose a repository with a checkout, or a worktree of this one.'),
  repo_busy: final(409, 1, 'Finish or abort the merge, rebase or cherry-pick under way there.'),
  ref_invalid: final(400, 2, 'Use a name that `git check-ref-format` accepts and that is no option.'),
  nested_repository: final(409, 1, 'Ignore the repository named, or make it a submodule.'),
  capture_too_large: final(413, 1, 'Ignore or remove large files that are not to be kept.'),
  // workflow
  manifest_not_found: final(404, 4, 'Write one with `reef workflow init test-fix`, or run without: the shipped workflow does.'),
  invalid_json: final(400, 2, 'Correct the file at the line and column named.'),
  manifest_too_large: final(413, 2, 'Keep a workflow file under 1 MiB and 5,000 blocks.'),
  schema_validation: final(400, 2, '`reef workflow schema` prints what a file may hold.'),
  workflow_invalid: final(400, 2, '`reef workflow check` lists everything that is wrong.'),
  wf_entry: final(400, 2, 'Name a block of this node: <node>__<block>.'),
  wf_action: final(400, 2, 'Use JUMP:<block or node>, CALL:<node>[:<block>], RETURN, HALT_AND_FLAG or FORK:<node>,<node>[:<block>].'),
  wf_target: final(400, 2, 'Name a block or node that exists.'),
  wf_worker: final(400, 2, 'Use Internal:TestRunner, FileSystemWriter, UpdateChangePlan, RunLinter or RunBuilder, or Agent:<name>.'),
  wf_signal: final(400, 2, 'Write SIGNAL: and a name in capitals, as in SIGNAL:SUCCESS.'),
  wf_duplicate: final(400, 2, 'Remove it, or give the earlier one a guard.'),
  wf_guard: final(400, 2, 'Compare values such as last(TEST_RESULT).outcome == "FAIL", joined by && and ||.'),
  wf_bind: final(400, 2, 'Give `to` a name and `from` a value such as last(AGENT_OUTPUT).content.'),
  wf_strategy: final(400, 2, 'Use MERGE:STATIC_MEMORY:<key>, FIRST:<TYPE>, LATEST:<TYPE>, ONLY:<TYPE,TYPE> or DROP:<TYPE>.'),
  wf_schema_ref: final(400, 2, 'Use CodeOnly, CodeAndExplanation, or a JSON Schema of `schemas`.'),
  wf_fork_writers: final(400, 2, 'Make agents `readonly`, or set `isolation: worktree`.'),
  wf_no_default: final(400, 2, 'Add a transition on SIGNAL:FAIL_DEFAULT.'),
  wf_unreachable: final(400, 2, 'Lead to it by an action, or remove it.'),
  wf_uncapped_loop: final(400, 2, 'Give one of the blocks `max_visits`; without it 10 is the limit.'),
  wf_no_exit: final(400, 2, 'Add a transition with RETURN or HALT_AND_FLAG.'),
  wf_reentry: final(400, 2, 'Add a third field, `returns_to`, or a transition on SIGNAL:RETURNED.'),
  wf_recursion: final(400, 2, 'Make sure that it ends, or use JUMP.'),
  wf_usd_unreported: final(400, 2, 'Limit tokens, turns or seconds instead.'),
  wf_unknown_key: final(400, 2, 'Remove it, or correct its spelling.'),
  wf_agent_default: final(400, 2, 'Add it to `workers`, or name an agent such as Agent:claude.'),
  wf_other_file: final(400, 2, 'Keep one workflow file.'),
  run_not_found: final(404, 4, '`reef runs` lists the runs there are.'),
  run_exists: final(409, 1, 'Choose another id: this run was started with another input.'),
  run_not_halted: final(409, 1, 'Look at the run with `reef run show ID`: it does not wait for this answer.'),
  halt_already_answered: final(409, 1, 'Somebody answered first; `reef run show ID` says what happened.'),
  journal_mismatch: final(500, 1, 'This Reef does not read the run as it was recorded: go on with the version that started it.'),
  halted_by_workflow: final(409, 1, 'The workflow asks for a person: resume, retry, skip or abort.'),
  awaiting_approval: final(409, 1, 'Approve the block, skip it, or abort the run.'),
  unmatched_signal: final(409, 1, 'Add a transition for the signal to the next run; here retry, or skip with a signal the block knows.'),
  worker_crashed: final(500, 1, 'See the stack; retry, skip or abort.'),
  stack_overflow: final(409, 1, 'Calls are more than 32 deep: retry, skip or abort.'),
  bind_missing: final(409, 1, 'An argument has no value: retry the block, or skip it.'),
  visits_exhausted: final(409, 1, 'Retry grants one more visit.'),
  no_progress: final(409, 1, 'The same gate failed twice on the same files: give guidance and resume, or abort.'),
  fork_failed: final(409, 1, 'A branch ended without success: retry, skip or abort.'),
  fork_conflict: final(409, 1, 'Branches changed the same lines: their work is kept; retry, skip or abort.'),
  job_stale: final(409, 1, 'The job of the block was lost: retry starts another, or resume it by hand first.'),
  job_killed: final(409, 1, 'The job of the block was killed: retry, skip or abort.'),
  gate_not_configured: final(422, 1, 'Set `gates` in the configuration, or `command` in the roster of the workflow.'),
  gate_not_started: final(422, 1, 'Install the command in the worktree, or correct it.'),
  ambiguous_content: final(422, 1, 'Give {filePath, fileContent}, or a file path and exactly one fenced block.'),
  // worktrees
  worktree_not_found: final(404, 4, '`reef worktree list --all` lists the worktrees there are.'),
  worktree_state: final(409, 1, 'Look at the worktree with `reef worktree list --all`.'),
  worktree_busy: passing(409, 1, 'Wait until its job has ended, or end it with `reef kill ID`.'),
  worktree_in_use: passing(409, 1, 'Leave the folder with the processes named, then try again.'),
  worktree_lost: final(409, 1, '`reef worktree restore ID` makes it again.'),
  plan_path_invalid: final(400, 2, 'Use paths or globs from the root of the repository.'),
  disk_low: passing(507, 1, 'Free disk space, or move the worktrees with `worktrees.root`.'),
  ports_exhausted: passing(503, 1, 'Accept or discard some worktrees, or free ports from 20000 to 31999.'),
  setup_failed: final(502, 1, 'Mend what the command complains about, then `reef worktree setup ID`.'),
  merge_conflict: final(409, 1, 'Merge the target into the worktree, resolve the files named, then accept again.'),
  not_fast_forward: final(409, 1, 'The target has moved: use --strategy squash or merge.'),
  target_unknown: final(400, 2, 'Name the branch to merge into with --into.'),
  target_dirty: passing(409, 1, 'Commit or stash the files named; --when-clean then completes the merge by itself.'),
  target_moved: passing(409, 1, 'Others keep moving the target; try again.'),
  gates_stale: final(409, 1, 'Run the gates again: they have not passed on this very tree.'),
  gates_failed: final(409, 1, 'The gates fail on the merged tree: bring the target into the worktree and mend it.'),
  accept_needs_consent: final(409, 1, 'Read what is listed, then repeat with --yes.'),
  identity_missing: final(409, 1, 'Set `git config user.name` and `user.email`: accepting is your act.'),
  prune_refused: final(409, 1, 'Accept, discard or hold it instead: prune never removes work.'),
  kept_not_found: final(404, 4, '`git for-each-ref refs/reef` lists the work that is kept.'),
  // daemon and home
  daemon_unavailable: passing(503, 69, 'Try again; `reef doctor` says what is wrong with the home.'),
  home_in_use: final(409, 69, 'Another daemon owns this home; `reef daemon status` shows it.'),
  home_not_writable: final(500, 69, 'Make the home writable, or choose another with REEF_HOME.'),
  storage_unavailable: passing(503, 69, 'Free disk space or mend permissions; running agents go on and nothing is lost.'),
  store_too_new: final(500, 69, 'Update Reef: this home was written by a newer version.'),
  too_many_files: passing(503, 69, 'Raise `ulimit -n`, or end some jobs.'),
  unauthorized: final(401, 2, 'Use the token of this home.'),
  not_found: final(404, 4, 'There is no such operation.'),
  unsupported_media_type: final(415, 2, 'Send the body as application/json.'),
  body_too_large: final(413, 2, 'Keep the request under 1 MiB.'),
  internal: final(500, 1, 'Please report it with the log of the daemon.'),
  ...contextErrors,
  ...runtimeErrors,
  ...repostateErrors,
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
