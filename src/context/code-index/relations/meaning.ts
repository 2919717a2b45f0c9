import type { Found } from '../query/definitions.ts';
import type { Source } from './sources.ts';

/** What a name means where it stands. */
export interface Entity {
  definitions: readonly Found[];
  /** Files of a module or package, whose names come behind a dot. */
  modules: readonly string[];
  isSure: boolean;
}

/** `elsewhere`: surely nothing of this repository. `unknown`: the text does not say what it is. */
export type Meaning = Entity | 'elsewhere' | 'unknown';

export interface Place {
  source: Source;
  name: string;
  index: number;
  line: number;
}

export function entity(definitions: readonly Found[], isSure = true): Entity {
  return { definitions, modules: [], isSure };
}

export function modulesEntity(modules: readonly string[]): Entity {
  return { definitions: [], modules, isSure: true };
}
