/**
 * A tool in JavaScript or TypeScript exports `description`, `parameters` (JSON Schema) and `run(args)`; an agent's file
 * exports `tools`, an object of such. Declarations are data of the module, so it has to be run to know them.
 */
import { pathToFileURL } from 'node:url';

const module = await import(pathToFileURL(process.argv[1]));
const tools = module.tools ?? { run: module };
const functions = Object.entries(tools).map(([name, tool]) => {
  if (typeof tool.run !== 'function') throw new TypeError(`${name} has no function run`);
  return {
    name,
    description: String(tool.description ?? ''),
    parameters: tool.parameters ?? { type: 'object', properties: {} },
  };
});
process.stdout.write(`\n${JSON.stringify({ functions })}`);
process.exit(0);
