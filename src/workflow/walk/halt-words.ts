/** The name of a block without that of its node, as people read it. */
export function shortName(block: string): string {
  return block.slice(block.indexOf('__') + 2);
}

interface Halted {
  block: string;
  signal: string;
  isAgent: boolean;
  /** What was wrong with the first answer of the agent. */
  fault: string | undefined;
  /** The agent ended with an error and gave no answer. */
  hasFailed: boolean;
}

/** Why a workflow leaves it to a person what follows, for somebody who has never read a workflow file. */
export function haltWords({ block, signal, isAgent, fault, hasFailed }: Halted): string {
  const name = shortName(block);
  const said = signal.replace(/^SIGNAL:/, '');
  if (said === 'SUCCESS') return `${name} is done, and the workflow asks you before it goes on.`;
  if (!isAgent) return said === 'FAILURE' ? `${name} failed.` : `${name} ended with ${said}.`;
  if (said === 'VALIDATION_FAIL') {
    const why = fault === undefined ? '' : ` Its first answer: ${fault}.`;
    return `The agent never reported a usable result for ${name}.${why} Continue?`;
  }
  if (hasFailed) return `The agent stopped with an error in ${name}.`;
  if (said === 'FAILURE') return `The agent says that it could not do ${name}.`;
  if (said === 'NO_CHANGES') return `The agent says that it has done ${name}, but it changed no file.`;
  return `The agent ended ${name} with ${said}, and the workflow leaves it to you what follows.`;
}
