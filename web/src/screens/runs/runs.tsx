import { useSignal } from '@preact/signals';
import type { RunSummary } from '../../../../src/protocol/run-operations.ts';
import { blockName, firstLine, plain } from '../../format.ts';
import { runs } from '../../store/home.ts';
import { useOperation } from '../../store/use-operation.ts';
import { Badge, Dot } from '../../widgets/badge.tsx';
import { Empty } from '../../widgets/empty.tsx';
import { Filter } from '../../widgets/filter.tsx';
import { Refused } from '../../widgets/notice.tsx';
import { Page, Section } from '../../widgets/page.tsx';
import { Took } from '../../widgets/time.tsx';
import { WithTitles } from '../../widgets/with-titles.tsx';
import { sayRun } from '../now/words.ts';

const isOver = ({ status, merge, path }: RunSummary) =>
  merge === 'merged' ||
  status === 'failure' ||
  status === 'aborted' ||
  status === 'broken' ||
  (status === 'success' && path === null);

/** Every run, the open ones first. */
export function Runs() {
  const all = useOperation('runs', { all: true }, ({ kind }) => kind === 'run');
  const words = useSignal('');
  const known = all.data.value?.runs ?? (runs.value.length > 0 ? runs.value : undefined);
  if (!known) return <Refused error={all.error.value} />;
  const found = known.filter((run) => matches(run, words.value));
  const groups = [
    { title: 'Open', runs: found.filter((run) => !isOver(run)) },
    { title: 'Ended', runs: found.filter(isOver) },
  ];
  return (
    <Page title="Runs" actions={known.length > 0 && <Filter what="runs" words={words} />}>
      {known.length === 0 && (
        <Empty title="No workflow has run yet" command={'reef run "what should be done"'}>
          A run takes a task through a workflow: an agent writes, the gates of the project judge, and what fails goes
          back.
        </Empty>
      )}
      {known.length > 0 && found.length === 0 && <p class="hint">No run is like that.</p>}
      {groups.map(
        ({ title, runs: listed }) =>
          listed.length > 0 && (
            <Section key={title} title={title} amount={listed.length}>
              <ul class="rows-list">
                {listed.map((run) => (
                  <Row key={run.runId} run={run} />
                ))}
              </ul>
            </Section>
          ),
      )}
    </Page>
  );
}

function matches({ task, workflow, worktree, status, block }: RunSummary, words: string): boolean {
  const text = [task, workflow, worktree, status, block].join(' ').toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function Row({ run }: { run: RunSummary }) {
  const said = sayRun(run);
  const isAtWork = run.status === 'running' && run.merge !== 'merged';
  const because = isOver(run) ? undefined : run.because;
  return (
    <li class={`list-row tone-${said.tone}`} data-item>
      <div class="list-main">
        <h3>
          <a href={`/runs/${run.runId}`}>{plain(firstLine(run.task))}</a>
        </h3>
        {because !== undefined && (
          <p class="because">
            <WithTitles text={firstLine(because)} />
          </p>
        )}
        <p class="list-facts">
          <span>{plain(run.workflow.replaceAll('_', ' '))}</span>
          {run.block !== null && !isOver(run) && (
            <span>
              at <strong>{plain(blockName(run.block).name)}</strong>
              {(run.visit ?? 1) > 1 && ` ×${run.visit}`}
            </span>
          )}
        </p>
      </div>
      <div class="list-end">
        <Badge tone={said.tone}>
          {isAtWork && <Dot tone={said.tone} />}
          {said.text}
        </Badge>
        <span class="hint">
          <Took from={run.createdAt} to={run.endedAt} />
        </span>
      </div>
    </li>
  );
}
