import type { ErrorCode } from '../../src/protocol/error-table.ts';

/**
 * For each error whose hint names a command: the command line that meets it, in the repository of
 * `test/journeys/hints-apply.test.ts`. `{name}` is the id of the task that stands there under that name.
 */
export const MET: Partial<Record<ErrorCode, string[]>> = {
  bad_request: ['run', ''],
  job_not_found: ['status', 'nope'],
  grant_not_found: ['grants', '--revoke', 'ffff'],
  run_not_found: ['run', 'show', 'nope'],
  worktree_not_found: ['worktree', 'diff', 'nope'],
  model_unknown: ['ask', '--model', 'nope:x', 'hi'],
  role_not_found: ['ask', '--role', 'nope', 'hi'],
  agent_missing: ['ask', '--agent', 'nope', 'hi'],
  rag_not_found: ['ask', '--rag', 'nope', 'hi'],
  macro_not_found: ['ask', '--macro', 'nope', 'hi'],
  no_tty: ['chat'],
  agent_not_installed: ['spawn', 'codex', 'work'],
  unsafe_needs_consent: ['spawn', '{script}', 'work', '--yes'],
  no_run: ['run', 'show', '{done}'],
  job_ended: ['send', '{broke}', 'more'],
  not_resumable: ['resume', '{killed}'],
  invalid_transition: ['resume', '{waits}'],
  which_question: ['send', '{asks}', '--allow'],
  question_not_found: ['send', '{asks}', '--question', 'nope', '--allow'],
  not_headful: ['attach', '{done}'],
  run_not_halted: ['run', 'resume', '{success}'],
  worktree_state: ['worktree', 'restore', '{success}'],
  nothing_to_push: ['worktree', 'push', '{same}', '--remote', 'backup'],
  no_output: ['output', '{done}', '--raw', '--launch', '9'],
  no_job_yet: ['output', '{later}'],
  port_in_use: ['serve', '--port', '{port}'],
  worktree_busy: ['worktree', 'hold', '{busy}'],
  nothing_from_forge: ['run', 'continue', '{success}', '--from-pr'],
};

/** Followed elsewhere, by a test that types what the message says. */
export const FOLLOWED: Partial<Record<ErrorCode, string>> = {
  mcp_server_changed: 'test/security/mcp-approval.test.ts',
  tool_changed: 'test/security/mcp-approval.test.ts',
  setup_failed: 'test/journeys/no-dead-end.test.ts',
  halted_by_workflow: 'test/journeys/no-dead-end.test.ts',
  gates_failed: 'test/journeys/no-dead-end.test.ts',
  merge_conflict: 'test/journeys/no-dead-end.test.ts',
  job_stale: 'test/journeys/no-dead-end.test.ts',
  repo_untrusted: 'test/e2e/runs-trust.test.ts',
  fork_conflict: 'test/journeys/fork.test.ts',
  rate_limit: 'test/journeys/paused.test.ts',
  store_damaged: 'test/faults/doctor-damage.test.ts',
};

const SMALL_WINDOW = 'it takes two callers in the same moment';
const FAULT = 'it takes a fault of the machine, of git or of Reef; what is named only looks, or starts again';
const WALKED = 'a halt like `halted_by_workflow`, with the same commands, which are followed';
const AGENT =
  'it takes an agent that ends in that way; a job that failed is resumed in test/journeys/no-dead-end.test.ts';
const MANIFEST = 'it takes a workflow file with mistakes; the commands are typed by test/e2e/dry-run.test.ts';
const FLEET = 'it takes a fleet: its commands are typed by the tests of the fleet';
const LONG = 'what is named serves until it is ended; it is typed by the tests of the door';

/** Not met here, and why. */
export const NOT_MET: Partial<Record<ErrorCode, string>> = {
  ...{ trust_changed: SMALL_WINDOW, session_in_use: SMALL_WINDOW, halt_already_answered: SMALL_WINDOW },
  ...{ accept_stale: SMALL_WINDOW, answer_first: SMALL_WINDOW },
  ...{ review_unheard: SMALL_WINDOW, call_not_found: SMALL_WINDOW },
  ...{ git_failed: FAULT, internal: FAULT, daemon_unavailable: FAULT, home_in_use: FAULT, home_removed: FAULT },
  ...{ daemon_busy: FAULT, analysis_server_start: FAULT, no_active_server: FAULT, adapter_failed: FAULT },
  ...{ bad_event: FAULT, spawn_failed: FAULT, exit_unknown: FAULT, worktree_lost: FAULT },
  ...{ interrupt_timeout: FAULT, ceiling: FAULT, sandbox_unavailable: FAULT, agent_sandbox_broken: FAULT },
  ...{ unmatched_signal: WALKED, worker_crashed: WALKED, stack_overflow: WALKED, bind_missing: WALKED },
  ...{ visits_exhausted: WALKED, no_progress: WALKED, fork_failed: WALKED, job_killed: WALKED },
  ...{ gate_not_configured: WALKED, awaiting_approval: WALKED },
  ...{ agent_start_timeout: AGENT, agent_ended_early: AGENT, agent_exit: AGENT, agent_signalled: AGENT },
  ...{ no_session: AGENT, resume_unsupported: AGENT, send_unsupported: AGENT, bad_answer: AGENT },
  ...{ question_cut: AGENT, too_many_children: AGENT },
  ...{ unauthorized: LONG, login_code_used: LONG, bad_host: LONG },
  ...{ database_refused: FLEET, schema_too_old: FLEET, host_lost: FLEET, host_not_found: FLEET },
  ...{ run_poisoned: FLEET, nothing_promoted: FLEET, remote_unavailable: FLEET, person_not_found: FLEET },
  ...{ token_not_found: FLEET, repository_not_found: FLEET, systemd_missing: FLEET },
  manifest_not_found: 'the repository has a workflow file; the file is written by test/e2e/dry-run.test.ts',
  systemd_missing: 'it takes a machine without systemd; the commands of a fleet are typed by its tests',
  reef_not_there: 'it takes another machine: test/e2e/remote-home.test.ts',
  ...{ agent_not_logged_in: AGENT, budget_exhausted: AGENT },
  still_ending:
    'it takes a tree that will not end: test/e2e/bad-input.test.ts meets it, and kills again by the operation',
  queue_full: 'it takes a thousand jobs: test/e2e/full-queue.test.ts meets it, and ends one by the operation',
  review_stale: 'a page sends reviews: test/e2e/review.test.ts meets it',
  secret_missing: 'the command asks for the secret',
  ...{ schema_validation: MANIFEST, workflow_invalid: MANIFEST },
  session_not_found: 'a session that is not there is begun',
};
