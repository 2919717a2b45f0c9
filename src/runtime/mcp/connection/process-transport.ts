import type { JSONRPCMessage, ReadBuffer, Transport } from '@modelcontextprotocol/client';
import type { BoundProcess } from '../../../process/bound.ts';

interface Codec {
  buffer: ReadBuffer;
  serialize(message: JSONRPCMessage): string;
}

/** MCP over the streams of a process that the caller starts and ends. The SDK's own transport kills one process, not its tree. */
export class ProcessTransport implements Transport {
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  onmessage: ((message: JSONRPCMessage) => void) | undefined;
  readonly #process: BoundProcess;
  readonly #codec: Codec;
  isOpen = true;

  constructor(process: BoundProcess, codec: Codec) {
    this.#process = process;
    this.#codec = codec;
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
    if (!this.isOpen) throw new Error('the server has ended');
    await new Promise<void>((resolve) => this.#process.stdin.write(this.#codec.serialize(message), () => resolve()));
  }

  async close(): Promise<void> {
    this.#end();
  }

  #read(chunk: Buffer): void {
    if (!this.isOpen) return;
    try {
      this.#codec.buffer.append(chunk);
    } catch (error) {
      this.#fail(error); // one message is larger than the buffer
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
        this.#fail(error); // the line is no message: some servers print banners
      }
    }
  }

  #fail(error: unknown): void {
    this.onerror?.(error instanceof Error ? error : new Error(String(error)));
  }

  #end(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#codec.buffer.clear();
    this.onclose?.();
  }
}
