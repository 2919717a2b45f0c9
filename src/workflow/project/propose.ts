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
import type { FindToolchain, ProjectFolder, Suggestion, Toolchain } from './toolchain.ts';

/** A command that was found and not taken. */
export interface Alternative extends Suggestion {
  toolchain: string;
  for: Gate | 'setup';
}

export interface Proposal {
  /** Those whose commands are taken come first. */
  toolchains: string[];
  gates: Partial<Record<Gate, Suggestion>>;
  setup?: Suggestion;
  alternatives: Alternative[];
  /** What else the person who decides should know. */
  notes: string[];
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
  const taken = takenOf(found);
  const gates = GATES.flatMap((gate) => {
    const first = taken.find((each) => each.gates[gate] !== undefined)?.gates[gate];
    return first ? [[gate, first] as const] : [];
  });
  const setup = taken.find((each) => each.setup !== undefined)?.setup;
  const all = [...taken, ...found.filter((each) => !taken.includes(each))];
  const chosen = new Set([...gates.map(([, suggestion]) => suggestion), setup]);
  return {
    toolchains: all.map(({ name }) => name),
    gates: Object.fromEntries(gates),
    alternatives: all
      .flatMap(commandsOf)
      .filter(({ suggestion }) => !chosen.has(suggestion))
      .map(toAlternative),
    notes: all.flatMap(({ notes = [] }) => notes),
    leaves: [...new Set(found.flatMap(({ leaves }) => leaves))],
    ...(setup && { setup }),
  };
}

/** One language, and what runs commands for any. Mixed gates would judge half of one project and half of another. */
function takenOf(found: readonly Toolchain[]): Toolchain[] {
  const languages = found.filter(({ isRunner }) => !isRunner);
  const rank = ({ gates, isAside }: Toolchain) => (gates.test ? 2 : 0) + (isAside ? 0 : 1);
  const best = Math.max(...languages.map(rank));
  const main = languages.find((each) => rank(each) === best);
  const taken = found.filter((each) => each.isRunner || each === main);
  return main?.isAside ? taken.sort((a, b) => Number(a === main) - Number(b === main)) : taken;
}

function commandsOf({ name, gates, spare = [], setup }: Toolchain) {
  const own = GATES.flatMap((gate) => (gates[gate] ? [[gate, gates[gate]] as const] : []));
  const all = [...(setup ? [['setup', setup] as const] : []), ...own, ...spare];
  return all.map(([wish, suggestion]) => ({ name, wish, suggestion }));
}

function toAlternative({ name, wish, suggestion }: ReturnType<typeof commandsOf>[number]): Alternative {
  return { toolchain: name, for: wish, command: suggestion.command, because: suggestion.because };
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
    alternatives: proposal.alternatives.map((each) => ({ ...each, ...below(each) })),
    leaves: proposal.leaves.map((name) => `${folder}/${name}`),
    ...(proposal.setup && { setup: below(proposal.setup) }),
  };
}
