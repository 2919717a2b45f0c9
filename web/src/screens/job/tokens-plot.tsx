import type { AgentEvent } from '../../../../src/protocol/events.ts';
import type { Usage } from '../../../../src/protocol/jobs.ts';
import { count } from '../../format.ts';
import { Empty } from '../../widgets/empty.tsx';
import { Columns } from '../../widgets/plot.tsx';

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

/** More bars than that are thinner than a pixel on a phone. */
const MOST = 120;

/** Tokens of each turn as stacked bars, and the same as a table. */
export function TokensPlot({ events, total: used, id }: { events: readonly AgentEvent[]; total: Usage; id: string }) {
  const turns = turnsOf(events).slice(-MOST);
  if (turns.length === 0) return <Empty title="No turn is over yet" command={`reef status ${id}`} />;
  const total = ({ fresh, cached, output }: Turn) => fresh + cached + output;
  const bars = turns.map((turn) => ({
    key: `${turn.n}`,
    name: turn.n,
    words: `Turn ${turn.n}: ${KINDS.map(({ kind, title }) => `${title} ${count(turn[kind])}`).join(', ')}`,
    amount: count(total(turn)),
    parts: KINDS.map(({ kind }) => ({ kind, value: turn[kind] })),
  }));
  return (
    <div class="plots">
      <Columns
        label="Tokens of each turn"
        bars={bars}
        legend={KINDS.map(({ kind, title }) => [kind, title] as const)}
        hint={`highest ${count(Math.max(...turns.map(total)))} tokens`}
      />
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
          All of it: {used.input.toLocaleString()} read, {used.output.toLocaleString()} written,{' '}
          {used.cacheRead.toLocaleString()} from the cache.
        </p>
      </details>
    </div>
  );
}
