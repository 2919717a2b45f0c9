import { appendFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [path, name] = process.argv.slice(1);
let input = '';
for await (const chunk of process.stdin) input += chunk;
const module = await import(pathToFileURL(path));
const tool = module.tools ? module.tools[name] : module;
const result = await tool.run(JSON.parse(input));
if (result !== undefined && result !== null) {
  // biome-ignore lint/style/noProcessEnv: where a tool's answer goes is its contract with the runtime
  appendFileSync(process.env.LLM_OUTPUT, typeof result === 'string' ? result : JSON.stringify(result));
}
