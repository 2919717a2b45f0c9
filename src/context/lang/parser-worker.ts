import { parentPort, workerData } from 'node:worker_threads';
import { plainExpansions } from './bash-expansions.ts';
import { classifyHits } from './classify.ts';
import type { FileFacts, Language, PackedFacts } from './contract.ts';
import { decodeSource } from './decode-source.ts';
import { Engine, type LoadedLanguage } from './engine.ts';
import type { EngineCode } from './engine-code.ts';
import { readFacts } from './facts.ts';
import { endMembers } from './kotlin-bodies.ts';
import { blankMacros } from './macro-blanking.ts';
import { packFacts } from './pack-facts.ts';
import { classifySwift, scanSwift } from './swift-scanner.ts';
import { timeBound } from './time-bound.ts';
import type { Answer, WorkerReply, WorkerRequest } from './worker-messages.ts';

/** The thread that parses. What throws while it reads a file ends it: after a trap the WASM memory is not to be trusted. */

const reply = (message: WorkerReply) => parentPort?.postMessage(message, givenAway(message));

/** Bytes change their owner instead of being copied. */
function givenAway(message: WorkerReply): ArrayBuffer[] {
  if (message.type !== 'answer' || !('data' in message.answer)) return [];
  return [message.answer.data.buffer as ArrayBuffer];
}

function pack(facts: FileFacts): PackedFacts {
  return { data: packFacts(facts), partial: facts.partial };
}

async function loadOrSay<T>(load: () => Promise<T>): Promise<T | undefined> {
  try {
    return await load();
  } catch (error) {
    reply({ type: 'broken', message: String(error) });
    return undefined;
  }
}

function readTree(engine: Engine, loaded: LoadedLanguage, request: WorkerRequest): Answer {
  const text = decodeSource(request.source);
  const tree = engine.parse(readable(text, request.language), loaded, timeBound(request.parseMs));
  if (tree === undefined) return { skipped: 'timeout' };
  try {
    const { language, hits, parseMs } = request;
    // Patterns half matched at every depth make a query, too, slow on what is nested ten thousand deep.
    const source = { text, language, root: tree.rootNode, isLate: timeBound(parseMs) };
    const answer =
      hits === undefined
        ? pack(readFacts({ ...source, query: loaded.definitions }))
        : classifyHits({ ...source, ...loaded }, hits);
    return source.isLate() ? { skipped: 'timeout' } : answer;
  } finally {
    tree.delete();
  }
}

/** What a grammar cannot read is shown to it otherwise, character for character. */
function readable(text: string, language: Language): string {
  if (language === 'bash') return plainExpansions(text);
  return language === 'kotlin' ? endMembers(text) : blankMacros(text, language);
}

function scan({ source, hits }: WorkerRequest): Answer {
  const text = decodeSource(source);
  return hits === undefined ? pack(scanSwift(text)) : classifySwift(text, hits);
}

async function serve(engine: Engine, request: WorkerRequest): Promise<void> {
  const memoryBytes = () => engine.memoryBytes();
  const { language } = request;
  if (language === 'swift') return reply({ type: 'answer', answer: scan(request), memoryBytes: memoryBytes() });
  const loaded = await loadOrSay(() => engine.load(language));
  if (loaded === undefined) return;
  const answer = readTree(engine, loaded, request);
  reply({ type: 'answer', answer, memoryBytes: memoryBytes() });
}

const engine = await loadOrSay(() => Engine.start(workerData as EngineCode));
if (engine !== undefined) {
  parentPort?.on('message', (request: WorkerRequest) => serve(engine, request));
  reply({ type: 'ready' });
}
