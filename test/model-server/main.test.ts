import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { postJson } from './testing.ts';

const program = join(import.meta.dirname, 'main.ts');

function start(args: string[]) {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  onTestFinished(async () => {
    child.kill();
    await ended;
  });
  return { child, ended };
}

test('the program prints its address and serves the script of a file', async () => {
  const folder = temporaryFolder();
  const file = join(folder, 'script.json');
  writeFileSync(file, JSON.stringify([{ text: 'Hello' }]));
  const { child } = start(['--port', '0', '--script', file]);
  const url = await new Promise<string>((resolve) => createInterface({ input: child.stdout }).once('line', resolve));
  const answer = await postJson(`${url}/v1/messages`, { model: 'm', messages: [], tools: [{ name: 'Bash' }] });
  expect(answer).toMatchObject({ content: [{ type: 'text', text: 'Hello' }] });
});

test('without a script the program says how it is used', async () => {
  const { child, ended } = start([]);
  let said = '';
  child.stderr.on('data', (data: Buffer) => {
    said += data;
  });
  expect([await ended, said]).toEqual([2, 'usage: node test/model-server/main.ts --script FILE [--port N]\n']);
});
