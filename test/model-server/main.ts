import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { parseScripts } from './script.ts';
import { startModelServer } from './server.ts';

const { values } = parseArgs({ options: { port: { type: 'string', default: '0' }, script: { type: 'string' } } });

if (values.script === undefined) {
  process.stderr.write('usage: node test/model-server/main.ts --script FILE [--port N]\n');
  process.exitCode = 2;
} else {
  const scripts = parseScripts(JSON.parse(readFileSync(values.script, 'utf8')));
  const server = await startModelServer({ scripts, port: Number(values.port) });
  process.stdout.write(`${server.url}\n`);
}
