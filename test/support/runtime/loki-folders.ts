import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../temporary-folder.ts';

const OURS = join(import.meta.dirname, '../../fixtures/runtime/loki-folder');
const REAL = process.env.REEF_LOKI_FOLDER;

/** Why a test of Loki's own files cannot run here. */
export const hasLoki = REAL !== undefined && existsSync(join(REAL, 'assets'));
export const NO_LOKI = "REEF_LOKI_FOLDER does not name a copy of Loki's own files";

/** A copy of our own folder in Loki's shape, which is there on every machine. */
export function ownLokiFolder(): string {
  const dir = join(temporaryFolder(), 'loki');
  cpSync(OURS, dir, { recursive: true });
  return dir;
}

/** A copy of Loki's own files as its users have them, with its four examples in place. */
export function realLokiFolder(): string {
  const dir = join(temporaryFolder(), 'loki');
  const real = REAL ?? '';
  cpSync(join(real, 'assets'), dir, { recursive: true });
  const examples = { 'config.example.yaml': 'config.yaml', 'config.agent.example.yaml': 'agents/example/config.yaml' };
  for (const [from, to] of Object.entries({
    ...examples,
    'config.role.example.md': 'roles/example.md',
    'config.macro.example.yaml': 'macros/example.yaml',
  })) {
    cpSync(join(real, from), join(dir, to), { recursive: true });
  }
  return dir;
}
