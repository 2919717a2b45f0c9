import type { GateVerdict } from './workflow.ts';

/** Whether a gate's verdict stops a merge: a failure does, unless it does not block or brings nothing new. In a file of its own, so that commands need not load the schemas. */
export function stopsMerge({
  result,
  blocks,
  compared,
}: Pick<GateVerdict, 'blocks' | 'compared'> & { result: string }): boolean {
  return result === 'failed' && blocks !== false && compared?.fresh.length !== 0;
}
