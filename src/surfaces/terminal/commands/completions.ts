import { ReefError } from '../../../protocol/errors.ts';
import type { Command } from '../cli.ts';

/** The tree of commands comes from the parser itself, so the script is never out of date. */
export function completions(tree: CommandLine): Command<object> {
  return async (cli, [shell = '']) => {
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

/** After the path of a command, its sub-commands and options; elsewhere file names. */
function bash(root: CommandLine): string {
  const cases = rows(root).map(
    ({ path, line }) => `    ${quote(path.join(' '))}) words=${quote(words(line).join(' '))} ;;`,
  );
  const names = rows(root)
    .map(({ path }) => quote(path.join(' ')))
    .filter((name) => name !== "''");
  return `_reef() {
  local current=\${COMP_WORDS[COMP_CWORD]} path='' word words='' candidate
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    candidate="\${path:+$path }$word"
    case "$candidate" in ${names.join('|')}) path=$candidate ;; esac
  done
  case "$path" in
${cases.join('\n')}
  esac
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
    return [
      ...line.commands.map(
        ({ name, summary }) => `complete -c reef -f -n ${quote(when)} -a ${name} -d ${quote(summary)}`,
      ),
      ...line.options.map(
        ({ flag, summary }) => `complete -c reef -n ${quote(when)} -l ${flag.replace(/^--/, '')} -d ${quote(summary)}`,
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
