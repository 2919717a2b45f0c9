import { readFileSync } from 'node:fs';
import { checkLayer } from '../config/check-layer.ts';
import { type ConfigProblem, isProblem, isRecord, parseSource } from '../config/settings-file.ts';
import { rowOfKey } from './loki-table.ts';

export interface Note {
  path: string;
  why: string;
}

export interface ConfigNotes {
  /** In effect, and not quite as in Loki. */
  differs: Note[];
  notUsed: Note[];
}

type Path = readonly PropertyKey[];

/** What a person who comes from Loki has to know about the settings in a `config.yaml`, and what is wrong in it. */
export function configNotes(file: string): ConfigNotes & { problems: Note[] } {
  const source = parseSource(file, readFileSync(file, 'utf8'));
  if (isProblem(source)) return { differs: [], notUsed: [], problems: [problemNote(source)] };
  const { problems, warnings } = checkLayer(source);
  const notes: ConfigNotes = { differs: [], notUsed: [] };
  const add = (line: number | undefined, why: string, isUsed: boolean) =>
    notes[isUsed ? 'differs' : 'notUsed'].push({ path: `config.yaml:${line ?? '?'}`, why });
  const told = new Set<string>();
  for (const { key, path } of settingsIn(source.value)) {
    const row = rowOfKey('config.yaml', key);
    const isWarnedAbout = warnings.some(({ message }) => message.startsWith(`${key} `));
    if (row?.differs === undefined || isWarnedAbout) continue;
    told.add(path.join('.'));
    add(source.lineOf(path), `${key}: ${row.differs}`, row.loads);
  }
  for (const { line, message } of warnings)
    if (!told.has(message.split(' ')[0] ?? '')) add(line, message, message.endsWith('and is in effect'));
  return { ...notes, problems: problems.map(problemNote) };
}

const problemNote = ({ line, path, expected, found }: ConfigProblem): Note => ({
  path: 'config.yaml',
  why: `line ${line ?? '?'}: ${path}: expected ${expected}, found ${found}`,
});

/** The settings that have a value, as the table names them: `clients[].models[].patch`, and `clients[].type: cohere`. */
export function* settingsIn(value: unknown): Generator<{ key: string; path: Path }> {
  if (!isRecord(value)) return;
  for (const [key, setting] of Object.entries(value)) if (setting !== null) yield { key, path: [key] };
  const clients = Array.isArray(value.clients) ? value.clients : [];
  for (const [at, client] of clients.entries()) {
    if (!isRecord(client)) continue;
    yield* keysIn(client, 'clients[].', ['clients', at]);
    yield { key: `clients[].type: ${String(client.type)}`, path: ['clients', at, 'type'] };
    yield* keysIn(client.extra, 'clients[].extra.', ['clients', at, 'extra']);
    const models = Array.isArray(client.models) ? client.models : [];
    for (const [n, model] of models.entries())
      yield* keysIn(model, 'clients[].models[].', ['clients', at, 'models', n]);
  }
}

function* keysIn(value: unknown, prefix: string, path: Path): Generator<{ key: string; path: Path }> {
  if (!isRecord(value)) return;
  for (const [key, setting] of Object.entries(value))
    if (setting !== null) yield { key: `${prefix}${key}`, path: [...path, key] };
}
