/**
 * A program that speaks MCP over stdio, for the tests of the manager: its first argument says, as JSON, how it misbehaves;
 * `get_symbol` with one of the names in ORDERS makes it do so later.
 */
import { appendFileSync, closeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { FakePlan } from './fake-plan.ts';

interface Incoming {
  id?: number;
  method: string;
  params: { name?: string; arguments?: Record<string, unknown> };
}

const plan = JSON.parse(process.argv[2] ?? '{}') as FakePlan;

const note = (line: string) => plan.log !== undefined && appendFileSync(plan.log, `${line}\n`);
const send = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (value: unknown) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });

const ORDERS = makeOrders();

function makeOrders(): Record<string, (amount: number) => void> {
  const hoard: Buffer[] = [];
  return {
    exit: (code) => process.exit(code),
    hang: () => {},
    mute: () => closeSync(1),
    grow: (megabytes) => void hoard.push(Buffer.alloc(megabytes * 1024 * 1024, 1)),
  };
}

function index(): object | undefined {
  if (plan.index === 'hang') return undefined;
  if (plan.index === 'refuse') return { isError: true, content: [{ type: 'text', text: 'cannot index' }] };
  return text({ status: 'success', files_indexed: 1, symbols_found: 1, errors: [], duration_ms: 1 });
}

function call(name = '', args: Record<string, unknown> = {}): object | undefined {
  if (name === 'index_code') return index();
  const [order = '', amount = '0'] = String(args.name ?? '').split(' ');
  ORDERS[order]?.(Number(amount));
  if (order === 'hang' || order === 'mute') return undefined;
  return text({ symbols: [], file_path: 'a.ts', language: null, references: [], results: [], total_found: 0 });
}

function answer({ id, method, params }: Incoming): void {
  if (method === 'initialize') {
    if (plan.initialize === 'exit') {
      process.stderr.write('no grammar for this machine\n', () => process.exit(3));
      return;
    }
    if (plan.initialize === 'silent') return;
    send({
      id,
      result: { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'fake', version: '1' } },
    });
  }
  if (method !== 'tools/call') return;
  const result = call(params.name, params.arguments);
  if (result) setTimeout(() => send({ id, result }), plan.delayMs ?? 0);
}

note(`start ${process.cwd()}`);
if (plan.isDeaf) process.on('SIGTERM', () => note('SIGTERM'));
if (plan.isDeaf) setInterval(() => {}, 60_000);
createInterface({ input: process.stdin })
  .on('line', (line) => {
    note(line);
    answer(JSON.parse(line) as Incoming);
  })
  .on('close', () => plan.isDeaf || process.exit(0));
