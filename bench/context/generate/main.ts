import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeSet } from './make-set.ts';

/** Writes the shipped set: `node bench/context/generate/main.ts`. The same seeds give the same bytes. */
const dir = join(import.meta.dirname, '..', 'trajectories');
mkdirSync(dir, { recursive: true });
for (const name of readdirSync(dir)) if (name.endsWith('.jsonl')) rmSync(join(dir, name));
for (const [name, text] of makeSet()) writeFileSync(join(dir, name), text);
