import type { SandboxKind } from '../../protocol/jobs.ts';

/** In words, and for a column. */
const WORDS: Record<SandboxKind, readonly [string, string]> = {
  bubblewrap: ['in a sandbox', 'yes'],
  agent: ["in the agent's own sandbox", 'own'],
  none: ['without a sandbox', 'no'],
};

export function sandboxWords(kind: string): string | undefined {
  return WORDS[kind as SandboxKind]?.[0];
}

export function sandboxShort(kind: SandboxKind): string {
  return WORDS[kind][1];
}
