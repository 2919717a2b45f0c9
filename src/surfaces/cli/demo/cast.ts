import { fileURLToPath } from 'node:url';
import type { Colour } from '../render/style.ts';

export interface Actor {
  name: string;
  agent: string;
  task: string;
  colour: Colour;
}

const script = (name: string) => `scripted:${fileURLToPath(new URL(`./${name}.yaml`, import.meta.url))}`;

/** Three real processes that play a script: no model, no key, no network. */
export const cast: Actor[] = [
  { name: 'writer', agent: script('writer'), task: 'Greet in French too, with a test', colour: 'green' },
  { name: 'asker', agent: script('asker'), task: 'Write the release notes', colour: 'yellow' },
  { name: 'checker', agent: script('failer'), task: 'Check the links of the documentation', colour: 'red' },
];
