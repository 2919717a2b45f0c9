import { ReefError } from '../../../protocol/errors.ts';
import type { Command } from '../cli.ts';

/** The tree of commands comes from the parser itself, so the script is never out of date. */
export function completions(tree: CommandLine): Command<object> {
  return async (cli, [shell = '']) => {
    if (shell === 'ids' || shell === 'agents' || shell === 'workflows') {
      const { WORDS } = await import('./completion-words.ts');
      const words = await WORDS[shell](cli);
      cli.print({ words }, () => words.join('\n'));
      return 0;
    }
    const script = Object.hasOwn(scripts, shell) ? scripts[shell as keyof typeof scripts] : undefined;
    if (!script)
      throw new ReefError('bad_request', `shell: expected ${Object.keys(scripts).join(', ')}, not "${shell}"`);
    cli.print({ shell, script: script(tree) }, () => script(tree).trimEnd());
    return 0;
  };
}

export interface CommandLine {
  name: string;
  summary: string;
  options: { flag: string; summary: string }[];
  /** What its first argument names, if a shell can offer it. */
  takes: 'ids' | 'agents' | 'workflows' | undefined;
  commands: CommandLine[];
}

/** One flat list: `daemon stop` is the path of a command below another. */
interface Row {
  path: string[];
  line: CommandLine;
}

function rows(line: CommandLine, path: string[] = []): Row[] {
  return [{ path, line }, ...line.commands.flatMap((child) => rows(child, [...path, child.name]))];
}

const words = ({ commands, options }: CommandLine) => [
  ...commands.map(({ name }) => name),
  ...options.map(({ flag }) => flag),
];
const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** `path` is zsh's own name for PATH, so the words so far are a chain. After those of a command, its sub-commands and options; elsewhere file names. */
function bash(root: CommandLine): string {
  const cases = rows(root).map(
    ({ path, line }) =>
      `    ${quote(path.join(' '))}) words=${quote(words(line).join(' '))} takes=${line.takes ?? ''} ;;`,
  );
  const names = rows(root)
    .map(({ path }) => quote(path.join(' ')))
    .filter((name) => name !== "''");
  return `_reef() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[$((COMP_CWORD-1))]} chain='' word words='' takes='' candidate
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD-1))}"; do
    candidate="\${chain:+$chain }$word"
    case "$candidate" in ${names.join('|')}) chain=$candidate ;; esac
  done
  case "$chain" in
${cases.join('\n')}
  esac
  # The last word of the command stands before the first argument; --agent takes an agent anywhere.
  if [ "$before" = --agent ]; then takes=agents words=''; elif [ "$before" != "\${chain##* }" ]; then takes=''; fi
  case "$current" in -*) takes='' ;; esac
  [ -z "$takes" ] || words="$words $(reef completions "$takes" 2>/dev/null)"
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _reef reef
`;
}

function zsh(root: CommandLine): string {
  return `#compdef reef
autoload -U +X bashcompinit && bashcompinit
${bash(root)}`;
}

function fish(root: CommandLine): string {
  const lines = rows(root).flatMap(({ path, line }) => {
    const when = condition(path, line);
    const { takes } = line;
    return [
      ...(takes ? [`complete -c reef -f -n ${quote(when)} -a '(reef completions ${takes} 2>/dev/null)'`] : []),
      ...line.commands.map(
        ({ name, summary }) => `complete -c reef -f -n ${quote(when)} -a ${name} -d ${quote(summary)}`,
      ),
      ...line.options.map(
        ({ flag, summary }) =>
          `complete -c reef -n ${quote(when)} ${flag === '--agent' ? `-xa '(reef completions agents 2>/dev/null)' ` : ''}-l ${flag.replace(/^--/, '')} -d ${quote(summary)}`,
      ),
    ];
  });
  return `${lines.join('\n')}\n`;
}

function condition(path: string[], { commands }: CommandLine): string {
  if (path.length === 0) return '__fish_use_subcommand';
  const seen = path.map((name) => `__fish_seen_subcommand_from ${name}`);
  const below = commands.map(({ name }) => name).join(' ');
  return [...seen, ...(below ? [`not __fish_seen_subcommand_from ${below}`] : [])].join('; and ');
}

const scripts = { bash, zsh, fish };
