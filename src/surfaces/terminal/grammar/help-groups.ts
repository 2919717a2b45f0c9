import type { Command } from 'commander';

/** What a person wants to do, and the commands for it, those for beginners first. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'Work:': [
    ...['run', 'spawn', 'send', 'review', 'worktree', 'compare', 'resume', 'interrupt', 'kill'],
    ...['attach', 'workflow'],
  ],
  'Watch:': ['top', 'status', 'ps', 'inbox', 'wait', 'output', 'runs', 'usage', 'calls', 'events', 'open'],
  'Code:': ['code', 'state', 'conflicts'],
  'Talk to a model:': ['ask', 'chat', 'role', 'macro', 'agent', 'rag'],
  'Configure:': ['init', 'trust', 'grants', 'config', 'vault', 'mcp', 'completions'],
  'Look after Reef:': ['demo', 'doctor', 'daemon', 'serve', 'token', 'fleet', 'worker', 'host', 'acp', 'prune', 'help'],
};

/** Of commands that only have others below them. The others bring their own. */
const EXAMPLES: Readonly<Record<string, string>> = {
  worktree: 'reef worktree diff @last',
  workflow: 'reef workflow check',
  calls: 'reef calls list',
  code: 'reef code symbol createServer',
  config: 'reef config show',
  role: 'reef role show code',
  macro: 'reef macro list',
  agent: 'reef agent show coder',
  rag: 'reef rag build docs ./docs',
  vault: 'reef vault add OPENAI_API_KEY',
  token: 'reef token rotate',
  fleet: 'reef fleet init --database-url-file admin.url',
  daemon: 'reef daemon status',
};

export const exampleText = (example: string) => `\nExample:\n  $ ${example}`;

/** Shows the commands of the program in groups. */
export function groupCommands(program: Command): void {
  const groups = Object.entries(GROUPS);
  const order = groups.flatMap(([, names]) => names);
  for (const command of program.commands) {
    const [heading] = groups.find(([, names]) => names.includes(command.name())) ?? [];
    if (heading !== undefined) command.helpGroup(heading);
    const example = EXAMPLES[command.name()];
    if (example !== undefined) command.addHelpText('after', exampleText(example));
  }
  (program.commands as Command[]).sort((a, b) => order.indexOf(a.name()) - order.indexOf(b.name()));
}
