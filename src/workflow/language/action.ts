import { isName, parseBlockId } from './names.ts';

export type Action =
  | { do: 'jump'; to: string }
  | { do: 'call'; node: string; returnTo?: string }
  | { do: 'return' }
  | { do: 'halt' }
  | { do: 'fork'; nodes: string[]; joinTo?: string };

const MOST_BRANCHES = 16;

/**
 * `JUMP:` block or node, `CALL:` node [`:` block], `RETURN`, `HALT_AND_FLAG`, `FORK:` node `,` node … [`:` block]. No
 * blanks, case-sensitive.
 */
export function parseAction(text: string): Action | { error: string } {
  if (text === 'RETURN') return { do: 'return' };
  if (text === 'HALT_AND_FLAG') return { do: 'halt' };
  const [verb = '', target = '', third, ...rest] = text.split(':');
  if (rest.length > 0) return { error: 'has more than three fields' };
  if (verb === 'JUMP') return parseJump(target, third);
  if (verb === 'CALL') return withBlock(parseCall(target), 'returnTo', third);
  if (verb === 'FORK') return withBlock(parseFork(target), 'joinTo', third);
  return { error: 'is not one of JUMP, CALL, RETURN, HALT_AND_FLAG, FORK' };
}

function parseJump(target: string, third: string | undefined): Action | { error: string } {
  if (third !== undefined) return { error: 'has a field too many for JUMP' };
  if (!isName(target) && !parseBlockId(target))
    return { error: `jumps to "${target}", which is not a block or node name` };
  return { do: 'jump', to: target };
}

function parseCall(node: string): Extract<Action, { do: 'call' }> | { error: string } {
  return isName(node) ? { do: 'call', node } : { error: `calls "${node}", which is not a node name` };
}

function parseFork(list: string): Extract<Action, { do: 'fork' }> | { error: string } {
  const nodes = list.split(',');
  const wrong = nodes.find((node) => !isName(node));
  if (wrong !== undefined) return { error: `forks to "${wrong}", which is not a node name` };
  if (nodes.length < 2 || nodes.length > MOST_BRANCHES) return { error: `forks to ${nodes.length} nodes, not 2 to 16` };
  return { do: 'fork', nodes };
}

function withBlock(
  action: Action | { error: string },
  field: 'returnTo' | 'joinTo',
  block: string | undefined,
): Action | { error: string } {
  if (block === undefined || 'error' in action) return action;
  if (!parseBlockId(block)) return { error: `names "${block}" as third field, which is not a block id` };
  return { ...action, [field]: block };
}

/** The blocks and nodes that an action names. */
export function actionTargets(action: Action): string[] {
  switch (action.do) {
    case 'jump':
      return [action.to];
    case 'call':
      return action.returnTo === undefined ? [action.node] : [action.node, action.returnTo];
    case 'fork':
      return action.joinTo === undefined ? action.nodes : [...action.nodes, action.joinTo];
    default:
      return [];
  }
}
