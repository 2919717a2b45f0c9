import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { connection } from '../../connection/connection.ts';
import { plain, plural } from '../../format.ts';
import { useOperation } from '../../store/use-operation.ts';
import { Empty } from '../../widgets/empty.tsx';
import { Refused } from '../../widgets/notice.tsx';
import { Facts, Page } from '../../widgets/page.tsx';
import { type Bar, Bars, Columns } from '../../widgets/plot.tsx';
import { Tabs } from '../../widgets/tabs.tsx';
import { type By, costWords, everyDay, nameOf, type Row, type Sum, TOKENS, tokenWords } from './sums.ts';

const WAYS: readonly { name: By; label: string }[] = [
  { name: 'agent', label: 'By agent' },
  { name: 'model', label: 'By model' },
  { name: 'day', label: 'By day' },
  { name: 'run', label: 'By run' },
];

const PERIODS = [
  { title: 'Of all time', days: 0 },
  { title: 'Of the last 24 hours', days: 1 },
  { title: 'Of the last 7 days', days: 7 },
  { title: 'Of the last 30 days', days: 30 },
] as const;

const daysAgo = (days: number) => (days > 0 ? { since: new Date(Date.now() - days * 86_400_000).toISOString() } : {});

/** What all jobs have used: each sum as a plot, and the same as a table. */
export function Usage() {
  const chosen = useSignal<string>('agent');
  const period = useSignal<{ since?: string }>({});
  const by = chosen.value as By;
  const choose = (wanted: { since?: string }) => {
    period.value = wanted;
  };
  return (
    <Page title="Usage" actions={<Period choose={choose} />}>
      <Tabs label="Summed up" chosen={chosen} tabs={WAYS}>
        <Sums key={`${by} ${period.value.since}`} by={by} {...period.value} />
      </Tabs>
    </Page>
  );
}

function Period({ choose }: { choose: (period: { since?: string }) => void }) {
  return (
    <select
      aria-label="Jobs that were started"
      onChange={({ currentTarget }) => choose(daysAgo(Number(currentTarget.value)))}
    >
      {PERIODS.map(({ title, days }) => (
        <option key={days} value={days}>
          {title}
        </option>
      ))}
    </select>
  );
}

function Totals({ totals }: { totals: Sum }) {
  const { jobs, unpriced } = totals;
  return (
    <div class="totals">
      <Facts
        facts={[
          ['Jobs', jobs.toLocaleString()],
          ['Tokens', tokenWords(totals)],
          ['Cost', costWords(totals)],
        ]}
      />
      {unpriced > 0 && (
        <p class="hint">
          {unpriced} of {plural(jobs, 'job')} {unpriced === 1 ? 'reports' : 'report'} no cost.
        </p>
      )}
    </div>
  );
}

/** Further ones stand in the table. */
const MOST_BARS = 12;

function Sums({ by, since }: { by: By; since?: string }) {
  const asked = useOperation('usage', { by, ...(since && { since }) }, ({ kind }) => kind === 'run');
  useEffect(() => connection.onEvent(({ type }) => type === 'completed' && asked.again()), []);
  const answer = asked.data.value;
  if (!answer) return <Refused error={asked.error.value} />;
  if (answer.rows.length === 0) return <NoJobs isEver={since === undefined} />;
  return (
    <div class="plots">
      <Refused error={asked.error.value} />
      <Totals totals={answer.totals} />
      <Plots by={by} rows={answer.rows} />
      <SumTable by={by} rows={answer.rows} />
      {answer.leftOut > 0 && <p class="hint">{plural(answer.leftOut, 'further row')} with fewer tokens left out.</p>}
    </div>
  );
}

function NoJobs({ isEver }: { isEver: boolean }) {
  return (
    <Empty title={isEver ? 'No job has run yet' : 'No job was started then'} command={'reef spawn claude "what to do"'}>
      Tokens and cost of every job are summed up here by agent, model, day and run.
    </Empty>
  );
}

function Plots({ by, rows }: { by: By; rows: readonly Row[] }) {
  const drawn = by === 'day' ? everyDay(rows) : rows.slice(0, MOST_BARS);
  const Plot = by === 'day' ? Columns : Bars;
  const range = by === 'day' && drawn.length > 1 ? `${drawn[0]?.key} to ${drawn.at(-1)?.key}` : undefined;
  const isPriced = rows.some(({ costUsd }) => costUsd !== null);
  return (
    <div class="usage-plots">
      <figure>
        <figcaption>Tokens</figcaption>
        <Plot
          label={`Tokens by ${by}`}
          bars={drawn.map((row) => tokenBar(by, row))}
          legend={TOKENS.map(({ kind, title }) => [kind, title] as const)}
          {...(range && { hint: range })}
        />
      </figure>
      <figure>
        <figcaption>Cost</figcaption>
        {isPriced ? (
          <Plot
            label={`Cost by ${by}`}
            bars={drawn.map((row) => costBar(by, row))}
            legend={[['cost', 'US dollars']]}
            {...(range && { hint: range })}
          />
        ) : (
          <p class="hint">Unknown: no agent has reported one.</p>
        )}
      </figure>
    </div>
  );
}

function tokenBar(by: By, row: Row): Bar {
  const parts = TOKENS.map(({ kind, of }) => ({ kind, value: of(row) }));
  const amount = tokenWords(row);
  return {
    key: row.key,
    name: <Name by={by} row={row} />,
    words: `${plain(nameOf(by, row))}: ${amount} tokens`,
    amount,
    parts,
  };
}

function costBar(by: By, row: Row): Bar {
  const parts = [{ kind: 'cost', value: row.costUsd ?? 0 }];
  const amount = costWords(row);
  return {
    key: row.key,
    name: <Name by={by} row={row} />,
    words: `${plain(nameOf(by, row))}: ${amount}`,
    amount,
    parts,
  };
}

function Name({ by, row }: { by: By; row: Row }) {
  const name = plain(nameOf(by, row));
  return by === 'run' && row.key !== '' ? <a href={`/runs/${row.key}`}>{name}</a> : <span>{name}</span>;
}

function SumTable({ by, rows }: { by: By; rows: readonly Row[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard.
    <section class="wide-table" aria-label="The same as a table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">
              {WAYS.find(({ name }) => name === by)?.label.replace(/^By ./, (start) => start.slice(-1).toUpperCase())}
            </th>
            <th scope="col" class="to-the-right">
              Jobs
            </th>
            {TOKENS.map(({ kind, title }) => (
              <th key={kind} scope="col" class="to-the-right">
                {title}
              </th>
            ))}
            <th scope="col" class="to-the-right">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.key}>
              <th scope="row">
                <Name by={by} row={row} />
              </th>
              <td class="to-the-right">{row.jobs.toLocaleString()}</td>
              {TOKENS.map(({ kind, of }) => (
                <td key={kind} class="to-the-right">
                  {row.partial && of(row) > 0 && '≥ '}
                  {of(row).toLocaleString()}
                </td>
              ))}
              <td class="to-the-right">{costWords(row)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
