import { info, lostSince, phase, skipped } from '../connection/connection.ts';
import { clock, plural } from '../format.ts';
import { openQuestions } from '../store/home.ts';
import { Dot } from '../widgets/badge.tsx';
import { Button } from '../widgets/button.tsx';
import { Icon } from '../widgets/icon.tsx';
import { openDialog } from './keys.ts';

function open(dialog: 'palette' | 'help'): void {
  openDialog.value = dialog;
}

export function Header() {
  return (
    <header class="bar">
      <p class="repository" title={info.value?.folder}>
        {info.value?.repository ?? ' '}
      </p>
      {openQuestions.value > 0 && (
        <a class="asked" href="/now">
          {plural(openQuestions.value, 'question')}
        </a>
      )}
      <ConnectionState />
      <a class="button quiet new-link" href="/new" aria-keyshortcuts="n">
        <Icon name="plus" />
        <span>New</span>
      </a>
      <Button kind="quiet" icon="search" label="Find (Ctrl K)" onClick={() => open('palette')} />
      <Button kind="quiet" icon="question" label="Keys and settings (?)" onClick={() => open('help')} />
    </header>
  );
}

/** Never greener than it is: without a connection it says since when, and what was skipped stays said. */
function ConnectionState() {
  const since = lostSince.value ? ` since ${clock(lostSince.value)}` : '';
  const said = {
    starting: { tone: 'waits', text: 'Connecting' },
    'signed-out': { tone: 'bad', text: 'Signed out' },
    live: { tone: 'works', text: 'Live' },
    lost: { tone: 'bad', text: `Not connected${since}` },
    impostor: { tone: 'bad', text: `Not connected${since}: another program answers there` },
  } as const;
  const { tone, text } = said[phase.value];
  const gap = skipped.value > 0 ? `, ${plural(skipped.value, 'older event')} skipped` : '';
  return (
    <p class={`connection tone-${tone}`} role="status">
      <Dot tone={tone} />
      <span>
        {text}
        {gap}
      </span>
    </p>
  );
}
