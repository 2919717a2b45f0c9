import { type ErrorRow, final, passing } from './row.ts';

/** RepoState and the native coder. */
export const repostateErrors = {
  // writing files
  file_exists: final(409, 1, 'Use edit_file, or pass replace:true after reading the file.'),
  unread_file: final(409, 1, 'Read the file first, then write or edit it.'),
  stale_file: final(409, 1, 'The file changed since it was read: read it again, then edit.'),
  edit_not_found: final(
    409,
    1,
    'Quote the text to replace exactly as the file has it, and enough of it to occur once.',
  ),
  // detectors
  rewrite_loop: final(
    409,
    1,
    'The file was rewritten almost unchanged several times: change it with edit_file, or go on.',
  ),
  repeated_failure: final(409, 1, 'The same call failed three times: change its arguments or take another way.'),
  // state and prompt
  repostate_corrupt: passing(500, 1, 'The unreadable file was set aside and the state rebuilt from git and events.'),
  repostate_newer: passing(500, 1, 'A newer Reef wrote the file; it was set aside and the state rebuilt.'),
  repostate_write_failed: passing(500, 1, 'Free some disk space; the job goes on and the state is written later.'),
  repostate_locked: passing(409, 1, 'Another process writes the state of this worktree; it can be read meanwhile.'),
  prompt_too_large: final(413, 2, 'Shorten the template, the instructions or the tool list.'),
  fallback_too_large: final(413, 1, 'The whole history exceeds the model window: the job keeps bounded prompts.'),
  // artifacts and todos
  artifact_not_found: final(404, 4, 'Use an id shown in a cut mark, or t<n> for a whole turn.'),
  not_in_scope: final(403, 1, 'An artifact can be read by the jobs of its own tree only.'),
  todo_too_long: final(400, 2, 'Keep at most 10 items of 120 characters; put long text in a file.'),
  todo_invalid: final(400, 2, 'Name an item of the list; dropping one needs a reason, and only one is in progress.'),
  // benchmark
  trajectory_invalid: final(400, 2, 'Correct the named field of the trajectory file.'),
  corpus_drift: final(422, 1, 'The trajectories no longer resemble the reference runs: regenerate the shipped set.'),
  not_done: final(409, 1, 'Do what is listed, then call done again.'),
  no_tool_call: final(502, 1, 'The model does not call tools: choose another with --model.'),
} as const satisfies Record<string, ErrorRow>;
