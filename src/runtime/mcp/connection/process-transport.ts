import type { JSONRPCMessage, ReadBuffer, Transport } from '@modelcontextprotocol/client';
import type { BoundProcess } from '../../../process/bound.ts';

interface Codec {
  buffer: ReadBuffer;
  serialize(message: JSONRPCMessage): string;
}

/**
 * MCP over the streams of a process that somebody else started and will end: closing the transport ends the conversation, not
 * the process. The SDK's own stdio transport kills one process where a tree has to go.
 */
export class ProcessTransport implements Transport {
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  onmessage: ((message: JSONRPCMessage) => void) | undefined;
  readonly #process: BoundProcess;
  readonly #codec: Codec;
  #isOpen = true;

  constructor(process: BoundProcess, codec: Codec) {
    this.#process = process;
    this.#codec = codec;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  async start(): Promise<void> {
    const { stdout, exited } = this.#process;
    stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    stdout.on('error', (error) => this.onerror?.(error));
    stdout.once('close', () => this.#end());
    // A grandchild may hold the pipe open after the server is gone.
    void exited.then(() => setImmediate(() => this.#end()));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#isOpen) throw new Error('the server has ended');
    const { stdin } = this.#process;
    if (stdin.write(this.#codec.serialize(message))) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        stdin.off('drain', done);
        stdin.off('close', done);
        resolve();
      };
      stdin.on('drain', done);
      stdin.on('close', done);
    });
  }

  async close(): Promise<void> {
    this.#end();
  }

  #read(chunk: Buffer): void {
    if (!this.#isOpen) return;
    try {
      this.#codec.buffer.append(chunk);
    } catch (error) {
      this.#fail(error); // a single message beyond the buffer's bound
      this.#end();
      return;
    }
    this.#deliver();
  }

  #deliver(): void {
    for (;;) {
      try {
        const message = this.#codec.buffer.readMessage();
        if (message === null) return;
        this.onmessage?.(message);
      } catch (error) {
        this.#fail(error); // a line that is no message: servers do print banners
      }
    }
  }

  #fail(error: unknown): void {
    this.onerror?.(error instanceof Error ? error : new Error(String(error)));
  }

  #end(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#codec.buffer.clear();
    this.onclose?.();
  }
}
