import { Graph, layout } from '@dagrejs/dagre';
import type { RunView } from '../../../../src/protocol/workflow.ts';
import { edgeKey, type Step, signalName } from './walk.ts';

/** Where a run ends well; no block of it. */
export const END = 'RETURN';
/** Every block leads there, so it is no place of the drawing: a block that halts turns amber itself. */
const HALT = 'HALT_AND_FLAG';

export interface Box {
  id: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Edge {
  key: string;
  from: string;
  to: string;
  /** The signals that lead along it. */
  signals: readonly string[];
  /** An SVG path. */
  line: string;
  label: { x: number; y: number; text: string } | undefined;
}

export interface Drawing {
  width: number;
  height: number;
  boxes: readonly Box[];
  edges: readonly Edge[];
}

const BLOCK = { width: 176, height: 58 };
const CIRCLE = { width: 58, height: 28 };
const LABEL_CHARACTER = 6.2;
const LONGEST_LABEL = 26;

interface Wire {
  from: string;
  to: string;
  signals: string[];
}

/** The workflow as it was planned, and below it every way that was taken besides: a RETURN leads back to its caller. */
function wiresOf({ graph }: RunView, steps: readonly Step[]): Wire[] {
  const wires = new Map<string, Wire>();
  const add = (from: string, to: string, signal: string) => {
    const wire = wires.get(edgeKey(from, to)) ?? { from, to, signals: [] };
    if (!wire.signals.includes(signal)) wire.signals.push(signal);
    wires.set(edgeKey(from, to), wire);
  };
  for (const { from, to, signal } of graph.transitions) if (to !== HALT) add(from, to, signalName(signal));
  for (const { block, from } of steps)
    if (from && from.block !== block && !wires.has(edgeKey(from.block, block)))
      add(from.block, block, from.signal === undefined ? '' : signalName(from.signal));
  return [...wires.values()];
}

function labelOf(signals: readonly string[]): string {
  const text = signals.filter(Boolean).join(', ');
  return text.length > LONGEST_LABEL ? `${text.slice(0, LONGEST_LABEL - 1)}…` : text;
}

/** Draws the blocks from top to bottom. */
export function draw(view: RunView, steps: readonly Step[]): Drawing {
  const wires = wiresOf(view, steps);
  const graph = new Graph({ multigraph: false });
  graph.setGraph({ rankdir: 'TB', nodesep: 28, ranksep: 32, edgesep: 18, marginx: 10, marginy: 10 });
  for (const block of view.graph.blocks) graph.setNode(block, { ...BLOCK });
  if (wires.some(({ to }) => to === END)) graph.setNode(END, { ...CIRCLE });
  for (const { from, to, signals } of wires) {
    if (!graph.hasNode(from) || !graph.hasNode(to)) continue;
    graph.setEdge(from, to, { width: labelOf(signals).length * LABEL_CHARACTER + 14, height: 18, labelpos: 'c' });
  }
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  const boxes = graph.nodes().map((id: string): Box => ({ id, ...(graph.node(id) as Omit<Box, 'id'>) }));
  const edges = wires.flatMap(({ from, to, signals }): Edge[] => {
    const edge = graph.edge(from, to) as { points: Point[]; x?: number; y?: number } | undefined;
    if (!edge) return [];
    const text = labelOf(signals);
    const label = text && edge.x !== undefined && edge.y !== undefined ? { x: edge.x, y: edge.y, text } : undefined;
    return [{ key: edgeKey(from, to), from, to, signals, line: curve(edge.points), label }];
  });
  return { width, height, boxes, edges };
}

interface Point {
  x: number;
  y: number;
}

/** Through the middle of each two points, bent towards the points: without corners. */
function curve(points: readonly Point[]): string {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  if (!first || !last) return '';
  const at = ({ x, y }: Point) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const middle = (a: Point, b: Point) => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
  const bends = rest.slice(0, -1).map((point, index) => {
    const next = rest[index + 1] ?? last;
    return `Q${at(point)} ${at(index === rest.length - 2 ? next : middle(point, next))}`;
  });
  return `M${at(first)} ${bends.length > 0 ? bends.join(' ') : `L${at(last)}`}`;
}
