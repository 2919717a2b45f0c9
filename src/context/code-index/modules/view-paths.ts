import { normalize } from 'node:path';
import type { View } from '../tree/view.ts';

const MOST_BY_END = 20;
const MAX_CHARACTERS = 200_000;

type ReadFile = (path: string) => Uint8Array | undefined;

/** The paths of a worktree, as the rules of imports look for them. */
export class ViewPaths {
  readonly all: readonly string[];
  readonly #view: View;
  readonly #read: ReadFile;
  #byName: Map<string, string[]> | undefined;

  constructor(view: View, read: ReadFile) {
    this.#view = view;
    this.all = view.paths;
    this.#read = read;
  }

  has(path: string): boolean {
    return this.#view.files.has(path);
  }

  /** The first of these that there is. */
  first(paths: readonly string[]): string[] {
    const found = paths.find((path) => this.has(path));
    return found === undefined ? [] : [found];
  }

  named(name: string): readonly string[] {
    this.#byName ??= Map.groupBy(this.all, nameOf);
    return this.#byName.get(name) ?? [];
  }

  /** Files whose path ends with this, by whole names. */
  endingWith(end: string): string[] {
    const clean = normalize(end);
    const alike = this.named(nameOf(clean));
    return alike.filter((path) => path === clean || path.endsWith(`/${clean}`)).slice(0, MOST_BY_END);
  }

  text(path: string): string {
    const bytes = this.#read(path);
    return bytes === undefined ? '' : new TextDecoder().decode(bytes).slice(0, MAX_CHARACTERS);
  }

  /** Undefined: it holds no JSON object. Comments and trailing commas, which tsconfig allows, are passed over. */
  json(path: string): Record<string, unknown> | undefined {
    const text = this.text(path).replace(
      /("(?:\\.|[^"\\])*"?)|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g,
      (_, string) => string ?? '',
    );
    try {
      const parsed: unknown = JSON.parse(text.replace(/,(\s*[}\]])/g, '$1'));
      return isRecord(parsed) ? parsed : undefined;
    } catch {
      return undefined;
    }
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
