import { GATES, type Gate } from '../../protocol/workflow.ts';
import {
  findDeno,
  findDotnet,
  findElixir,
  findGo,
  findJust,
  findJvm,
  findMake,
  findPython,
  findRuby,
  findRust,
} from './languages.ts';
import { findNode } from './node.ts';
import type { FindToolchain, ProjectFolder, Suggestion } from './toolchain.ts';

export interface Proposal {
  toolchains: string[];
  gates: Partial<Record<Gate, Suggestion>>;
  setup?: Suggestion;
  leaves: string[];
}

/** What the project itself says goes before what its language suggests. Scripts come first, as in a run. */
const FINDERS: readonly FindToolchain[] = [
  ...[findNode, findMake, findJust, findRust, findGo, findPython],
  ...[findJvm, findDotnet, findRuby, findElixir, findDeno],
];

/** Commands for gates and set-up, each with its reason. It only reads. */
export async function proposeProject(folder: ProjectFolder): Promise<Proposal> {
  const found = (await Promise.all(FINDERS.map((find) => find(folder)))).filter((each) => each !== undefined);
  const gates = GATES.flatMap((gate) => {
    const first = found.find((each) => each.gates[gate] !== undefined)?.gates[gate];
    return first ? [[gate, first] as const] : [];
  });
  const setup = found.find((each) => each.setup !== undefined)?.setup;
  return {
    toolchains: found.map(({ name }) => name),
    gates: Object.fromEntries(gates),
    leaves: [...new Set(found.flatMap(({ leaves }) => leaves))],
    ...(setup && { setup }),
  };
}

/** The same for a folder below the root: gates and set-up run at the root of a worktree. */
export function proposalBelow(proposal: Proposal, folder: string): Proposal {
  const below = ({ command, because }: Suggestion): Suggestion => ({
    command: ['sh', '-c', 'cd "$0" && PATH="$PWD/node_modules/.bin:$PATH" exec "$@"', folder, ...command],
    because: `${because}, in ${folder}`,
  });
  const gates = Object.entries(proposal.gates).map(([gate, suggestion]) => [gate, below(suggestion)]);
  return {
    ...proposal,
    gates: Object.fromEntries(gates),
    leaves: proposal.leaves.map((name) => `${folder}/${name}`),
    ...(proposal.setup && { setup: below(proposal.setup) }),
  };
}
