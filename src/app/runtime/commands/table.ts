import { ReefError } from '../../../protocol/errors.ts';
import { agentCommands } from './agents.ts';
import type { DotCommand, TypedCommand } from './command.ts';
import { generalCommands, serviceCommands } from './general.ts';
import { ragCommands } from './rags.ts';
import { roleCommands } from './roles.ts';
import { sessionCommands } from './sessions.ts';
import { storeCommands } from './stores.ts';

const help: DotCommand = { name: '.help', does: 'Show this list', run: ({ say }) => say(helpText()) };

export const COMMANDS: readonly DotCommand[] = [
  help,
  ...generalCommands,
  ...storeCommands,
  ...roleCommands,
  ...sessionCommands,
  ...agentCommands,
  ...ragCommands,
  ...serviceCommands,
];

/** Looks for two words before one: `.info role` is not `.info`. */
export function parseCommand(line: string): TypedCommand {
  const [, first = '', second = '', rest = ''] = /^(\S+)\s*(\S*)\s*([\s\S]*)$/.exec(line.trim()) ?? [];
  const both = `${first} ${second}`;
  const two = COMMANDS.find(({ name }) => name === both);
  if (two) return { ...two, args: rest.trim() };
  const parts = COMMANDS.flatMap(({ name }) => (name.startsWith(`${first} `) ? [name] : []));
  const one = COMMANDS.find(({ name }) => name === first);
  if (one && (second === '' || one.usage !== undefined)) return { ...one, args: `${second} ${rest}`.trim() };
  const known = one || parts.length > 0 ? ` There are ${[...(one ? [first] : []), ...parts].join(', ')}.` : '';
  throw new ReefError(
    'bad_request',
    `there is no command ${second === '' ? first : both}.${known} \`.help\` lists them all`,
  );
}

const KEYS = `
:::              Begin and end a block of several lines
Ctrl-J           Start a new line
Ctrl-O           Write the question in your editor
Tab              Complete
Ctrl-C           Stop the answer, or drop the line
Ctrl-D           Leave`;

function helpText(): string {
  const lines = COMMANDS.map(({ name, usage = '', does }) => ({ left: `${name} ${usage}`.trim(), does }));
  const width = 34;
  const text = lines.map(({ left, does }) =>
    left.length < width ? `${left.padEnd(width)}${does}` : `${left}\n${' '.repeat(width)}${does}`,
  );
  return `${text.join('\n')}\n${KEYS}`;
}
