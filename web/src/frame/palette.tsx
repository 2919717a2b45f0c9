import { useComputed, useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { firstLine, plain } from '../format.ts';
import { openCards } from '../questions/asked.ts';
import { navigate } from '../router.ts';
import { screens } from '../screens.tsx';
import { jobs, runs, worktrees } from '../store/home.ts';
import { Dialog } from '../widgets/dialog.tsx';
import { closeDialog, openDialog } from './keys.ts';

interface Entry {
  kind: string;
  title: string;
  run: () => void;
}

const SHOWN = 12;

/** Everything there is to go to, found by any part of its name. */
function entries(): Entry[] {
  const to = (path: string) => () => navigate(path);
  const has = (name: string) => screens.some((screen) => screen.name === name);
  return [
    ...openCards.value.map(({ entry }) => ({ kind: 'Question', title: firstLine(entry.question), run: to('/now') })),
    ...screens
      .filter(({ takesId }) => !takesId)
      .map(({ title, path }) => ({ kind: 'Screen', title, run: to(`/${path}`) })),
    ...runs.value.map(({ runId, task }) => ({ kind: 'Run', title: firstLine(task), run: to(`/runs/${runId}`) })),
    ...jobs.value.map(({ id, task, agent }) => ({ kind: agent, title: firstLine(task), run: to(`/jobs/${id}`) })),
    ...(has('worktree') ? worktrees.value : []).map(({ id, title }) => ({
      kind: 'Worktree',
      title: firstLine(title),
      run: to(`/worktrees/${id}`),
    })),
    {
      kind: 'Page',
      title: 'Keys and settings',
      run: () => {
        openDialog.value = 'help';
      },
    },
  ];
}

function matches({ kind, title }: Entry, words: readonly string[]): boolean {
  const text = `${kind} ${title}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

export function Palette() {
  const typed = useSignal('');
  const chosen = useSignal(0);
  const id = useId();
  const found = useComputed(() => {
    const words = typed.value.toLowerCase().split(/\s+/).filter(Boolean);
    return entries()
      .filter((entry) => matches(entry, words))
      .slice(0, SHOWN);
  });
  const close = () => {
    closeDialog('palette');
  };
  const take = (entry: Entry | undefined) => {
    if (!entry) return;
    close();
    entry.run();
  };
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      chosen.value = (chosen.value + step + found.value.length) % Math.max(1, found.value.length);
    }
    if (event.key === 'Enter') {
      event.preventDefault();
      take(found.value[chosen.value]);
    }
  };
  return (
    <Dialog label="Find" onClose={close}>
      <input
        type="text"
        role="combobox"
        aria-label="Find a screen, a task or a command"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={found.value.length > 0 ? `${id}-${chosen.value}` : undefined}
        placeholder="Where to?"
        value={typed.value}
        onKeyDown={move}
        onInput={({ currentTarget }) => {
          typed.value = currentTarget.value;
          chosen.value = 0;
        }}
      />
      <div role="listbox" id={`${id}-list`} aria-label="Found" class="found" tabIndex={-1}>
        {found.value.map((entry, at) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are taken by the field that has the focus.
          <div
            key={`${entry.kind} ${entry.title} ${at}`}
            role="option"
            id={`${id}-${at}`}
            aria-selected={at === chosen.value}
            tabIndex={-1}
            onClick={() => take(entry)}
          >
            <span class="what">{plain(entry.title)}</span>
            <span class="hint">{plain(entry.kind)}</span>
          </div>
        ))}
        {found.value.length === 0 && <p class="hint">Nothing is called that.</p>}
      </div>
    </Dialog>
  );
}
