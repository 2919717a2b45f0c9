import type { AgentEvent } from '../../../../src/protocol/events.ts';
import type { Usage } from '../../../../src/protocol/jobs.ts';
import { count } from '../../format.ts';
import { Empty } from '../../widgets/empty.tsx';

interface Turn {
  n: number;
  fresh: number;
  cached: number;
  output: number;
}

/** What each turn used: the events tell sums. */
function turnsOf(events: readonly AgentEvent[]): Turn[] {
  const sums = events.flatMap((event) =>
    event.type === 'completed' && event.payload.scope === 'turn' ? [event.payload.usage] : [],
  );
  return sums.map((sum, at) => {
    const before = sums[at - 1];
    const grew = (kind: 'input' | 'output' | 'cacheRead' | 'cacheWrite') =>
      Math.max(0, sum[kind] - (before?.[kind] ?? 0));
    return { n: at + 1, fresh: grew('input') + grew('cacheWrite'), cached: grew('cacheRead'), output: grew('output') };
  });
}

const KINDS = [
  { kind: 'output', title: 'Written' },
  { kind: 'fresh', title: 'Read' },
  { kind: 'cached', title: 'Read from the cache' },
] as const;

const WIDTH = 720;
const HEIGHT = 180;
/** More bars than that are thinner than a pixel on a phone. */
const MOST = 120;

/** Tokens of each turn as stacked bars, and the same as a table. */
export function TokensPlot({ events, total, id }: { events: readonly AgentEvent[]; total: Usage; id: string }) {
  const turns = turnsOf(events).slice(-MOST);
  if (turns.length === 0) return <Empty title="No turn is over yet" command={`reef status ${id}`} />;
  const highest = Math.max(...turns.map(({ fresh, cached, output }) => fresh + cached + output), 1);
  const step = WIDTH / turns.length;
  const bar = Math.min(step * 0.72, 48);
  return (
    <figure class="plot">
      <figcaption class="legend">
        {KINDS.map(({ kind, title }) => (
          <span key={kind} class={`of-${kind}`}>
            {title}
          </span>
        ))}
        <span class="hint">highest {count(highest)} tokens</span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label="Tokens of each turn">
        {turns.map((turn, at) => {
          const x = at * step + (step - bar) / 2;
          let top = HEIGHT;
          return (
            <g key={turn.n}>
              <title>{`Turn ${turn.n}: ${KINDS.map(({ kind, title }) => `${title} ${count(turn[kind])}`).join(', ')}`}</title>
              {KINDS.map(({ kind }) => {
                const height = (turn[kind] / highest) * (HEIGHT - 4);
                top -= height;
                return <rect key={kind} class={`of-${kind}`} x={x} y={top} width={bar} height={height} />;
              })}
            </g>
          );
        })}
      </svg>
      <details>
        <summary>As a table</summary>
        <table>
          <thead>
            <tr>
              <th>Turn</th>
              {KINDS.map(({ kind, title }) => (
                <th key={kind} class="to-the-right">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {turns.map((turn) => (
              <tr key={turn.n}>
                <td>{turn.n}</td>
                {KINDS.map(({ kind }) => (
                  <td key={kind} class="to-the-right">
                    {turn[kind].toLocaleString()}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
        <p class="hint">
          All of it: {total.input.toLocaleString()} read, {total.output.toLocaleString()} written,{' '}
          {total.cacheRead.toLocaleString()} from the cache.
        </p>
      </details>
    </figure>
  );
}
