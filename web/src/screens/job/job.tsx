import { useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { JobView } from '../../../../src/protocol/job-operations.ts';
import { connection } from '../../connection/connection.ts';
import { cost, firstLine, plain, plural, tokens } from '../../format.ts';
import { cards } from '../../questions/asked.ts';
import { Questions } from '../../questions/questions.tsx';
import type { ScreenProps } from '../../screen.ts';
import { jobs, runs } from '../../store/home.ts';
import { useOperation } from '../../store/use-operation.ts';
import { Badge, Dot } from '../../widgets/badge.tsx';
import { Empty } from '../../widgets/empty.tsx';
import { Refused } from '../../widgets/notice.tsx';
import { Facts, Page } from '../../widgets/page.tsx';
import { Tabs } from '../../widgets/tabs.tsx';
import { Took } from '../../widgets/time.tsx';
import { WorktreeLink } from '../../widgets/worktree-name.tsx';
import { sayJob } from '../now/words.ts';
import { Controls } from './controls.tsx';
import { RawLog } from './raw-log.tsx';
import { Timeline } from './timeline.ts';
import { TimelineView } from './timeline-view.tsx';
import { TokensPlot } from './tokens-plot.tsx';

/** One job: what it did and does, and the ways to talk to it. */
export function Job({ id = '' }: ScreenProps) {
  const listed = jobs.value.find((one) => one.id === id);
  // One that ended long ago is not among those that are listed.
  const asked = useOperation('status', { id }, (change) => change.kind === 'job' && change.id === id);
  useEffect(
    () => connection.onEvent((event) => event.agentId === id && event.type === 'completed' && asked.again()),
    [id],
  );
  const job = listed ?? asked.data.value?.jobs[0];
  if (!job && asked.error.value !== undefined) {
    return (
      <Page title="No such job">
        <Refused error={asked.error.value} />
        <Empty title="It is not here" command="reef ps --all" />
      </Page>
    );
  }
  return job ? <Known job={job} /> : null;
}

function Known({ job }: { job: JobView }) {
  const timeline = useMemo(() => new Timeline(job.id), [job.id]);
  const tab = useSignal('timeline');
  useEffect(() => {
    timeline.start();
    return () => timeline.stop();
  }, [timeline]);
  const asked = cards.value.filter(({ entry }) => entry.jobId === job.id);
  const children = jobs.value.filter(({ parentId }) => parentId === job.id);
  const shown = {
    timeline: () => <TimelineView timeline={timeline} id={job.id} />,
    tokens: () => <Tokens timeline={timeline} job={job} />,
    about: () => <About job={job} children={children} />,
    raw: () => <RawLog id={job.id} />,
  };
  return (
    <div class="job">
      <Page title={plain(firstLine(job.task))} kind={<Kind job={job} />}>
        <Tabs
          label="Parts of the job"
          chosen={tab}
          tabs={[
            { name: 'timeline', label: 'Timeline' },
            { name: 'tokens', label: 'Tokens' },
            { name: 'about', label: 'About', ...(children.length > 0 && { amount: children.length }) },
            { name: 'raw', label: 'Raw log' },
          ]}
        >
          {shown[tab.value as keyof typeof shown]()}
        </Tabs>
        <div class="job-foot">
          {asked.length > 0 && <Questions asked={asked} />}
          <Controls job={job} />
        </div>
      </Page>
    </div>
  );
}

function Kind({ job }: { job: JobView }) {
  const said = sayJob(job);
  const run = runs.value.find(({ worktree }) => worktree === job.worktree);
  return (
    <>
      <Badge tone={said.tone}>
        {job.status === 'running' && <Dot tone={said.tone} />}
        {said.text}
      </Badge>
      <span>{plain(job.agent)}</span>
      {run && <a href={`/runs/${run.runId}`}>{plain(run.workflow)}</a>}
      {job.worktree && <WorktreeLink id={job.worktree} task={job.task} />}
      <span class="number">{tokens(job.usage)} tokens</span>
      <span>{job.usage.costUsd === null ? 'cost unknown' : cost(job.usage.costUsd)}</span>
      {job.startedAt && <Took from={job.startedAt} to={job.endedAt} />}
    </>
  );
}

/** Older events are read until the first: a plot of the end of a job would pass for all of it. */
function Tokens({ timeline, job }: { timeline: Timeline; job: JobView }) {
  // What it has read is told by its rows.
  const amount = timeline.rows.value.length;
  useEffect(() => void timeline.readOlder(), [timeline, amount]);
  return <TokensPlot events={timeline.events} total={job.usage} id={job.id} />;
}

function About({ job, children }: { job: JobView; children: readonly JobView[] }) {
  const { input, output, cacheRead } = job.usage;
  return (
    <div class="about">
      <pre class="task">{plain(job.task)}</pre>
      <Facts
        facts={[
          ['Job', <code key="id">{job.id}</code>],
          ['Sandbox', job.sandbox === 'none' ? 'none' : job.sandbox],
          ['Model', job.model ? plain(job.model) : 'its own choice'],
          ['Turns', job.turns],
          ['Starts', job.launch],
          [
            'Tokens',
            `${input.toLocaleString()} read, ${output.toLocaleString()} written, ${cacheRead.toLocaleString()} cached`,
          ],
          ['Folder', <code key="cwd">{plain(job.cwd)}</code>],
        ]}
      />
      {children.length > 0 && (
        <section aria-label="Child jobs">
          <h2>{plural(children.length, 'child job')}</h2>
          <ul class="children">
            {children.map((child) => (
              <li key={child.id}>
                <a href={`/jobs/${child.id}`}>{plain(firstLine(child.task))}</a>{' '}
                <Badge tone={sayJob(child).tone}>{sayJob(child).text}</Badge>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}
