import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { freeBytes } from '../../base/free-bytes.ts';
import type { Language } from './contract.ts';
import { Engine, type LoadedLanguage } from './engine.ts';
import { readTree, scanText } from './read-source.ts';
import type { WasmCode } from './wasm-code.ts';
import type { Answer, WorkerData, WorkerReply, WorkerRequest } from './worker-messages.ts';

/** The thread that parses. An exception while it reads a file ends it, because after a trap the WASM memory may be damaged. */

const port = parentPort as MessagePort;
const { engine: code, underWay } = workerData as WorkerData;
const current = new Int32Array(underWay);

const reply = (message: WorkerReply) => port.postMessage(message, givenAway(message));

/** Transfers the bytes of an answer instead of copying them. */
function givenAway(message: WorkerReply): ArrayBuffer[] {
  if (message.type !== 'answer' || !('data' in message.answer)) return [];
  return [message.answer.data.buffer as ArrayBuffer];
}

/** Requests that have arrived and not begun. */
class Inbox {
  readonly #waiting: WorkerRequest[] = [];
  readonly #grammars = new Map<Language, WasmCode>();

  take(request: WorkerRequest): void {
    if (request.grammar !== undefined) this.#grammars.set(request.language, request.grammar);
    this.#waiting.push(request);
  }

  /** Questions come before extractions, also before earlier ones. */
  next(): WorkerRequest | undefined {
    for (let sent = receiveMessageOnPort(port); sent !== undefined; sent = receiveMessageOnPort(port))
      this.take(sent.message);
    const question = this.#waiting.findIndex(({ hits }) => hits !== undefined);
    const [request] = this.#waiting.splice(Math.max(question, 0), 1);
    return request && { ...request, grammar: this.#grammars.get(request.language) };
  }
}

/** Undefined when the grammar does not load. */
function answerTo(engine: Engine, request: WorkerRequest): Answer | undefined {
  const { language, grammar } = request;
  if (language === 'swift') return scanText(request);
  let loaded: LoadedLanguage;
  try {
    loaded = engine.load(language, grammar);
  } catch (error) {
    reply({ type: 'broken', message: String(error) });
    return undefined;
  }
  return readTree(engine, loaded, request);
}

function serve(engine: Engine, inbox: Inbox): void {
  for (let request = inbox.next(); request !== undefined; request = inbox.next()) {
    Atomics.store(current, 0, request.id);
    const answer = answerTo(engine, request);
    freeBytes(request.source);
    if (answer === undefined) return; // the pool ends this thread
    reply({ type: 'answer', id: request.id, answer, memoryBytes: engine.memoryBytes() });
  }
}

try {
  const engine = await Engine.start(code);
  const inbox = new Inbox();
  port.on('message', (request: WorkerRequest) => {
    inbox.take(request);
    serve(engine, inbox);
  });
  reply({ type: 'ready' });
} catch (error) {
  reply({ type: 'broken', message: String(error) });
}
