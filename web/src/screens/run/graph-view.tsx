import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { RunView } from '../../../../src/protocol/workflow.ts';
import { blockName, plain } from '../../format.ts';
import { navigate } from '../../router.ts';
import { type Box, draw, type Edge, END } from './layout.ts';
import { edgeKey, type Lit, type Step, sayStatus, signalName } from './walk.ts';

interface GraphProps {
  view: RunView;
  /** The whole way. */
  steps: readonly Step[];
  /** As much of it as is looked at. */
  lit: Lit;
  chosen: string | undefined;
  hrefOf: (block: string) => string;
}

/** Narrower than that its words cannot be read: it scrolls instead. */
const LEAST_WIDTH = 420;

/** The workflow, lit as far as the run has come. The list below it says the same in words. */
export function GraphView({ view, steps, lit, chosen, hrefOf }: GraphProps) {
  const taken = [...new Set(steps.map(({ block, from }) => edgeKey(from?.block ?? '', block)))].sort().join();
  const drawing = useMemo(() => draw(view, steps), [view.graph.blocks.join(), view.graph.transitions.length, taken]);
  const isOver = view.outcome === 'success' && lit.newest === undefined;
  return (
    <Scroller chosen={chosen}>
      {/* biome-ignore lint/a11y/noSvgWithoutTitle: its section is named, and a title would hang over all of it. */}
      <svg
        class="workflow"
        viewBox={`0 0 ${drawing.width} ${drawing.height}`}
        width={drawing.width}
        style={{ minInlineSize: `${Math.min(drawing.width, LEAST_WIDTH)}px` }}
      >
        <Arrows />
        {drawing.edges.map((edge) => (
          <Wire key={edge.key} edge={edge} lit={lit} isEnd={isOver && endsAt(edge, steps)} />
        ))}
        {drawing.edges.map((edge) => (
          <Label key={edge.key} edge={edge} isLit={isTaken(edge, lit) || (isOver && endsAt(edge, steps))} />
        ))}
        {drawing.boxes.map((box) =>
          box.id === END ? (
            <End key={box.id} box={box} isLit={isOver} isAlone={view.graph.transitions.every(({ back }) => !back)} />
          ) : (
            <Block key={box.id} box={box} lit={lit} isChosen={chosen === box.id} href={hrefOf(box.id)} />
          ),
        )}
      </svg>
    </Scroller>
  );
}

/** Wider than the window, it scrolls by itself, with what is chosen in sight. */
function Scroller({ chosen, children }: { chosen: string | undefined; children: ComponentChildren }) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    const scroller = box.current;
    const block = scroller?.querySelector('[aria-current]')?.getBoundingClientRect();
    if (!scroller || !block) return;
    const { left, width } = scroller.getBoundingClientRect();
    scroller.scrollLeft += block.left + block.width / 2 - left - width / 2;
  }, [chosen]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard.
    <section class="workflow-box" ref={box} tabIndex={0} aria-label="Graph">
      {children}
    </section>
  );
}

const isTaken = ({ key }: Edge, lit: Lit) => lit.edges.has(key);

/** It left the graph there, with that signal. */
function endsAt({ from, to, signals }: Edge, steps: readonly Step[]): boolean {
  const last = steps.at(-1);
  if (to !== END || last?.block !== from) return false;
  return last.signal === undefined || signals.includes(signalName(last.signal));
}

const ARROWS = ['planned', 'taken', 'newest'] as const;

function Arrows() {
  return (
    <defs>
      {ARROWS.map((kind) => (
        <marker
          key={kind}
          id={`arrow-${kind}`}
          class={`arrow ${kind}`}
          viewBox="0 0 8 8"
          refX="6.5"
          refY="4"
          markerUnits="userSpaceOnUse"
          markerWidth="9"
          markerHeight="9"
          orient="auto"
        >
          <path d="M0.500 0.800 7 4 0.500 7.200z" />
        </marker>
      ))}
    </defs>
  );
}

function Wire({ edge, lit, isEnd }: { edge: Edge; lit: Lit; isEnd: boolean }) {
  const kind = edge.key === lit.newest ? 'newest' : isTaken(edge, lit) || isEnd ? 'taken' : 'planned';
  return <path class={`wire ${kind}`} d={edge.line} marker-end={`url(#arrow-${kind})`} />;
}

function Label({ edge: { label }, isLit }: { edge: Edge; isLit: boolean }) {
  if (!label) return null;
  return (
    <text class={`signal${isLit ? ' taken' : ''}`} x={label.x} y={label.y} dy="0.32em">
      {plain(label.text)}
    </text>
  );
}

function End({ box, isLit, isAlone }: { box: Box; isLit: boolean; isAlone: boolean }) {
  const { x, y, width, height } = box;
  return (
    <g
      class={`terminal${isLit ? ' tone-good' : ' tone-calm'}`}
      transform={`translate(${x - width / 2} ${y - height / 2})`}
    >
      <rect width={width} height={height} rx={height / 2} />
      <text x={width / 2} y={height / 2} dy="0.34em">
        {isAlone ? 'Done' : 'Return'}
      </text>
    </g>
  );
}

const LONGEST_NAME = 21;
const shortened = (name: string) => (name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name);

interface BlockProps {
  box: Box;
  lit: Lit;
  isChosen: boolean;
  href: string;
}

function Block({ box, lit, isChosen, href }: BlockProps) {
  const { status, visits } = lit.blocks.get(box.id) ?? { status: 'pending' as const, visits: 0 };
  const { tone, text } = sayStatus(status);
  const { name, node } = blockName(box.id);
  const shown = [shortened(name), shortened(node.replaceAll('_', ' '))].map(plain);
  const times = visits > 1 ? ` ×${visits}` : '';
  return (
    <g transform={`translate(${box.x - box.width / 2} ${box.y - box.height / 2})`}>
      <a
        class={`block is-${status} tone-${tone}`}
        href={href}
        aria-label={`${shown.join(' ')}${times}: ${text}`}
        aria-current={isChosen ? 'true' : undefined}
        onClick={(event) => {
          event.preventDefault();
          navigate(href, 'replace');
        }}
      >
        <title>{plain(box.id)}</title>
        <rect class="shape" width={box.width} height={box.height} rx="12" />
        <circle class="light" cx="17" cy="20" r="4.5" />
        <text class="name" x="30" y="24.5">
          {shown[0]}
        </text>{' '}
        <text class="node" x="30" y="43">
          {shown[1]}
        </text>{' '}
        {visits > 1 && (
          <text class="times" x={box.width - 14} y="43">
            {times.trim()}
          </text>
        )}
      </a>
    </g>
  );
}
