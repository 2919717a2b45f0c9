import { useSignal } from '@preact/signals';
import type { RunSummary } from '../../../../src/protocol/run-operations.ts';
import type { RunView } from '../../../../src/protocol/workflow.ts';
import { cost, count, firstLine, plain } from '../../format.ts';
import { cards } from '../../questions/asked.ts';
import { Questions } from '../../questions/questions.tsx';
import { query } from '../../router.ts';
import type { ScreenProps } from '../../screen.ts';
import { runs } from '../../store/home.ts';
import { Badge, Dot } from '../../widgets/badge.tsx';
import { Empty } from '../../widgets/empty.tsx';
import { Refused } from '../../widgets/notice.tsx';
import { Facts, Page, Section } from '../../widgets/page.tsx';
import { Took } from '../../widgets/time.tsx';
import { WithTitles } from '../../widgets/with-titles.tsx';
import { WorktreeLink } from '../../widgets/worktree-name.tsx';
import { sayRun } from '../now/words.ts';
import { BlockPanel } from './block-panel.tsx';
import { GraphView } from './graph-view.tsx';
import { PathList } from './path-list.tsx';
import { RunActions } from './run-actions.tsx';
import { Scrubber } from './scrubber.tsx';
import { useRun } from './use-run.ts';
import { type Chosen, litBy, type Step, stepsOf } from './walk.ts';

/** One run: its workflow with the way it took, and what each block was told, did and left. */
export function Run({ id = '' }: ScreenProps) {
  const listed = runs.value.find(({ runId }) => runId === id);
  const { data, error } = useRun(id);
  const run = data.value?.run ?? listed;
  const view = data.value?.view;
  if (!run && error.value !== undefined) {
    return (
      <Page title="No such run">
        <Refused error={error.value} />
        <Empty title="It is not here" command="reef runs --all" />
      </Page>
    );
  }
  if (!run) return null;
  return (
    <Page title={plain(firstLine(run.task))} kind={<Kind run={run} />} actions={<RunActions run={run} />}>
      <Words run={run} view={view} />
      {view ? <Walked run={run} view={view} /> : <NotBegun run={run} />}
    </Page>
  );
}

function Kind({ run }: { run: RunSummary }) {
  const said = sayRun(run);
  return (
    <>
      <Badge tone={said.tone}>
        {run.status === 'running' && <Dot tone={said.tone} />}
        {said.text}
      </Badge>
      <span>{plain(run.workflow.replaceAll('_', ' '))}</span>
      {run.worktree && <WorktreeLink id={run.worktree} task={run.task} />}
      {run.target !== undefined && <span>into {plain(run.target)}</span>}
      <Took from={run.createdAt} to={run.endedAt} />
    </>
  );
}

/** The rest of the task, why it does not go on, and what it has used. */
function Words({ run, view }: { run: RunSummary; view: RunView | undefined }) {
  const rest = run.task.trim().split('\n').slice(1).join('\n').trim();
  const isSaidBelow = (view?.halts.length ?? 0) > 0;
  return (
    <>
      {rest && <pre class="task">{plain(rest)}</pre>}
      {run.because !== undefined && !isSaidBelow && (
        <p class="notice tone-waits">
          <WithTitles text={run.because} />
        </p>
      )}
      {(run.notes ?? []).map((note) => (
        <p key={note} class="hint">
          {plain(note)}
        </p>
      ))}
      {view && <Used view={view} />}
    </>
  );
}

function Used({ view: { budget } }: { view: RunView }) {
  const { spent, limit } = budget;
  const of = (most: number | undefined) => (most === undefined ? '' : ` of ${count(most)}`);
  return (
    <Facts
      facts={[
        ['Tokens', `${count(spent.tokens)}${of(limit.tokens)}`],
        ['Turns', `${spent.turns}${of(limit.turns)}`],
        ['At work', `${Math.round(spent.seconds)} s${of(limit.seconds)}`],
        ['Cost', cost(spent.usd)],
      ]}
    />
  );
}

function NotBegun({ run }: { run: RunSummary }) {
  return (
    <Empty title="It has not begun" command={`reef run show ${run.runId.slice(0, 10)} --follow`}>
      Its workflow appears here as soon as the first block starts.
    </Empty>
  );
}

function Walked({ run, view }: { run: RunSummary; view: RunView }) {
  const steps = stepsOf(view);
  /** Undefined: the end, wherever that is by now. */
  const looked = useSignal<number | undefined>(undefined);
  const at = Math.min(looked.value ?? steps.length, steps.length);
  const shown = steps.slice(0, at);
  const isPast = at < steps.length;
  const chosen = chosenOf(steps, shown, view);
  const hrefOf = (block: string, visit?: number) =>
    `/runs/${run.runId}?block=${encodeURIComponent(block)}${visit === undefined ? '' : `&visit=${visit}`}`;
  const asked = cards.value.filter(({ entry }) => entry.runId === run.runId && entry.jobId !== run.runId);
  return (
    <div class="run">
      {asked.length > 0 && (
        <div class="run-asks">
          <Questions asked={asked} />
        </div>
      )}
      <section class="run-graph" aria-label="Workflow">
        <GraphView
          view={view}
          steps={steps}
          lit={litBy(shown, isPast)}
          chosen={chosen?.block}
          hrefOf={(block) => hrefOf(block)}
        />
        <Scrubber steps={steps} at={at} looked={looked} />
      </section>
      {chosen && <BlockPanel key={chosen.block} run={run} view={view} steps={steps} chosen={chosen} hrefOf={hrefOf} />}
      <div class="run-path">
        <Section title="The way it took" amount={steps.length}>
          <PathList steps={steps} at={at} looked={looked} chosen={chosen} hrefOf={hrefOf} />
        </Section>
      </div>
    </div>
  );
}

/** What the address names, or else where the run is, or was at the step that is looked at. */
function chosenOf(steps: readonly Step[], shown: readonly Step[], view: RunView): Chosen | undefined {
  const named = query.value.get('block');
  const visit = Number(query.value.get('visit'));
  if (named !== null && view.graph.blocks.includes(named)) {
    const visits = steps.filter(({ block }) => block === named);
    return { block: named, step: visits.find((step) => step.visit === visit) ?? visits.at(-1) };
  }
  const halted = shown.length === steps.length ? shown.findLast(({ status }) => status === 'halted') : undefined;
  const step = halted ?? shown.at(-1);
  return step && { block: step.block, step };
}
