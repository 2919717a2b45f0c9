import { LineIndex } from '../../base/line-index.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import { readJson } from './read-json.ts';
import { readYaml } from './read-yaml.ts';
import { offsetOf, type Position, positionAt, SourceFault, type SourceTree } from './source.ts';

const LARGEST_BYTES = 1024 * 1024;

export interface Source {
  value: Json;
  place(pointer: string): Position;
}

/** The text of a manifest with the place of every value. Refuses what is no document, by line and column. */
export function readSource(text: string, path: string): Source {
  if (Buffer.byteLength(text) > LARGEST_BYTES) {
    throw new ReefError('manifest_too_large', `${path} is larger than 1 MiB.`, { details: { path } });
  }
  const lines = new LineIndex(text);
  const { value, offsets } = parse(text, path, lines);
  return { value, place: (pointer) => positionAt(lines, offsetOf(offsets, pointer)) };
}

function parse(text: string, path: string, lines: LineIndex): SourceTree {
  try {
    return /\.ya?ml$/i.test(path) ? readYaml(text) : readJson(text);
  } catch (error) {
    if (!(error instanceof SourceFault)) throw error;
    const place = positionAt(lines, error.offset);
    throw new ReefError('invalid_json', `${path}:${place.line}:${place.column}: ${error.message}.`, {
      cause: error,
      details: { path, ...place },
    });
  }
}
