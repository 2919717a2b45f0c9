import { type ErrorRow, final, passing } from './row.ts';

/** Code context. */
export const contextErrors = {
  no_active_server: passing(
    409,
    1,
    'Start the server of this worktree first; `reef code status` lists those that run.',
  ),
  analysis_busy: passing(503, 69, 'All analysis servers are answering; try again, or raise `context.max_servers`.'),
  analysis_server_died: passing(502, 1, 'Ask again: the server is started anew.'),
  analysis_timeout: passing(504, 1, 'Ask again, or ask for less.'),
  analysis_server_missing: final(
    422,
    69,
    'Correct `context.server` in the configuration, or remove it to use the own engine.',
  ),
  analysis_server_start: passing(
    502,
    69,
    'See what the server wrote, in the details; `reef doctor` checks what it needs.',
  ),
  analysis_server_unavailable: passing(
    503,
    69,
    'It died three times within a minute; it is tried again a minute later.',
  ),
  analysis_protocol: final(502, 1, 'The server gave an answer that is none; please report it with the text shown.'),
  mcp_query: final(502, 1, 'The server refused the question; its message is above.'),
  not_a_worktree: final(400, 2, 'Name the top folder of a git checkout.'),
  file_not_found: final(404, 4, 'Use a path from the root of the worktree; the nearest one is in the details.'),
  bad_arguments: final(400, 2, 'Correct the argument named.'),
  index_incomplete: passing(504, 1, 'Ask again in some seconds, or without `require: complete`.'),
  parser_unavailable: final(
    500,
    69,
    'The parser or a grammar does not load; install the dependencies anew with `npm ci`.',
  ),
  store_unavailable: passing(503, 69, 'Free disk space or mend permissions; answers go on, only slower.'),
  context_unavailable: final(
    409,
    1,
    'Mend what the slice needs and retry the block, or take `required` from the slice.',
  ),
  wf_context: final(400, 2, 'Write kind:argument and options, as in "refs:applyDiscount limit=20".'),
} as const satisfies Record<string, ErrorRow>;
