/** Where a command that names another machine does its work. */
export type Where = 'by socket' | 'there' | 'here';

/** They need nothing but the daemon or its door, so they run here and come back by themselves after the network was gone. */
const BY_SOCKET = new Set(
  'spawn status ps send inbox output wait interrupt resume kill run runs worktree conflicts state code calls mcp open'.split(
    ' ',
  ),
);
const HERE = new Set(['demo', 'completions', 'help', 'mcp install']);
/** They look at files of the daemon's machine, or need its git, its agents and its log-ins. */
const THERE = new Set(['worktree shell', 'worktree push', 'worktree pr']);

/** Options with which a command looks at files of that machine, too. */
const FILES_OF: Readonly<Record<string, string>> = { output: '--raw', ps: '--all', status: '--all' };

/** All that reads configuration or files of a repository runs where they are. */
export function whereRuns([word = '', next = '', ...rest]: readonly string[]): Where {
  if (word === '' || word.startsWith('-')) return 'here';
  if (HERE.has(word) || HERE.has(`${word} ${next}`)) return 'here';
  if (THERE.has(`${word} ${next}`) || [next, ...rest].includes(FILES_OF[word] ?? '')) return 'there';
  return BY_SOCKET.has(word) ? 'by socket' : 'there';
}
