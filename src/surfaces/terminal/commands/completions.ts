import { ReefError } from '../../../protocol/errors.ts';
import type { Cli, Command } from '../cli.ts';
import { type CommandLine, SAID, type Wanted, type Word, wantedIn } from './complete-line.ts';

/** Asked by the scripts at each Tab: `reef completions words -- WORD…`, the last word being under the cursor. */
const ASKED = 'words';

/** The tree of commands comes from the parser itself, and is asked at each Tab, so what a shell offers is never out of date. */
export function completions(tree: () => CommandLine): Command<object> {
  return async (cli, [shell = '', ...line]) => {
    if (shell === ASKED) return offer(cli, wantedIn(tree(), line));
    const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell as keyof typeof SCRIPTS] : undefined;
    if (!script)
      throw new ReefError('bad_request', `shell: expected ${Object.keys(SCRIPTS).join(', ')}, not "${shell}"`);
    cli.print({ shell, script }, () => script.trimEnd());
    return 0;
  };
}

/** One word per line, and behind a tab what it is. */
async function offer(cli: Cli, { words, kind, before, typed }: Wanted): Promise<number> {
  const { aboutLine, WORDS } = await import('./completion-words.ts');
  const said = kind !== undefined && Object.hasOwn(SAID, kind) ? SAID[kind as keyof typeof SAID] : undefined;
  const looked = said || kind === undefined ? [] : await WORDS[kind as keyof typeof WORDS](cli);
  const all: Word[] = [...words, ...(said ?? []).map((value) => ({ value, about: '' })), ...looked];
  const wanted = typed.toLowerCase();
  const found = all
    .filter(({ value }) => value.toLowerCase().startsWith(wanted))
    .map((word) => ({ value: before + word.value, about: aboutLine(word) }));
  const lines = found.map(({ value, about }) => (about === '' ? value : `${value}\t${about}`));
  if (cli.json || lines.length > 0) cli.print({ words: found }, () => lines.join('\n'));
  return 0;
}

/** bash breaks words at `:` and `=`, which are parts of ours: they are put together first, and what is typed is left out of the answer. */
const BASH = `_reef() {
  local word rest=$COMP_LINE lead line value about index
  local -a words=() values=() lines=()
  for ((index = 0; index <= COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]} lead=\${rest%%"$word"*} rest=\${rest#*"$word"}
    if [[ -z $word && \${COMP_LINE:COMP_POINT-1:1} == ' ' || -n $lead || $index == 0 ]]; then words+=("$word")
    else words[\${#words[@]}-1]+=$word; fi
  done
  local current=\${words[\${#words[@]}-1]}
  local before=\${current%"\${current##*[:=]}"}
  while IFS=$'\\t' read -r value about; do
    value=\${value#"$before"}
    values+=("$value")
    lines+=("$value\${about:+  ($about)}")
  done < <(reef completions ${ASKED} -- "\${words[@]:1}" 2>/dev/null)
  # Several are listed, and no more of them is inserted than what they begin with.
  if [[ \${#values[@]} -gt 1 && $COMP_TYPE =~ ^(33|63|64)$ ]]; then COMPREPLY=("\${lines[@]}"); else COMPREPLY=("\${values[@]}"); fi
}
complete -o default -o nosort -F _reef reef 2>/dev/null || complete -o default -F _reef reef
`;

const ZSH = `#compdef reef
_reef() {
  local line value about
  local -a values shown
  while IFS= read -r line; do
    value=\${line%%$'\\t'*} about=\${line#*$'\\t'}
    values+=("$value")
    if [[ $line == *$'\\t'* ]]; then shown+=("$value  -- $about"); else shown+=("$value"); fi
  done < <(reef completions ${ASKED} -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#values} )); then compadd -l -V reef -d shown -a values; else _files; fi
}
if [[ \${funcstack[1]} == _reef ]]; then _reef "$@"; else compdef _reef reef; fi
`;

const FISH = `function __reef_words
  set -l typed (commandline -opc)
  set -l current (commandline -ct)
  set -l found (reef completions ${ASKED} -- $typed[2..-1] "$current" 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\\n' $found
  else
    __fish_complete_path "$current"
  end
end
complete -c reef -f -k -a '(__reef_words)'
`;

const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH };
