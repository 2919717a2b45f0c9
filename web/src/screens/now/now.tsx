import type { ComponentChildren } from 'preact';
import { isLive, lostSince } from '../../connection/connection.ts';
import { Hosts } from '../../fleet/hosts.tsx';
import { clock, plural } from '../../format.ts';
import { cards } from '../../questions/asked.ts';
import { Questions } from '../../questions/questions.tsx';
import { notices, openQuestions, readAt } from '../../store/home.ts';
import { Empty } from '../../widgets/empty.tsx';
import { Page, Section } from '../../widgets/page.tsx';
import { Ago } from '../../widgets/time.tsx';
import { WithTitles } from '../../widgets/with-titles.tsx';
import { TaskCard } from './task-card.tsx';
import { type Place, tasks } from './tasks.ts';

const PLACES: readonly { place: Place; title: string; hint?: string }[] = [
  { place: 'needs', title: 'Needs you' },
  { place: 'working', title: 'Working' },
  { place: 'waiting', title: 'Waiting' },
  { place: 'ended', title: 'Ended' },
];

export function Now() {
  return (
    <Page title={headline()}>
      <Old />
      {cards.value.length > 0 && (
        <Section title="Questions" hint="The oldest first. q goes to the next one.">
          <Questions asked={cards.value} />
        </Section>
      )}
      <Tasks />
      <News />
      <Hosts />
    </Page>
  );
}

function headline(): ComponentChildren {
  if (readAt.value === undefined) return 'Now';
  const asked = openQuestions.value;
  if (asked > 0) return `${plural(asked, 'question')} for you`;
  const working = tasks.value.filter(({ place }) => place === 'working').length;
  return working > 0 ? `${plural(working, 'task')} at work` : 'All is calm';
}

/** What is shown is of the last moment we were connected. */
function Old() {
  if (isLive.value || readAt.value === undefined || lostSince.value === undefined) return null;
  return (
    <p class="notice tone-waits">
      This is what was known at {clock(lostSince.value)}. Nothing can be answered until the daemon is back; what you
      write is kept.
    </p>
  );
}

function Tasks() {
  if (readAt.value === undefined) return null;
  if (tasks.value.length === 0) {
    return (
      <Empty title="Nothing is at work" command={'reef run "what should be done"'}>
        Each task gets a worktree and a branch of its own, and comes back here when it needs you.
      </Empty>
    );
  }
  return PLACES.map(({ place, title }) => {
    const here = tasks.value.filter((task) => task.place === place);
    if (here.length === 0) return null;
    return (
      <Section key={place} title={title} amount={here.length}>
        <div class="cards">
          {here.map((task) => (
            <TaskCard key={task.id} task={task} />
          ))}
        </div>
      </Section>
    );
  });
}

function News() {
  if (notices.value.length === 0) return null;
  return (
    <Section title="News">
      <ul class="news">
        {notices.value.map(({ at, message, worktreeId }) => (
          <li key={`${at} ${worktreeId} ${message}`}>
            <WithTitles text={message} /> <Ago at={at} />
          </li>
        ))}
      </ul>
    </Section>
  );
}
