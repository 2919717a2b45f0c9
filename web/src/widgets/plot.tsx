import type { ComponentChildren } from 'preact';

/** A part of a bar. Its colour is that of the class `of-…` with this name, in the legend as well. */
export interface Part {
  kind: string;
  value: number;
}

export interface Bar {
  key: string;
  /** What it is, beside a lying bar. */
  name: ComponentChildren;
  /** All of it in words, for those who do not see it. */
  words: string;
  /** Its whole, as a glance takes it: 1.2k, unknown. */
  amount: string;
  parts: readonly Part[];
}

interface PlotProps {
  label: string;
  bars: readonly Bar[];
  legend?: readonly (readonly [kind: string, title: string])[];
  /** Said beside the legend, such as the highest of them. */
  hint?: ComponentChildren;
}

const sum = (parts: readonly Part[]) => parts.reduce((all, { value }) => all + value, 0);
const highestOf = (bars: readonly Bar[]) => Math.max(...bars.map(({ parts }) => sum(parts)), Number.MIN_VALUE);

function Legend({ legend = [], hint }: Pick<PlotProps, 'legend' | 'hint'>) {
  return (
    <div class="legend">
      {legend.map(([kind, title]) => (
        <span key={kind} class={`of-${kind}`}>
          {title}
        </span>
      ))}
      {hint !== undefined && <span class="hint">{hint}</span>}
    </div>
  );
}

const WIDTH = 720;
const HEIGHT = 180;

/** Bars side by side, for what has an order of its own: turns, days. */
export function Columns({ label, bars, legend, hint }: PlotProps) {
  const highest = highestOf(bars);
  const step = WIDTH / bars.length;
  const width = Math.min(step * 0.72, 48);
  return (
    <div class="plot">
      <Legend legend={legend ?? []} hint={hint} />
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
        {bars.map(({ key, words, parts }, at) => {
          let top = HEIGHT;
          return (
            <g key={key}>
              <title>{words}</title>
              {parts.map(({ kind, value }) => {
                const height = (value / highest) * (HEIGHT - 4);
                top -= height;
                const x = at * step + (step - width) / 2;
                return <rect key={kind} class={`of-${kind}`} x={x} y={top} width={width} height={height} />;
              })}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** Bars below each other, each beside its name: for what is compared. */
export function Bars({ label, bars, legend, hint }: PlotProps) {
  const highest = highestOf(bars);
  return (
    <div class="plot">
      <Legend legend={legend ?? []} hint={hint} />
      <ul class="bars" aria-label={label}>
        {bars.map(({ key, name, words, amount, parts }) => {
          let from = 0;
          return (
            <li key={key} title={words}>
              <span class="bar-name">{name}</span>
              <span class="number">{amount}</span>
              <svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
                {parts.map(({ kind, value }) => {
                  const x = from;
                  const width = (value / highest) * 100;
                  from += width;
                  return <rect key={kind} class={`of-${kind}`} x={x} width={width} height="1" />;
                })}
              </svg>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
