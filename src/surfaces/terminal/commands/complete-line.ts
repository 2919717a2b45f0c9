/** A command as a shell has to know it. */
export interface CommandLine {
  name: string;
  summary: string;
  options: OptionLine[];
  arguments: { name: string; isMany: boolean }[];
  commands: CommandLine[];
}

interface OptionLine {
  /** `--model`, `-m`. */
  flags: string[];
  summary: string;
  takesValue: boolean;
}

/** A word that may stand there, and what it is. */
export interface Word {
  value: string;
  about: string;
}

/** What may stand where the cursor is. `kind` names values that are looked up; without any, a shell offers files. */
export interface Wanted {
  words: Word[];
  kind: Kind | undefined;
  /** What of the last word stands before the value. */
  before: string;
  typed: string;
}

type Kind = keyof typeof SAID | Looked;
export type Looked =
  | ('ids' | 'runs' | 'worktrees' | 'questions' | 'agents' | 'workflows' | 'models')
  | ('roles' | 'sessions' | 'macros' | 'rags' | 'chatAgents');

/** Values that are always the same. */
export const SAID = {
  shells: ['bash', 'zsh', 'fish'],
  modes: ['headless', 'headful'],
  streams: ['out', 'err'],
  sums: ['agent', 'model', 'day', 'run'],
  conditions: ['needs_input', 'done', 'idle'],
  clients: ['claude', 'codex', 'gemini', 'opencode', 'cursor', 'vscode', 'zed'],
} as const satisfies Record<string, readonly string[]>;

/** By the first word of the command, or for all of them. */
const OPTIONS: Readonly<Record<string, Kind>> = {
  ...{
    '--agent': 'agents',
    '--agents': 'agents',
    '--fallback': 'agents',
    '--parent': 'ids',
    '--question': 'questions',
  },
  ...{ '--worktree': 'worktrees', '--mode': 'modes', '--stream': 'streams', '--by': 'sums', '--until': 'conditions' },
  ...{ '--role': 'roles', '--session': 'sessions', '--rag': 'rags', '--macro': 'macros', '--whole': 'questions' },
  ...{ 'ask --agent': 'chatAgents', 'chat --agent': 'chatAgents', 'ask --model': 'models', 'chat --model': 'models' },
};

const ARGUMENTS: Readonly<Record<string, Kind>> = {
  ...{ id: 'ids', ids: 'ids', agent: 'agents', 'workflow-or-task': 'workflows', worktree: 'worktrees' },
  ...{ 'ref-or-id': 'worktrees', client: 'clients', shell: 'shells' },
  ...{ 'worktree id': 'worktrees', 'review id': 'worktrees', 'run id': 'runs' },
  ...{ 'role name': 'roles', 'macro name': 'macros', 'agent name': 'chatAgents', 'rag name': 'rags' },
};

/** `words` are those behind `reef`, the last of them under the cursor. */
export function wantedIn(root: CommandLine, words: readonly string[]): Wanted {
  const place = { command: root, first: '', count: 0, isOver: false };
  let option: OptionLine | undefined;
  for (const word of words.slice(0, -1)) {
    if (option) option = undefined;
    else if (word.startsWith('-') && !place.isOver) {
      place.isOver = word === '--';
      const found = optionOf(place.command, word);
      option = found?.takesValue && !word.includes('=') ? found : undefined;
    } else step(place, word);
  }
  return atCursor(place, option, words.at(-1) ?? '');
}

interface Place {
  command: CommandLine;
  first: string;
  /** Of the arguments before the cursor. */
  count: number;
  /** Behind `--` nothing is an option. */
  isOver: boolean;
}

function step(place: Place, word: string): void {
  const below = place.count === 0 ? place.command.commands.find(({ name }) => name === word) : undefined;
  if (below) {
    place.first ||= below.name;
    place.command = below;
  } else place.count += 1;
}

function atCursor({ command, first, count, isOver }: Place, option: OptionLine | undefined, word: string): Wanted {
  const kindOf = ({ flags }: OptionLine) =>
    flags.map((flag) => OPTIONS[`${first} ${flag}`] ?? OPTIONS[flag]).find((kind) => kind !== undefined);
  if (option) return behindComma(kindOf(option), '', word);
  const [flag = '', ...value] = word.split('=');
  const named = isOver || value.length === 0 ? undefined : optionOf(command, flag);
  if (named) return behindComma(kindOf(named), `${flag}=`, value.join('='));
  if (word.startsWith('-') && !isOver) {
    const flags = command.options.flatMap(({ flags: all, summary }) => {
      const long = all.find((each) => each.startsWith('--')) ?? all[0];
      return long === undefined ? [] : [{ value: long, about: summary }];
    });
    return { words: flags, kind: undefined, before: '', typed: word };
  }
  const commands = count === 0 ? command.commands.map(({ name, summary }) => ({ value: name, about: summary })) : [];
  const argument = command.arguments[count] ?? command.arguments.findLast(({ isMany }) => isMany);
  const kind = argument && (ARGUMENTS[`${first} ${argument.name}`] ?? ARGUMENTS[argument.name]);
  return { words: commands, kind, before: '', typed: word };
}

/** A list has its next value behind the last comma. */
function behindComma(kind: Kind | undefined, before: string, word: string): Wanted {
  const at = word.lastIndexOf(',') + 1;
  return { words: [], kind, before: before + word.slice(0, at), typed: word.slice(at) };
}

function optionOf(command: CommandLine, word: string): OptionLine | undefined {
  const flag = word.split('=', 1)[0] ?? '';
  return command.options.find(({ flags }) => flags.includes(flag));
}
