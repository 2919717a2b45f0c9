import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { ownServer } from '../../../src/context/manager/server-command.ts';
import { type CodeToolArgs, type CodeToolName, type CodeToolResult, codeTools } from '../../../src/protocol/code.ts';
import { COMPILED } from '../compile-cache.ts';

const PEAK = /VmHWM:\s+(\d+)/;

interface Reply {
  id: number | null;
  result?: unknown;
  error?: { code: number; message: string };
}

interface ToolReply {
  isError?: boolean;
  structuredContent: { error: { code: string; message: string; details?: Record<string, unknown> } };
  content: { text: string }[];
}

interface Serving {
  worktree: string;
  store: string;
  maxMemoryMb?: number;
  within?: readonly string[];
}

/** A real server process for tests and measurements, spoken to over its stdio. */
export class ServerClient {
  readonly child: ChildProcessWithoutNullStreams;
  readonly exited: Promise<number | null>;
  readonly refusals: Reply[] = [];
  stderr = '';
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #lastId = 0;

  /** `within`: a program, with its arguments, that runs the server in its turn. */
  constructor({ worktree, store, maxMemoryMb = 256, within = [] }: Serving) {
    const { PATH = '', HOME = '' } = process.env;
    // From the first module on: set by the program itself, it would come too late for its own file and the type stripper.
    const ownEnv = { PATH, HOME, NODE_COMPILE_CACHE: COMPILED, ROBERTO_MAX_MEMORY_MB: String(maxMemoryMb) };
    const { command, args, env } = ownServer({ storeOf: () => store, env: ownEnv });
    const [program = '', ...rest] = [...within, command, ...args(worktree, maxMemoryMb)];
    this.child = spawn(program, rest, { env, stdio: 'pipe' });
    this.exited = new Promise((resolve) => this.child.once('close', (code) => resolve(code)));
    this.child.stderr.on('data', (chunk: Buffer) => {
      this.stderr += chunk.toString();
    });
    this.child.stdin.on('error', () => {});
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      const reply = JSON.parse(line) as Reply;
      const settle = reply.id === null ? undefined : this.#waiting.get(reply.id);
      if (settle) settle(reply);
      else this.refusals.push(reply);
    });
  }

  request(method: string, params: unknown): Promise<Reply> {
    this.#lastId += 1;
    const id = this.#lastId;
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, resolve);
      void this.exited.then((code) => reject(new Error(`the server ended with ${code}: ${this.stderr}`)));
    });
  }

  notify(method: string, params: unknown): void {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`);
  }

  raw(text: string): void {
    this.child.stdin.write(text);
  }

  /** What a tool answers, checked against its schema. */
  async call<N extends CodeToolName>(name: N, args: CodeToolArgs<N>): Promise<CodeToolResult<N>> {
    const { result, error } = await this.request('tools/call', { name, arguments: args });
    const reply = result as ToolReply;
    if (error || reply.isError) throw new Error(error?.message ?? reply.content[0]?.text);
    return codeTools[name].output.parse(reply.structuredContent) as CodeToolResult<N>;
  }

  async refusal(name: string, args: unknown): Promise<ToolReply['structuredContent']['error'] | undefined> {
    const { result } = await this.request('tools/call', { name, arguments: args });
    return (result as ToolReply).isError ? (result as ToolReply).structuredContent.error : undefined;
  }

  /** So far; Linux only. */
  peakMb(): number {
    const [, kib = '0'] = PEAK.exec(readFileSync(`/proc/${this.child.pid}/status`, 'utf8')) ?? [];
    return Number(kib) / 1024;
  }

  async close(): Promise<number | null> {
    this.child.stdin.end();
    return this.exited;
  }
}

/** Index after index with so little room that a server must give up again and again: each goes on where the last one was. */
export async function indexWithin(at: Omit<Serving, 'within'>): Promise<(number | null)[]> {
  const codes: (number | null)[] = [];
  for (let lives = 0; lives < 20; lives++) {
    const client = new ServerClient(at);
    const done = await client.call('index_code', { path: at.worktree, wait: 'complete' }).catch(() => undefined);
    codes.push(await client.exited);
    if (done?.status === 'success') return codes;
  }
  return codes;
}
