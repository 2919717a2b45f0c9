/**
 * A tool in JavaScript or TypeScript exports `description`, `parameters` (JSON Schema) and `run(args)`; an agent's file
 * exports `tools`, an object of such. Declarations are data of the module, so it has to be run to know them.
 */
export const SCRIPT_DECLARE = `
import { pathToFileURL } from 'node:url';
const module = await import(pathToFileURL(process.argv[1]));
const tools = module.tools ?? { run: module };
const functions = Object.entries(tools).map(([name, tool]) => {
  if (typeof tool.run !== 'function') throw new TypeError(name + ' has no function run');
  return { name, description: String(tool.description ?? ''), parameters: tool.parameters ?? { type: 'object', properties: {} } };
});
process.stdout.write('\\n' + JSON.stringify({ functions }));
process.exit(0);
`;

export const SCRIPT_RUN = `
import { appendFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
const [path, name] = process.argv.slice(1);
let input = '';
for await (const chunk of process.stdin) input += chunk;
const module = await import(pathToFileURL(path));
const tool = module.tools ? module.tools[name] : module;
const result = await tool.run(JSON.parse(input));
if (result !== undefined && result !== null) {
  appendFileSync(process.env.LLM_OUTPUT, typeof result === 'string' ? result : JSON.stringify(result));
}
`;

/**
 * Scripts made for argc end in \`eval "$(argc --argc-eval "$0" "$@")"\`, which would call a function of theirs. The
 * arguments are in the environment already, so our argc has nothing left to do but to name that function.
 */
export const SHELL_RUN = `
argc() { if [ "$1" = --argc-eval ]; then echo 'if declare -F "$REEF_FUNCTION" >/dev/null; then "$REEF_FUNCTION"; fi'; fi; }
for reef_list in $REEF_LISTS; do
  reef_values="$reef_list"
  IFS=$'\\n' read -r -d '' -a "$reef_list" <<< "\${!reef_values}" || :
done
unset reef_list reef_values
reef_file="$1"; shift
. "$reef_file"
if ! grep -q -e --argc-eval "$reef_file" && declare -F "$REEF_FUNCTION" >/dev/null; then "$REEF_FUNCTION"; fi
`;
