import { signal } from '@preact/signals';
import { navigate } from '../router.ts';
import { screens } from '../screens.tsx';
import { singleKeys } from '../store/settings.ts';

type PageDialog = 'palette' | 'help';

export const openDialog = signal<PageDialog | undefined>(undefined);

/** A browser tells of the end of a dialog a moment later, when another one may be open already. */
export function closeDialog(closed: PageDialog): void {
  if (openDialog.peek() === closed) openDialog.value = undefined;
}

/** How long `g` waits for its letter. */
const LETTER_MS = 1_500;

/** Keys of the whole page. What stands in a question or a field takes its keys first. */
export function startKeys(): void {
  let goUntil = 0;
  const single = (event: KeyboardEvent) => {
    const isGoing = event.timeStamp < goUntil;
    goUntil = event.key === 'g' && !isGoing ? event.timeStamp + LETTER_MS : 0;
    return isGoing ? go(event.key) : KEYS[event.key]?.();
  };
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.altKey) return;
    const isTaken = event.ctrlKey || event.metaKey ? withControl(event.key) : isFree(event) && single(event);
    if (isTaken) event.preventDefault();
  });
}

function withControl(key: string): boolean {
  if (key !== 'k') return false;
  openDialog.value = 'palette';
  return true;
}

const isFree = (event: KeyboardEvent) => singleKeys.peek() && !isTyping(event);

function isTyping({ target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const dialog = target.closest('dialog');
  // What was in a dialog that has just closed keeps the focus for a moment.
  return dialog ? dialog.open : target.matches('input, textarea, select, [contenteditable]');
}

function go(letter: string): true | undefined {
  const screen = screens.find(({ rail }) => rail?.letter === letter);
  return screen && goTo(screen.name);
}

const KEYS: Readonly<Record<string, () => true | undefined>> = {
  '?': () => {
    openDialog.value = 'help';
    return true;
  },
  j: () => step(1),
  k: () => step(-1),
  q: nextQuestion,
  '/': () => focusOn('[data-filter]'),
  n: () => goTo('new'),
};

function goTo(name: string): true | undefined {
  const screen = screens.find((each) => each.name === name);
  if (!screen) return undefined;
  navigate(`/${screen.path}`);
  return true;
}

/** Up and down what the screen lists; Enter follows the link that has the focus. */
function step(by: 1 | -1): true | undefined {
  const items = [...document.querySelectorAll<HTMLElement>('[data-item] :is(h3 a, .item), a[data-item]')];
  const at = items.indexOf(document.activeElement as HTMLElement);
  const next = items[at < 0 ? (by > 0 ? 0 : items.length - 1) : at + by];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
  return next && true;
}

function nextQuestion(): true | undefined {
  const all = [...document.querySelectorAll<HTMLElement>('[data-question="open"]')];
  const at = all.findIndex((each) => each.contains(document.activeElement));
  const next = all[(at + 1) % all.length];
  if (!next) {
    navigate('/now');
    return true;
  }
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
  return true;
}

function focusOn(selector: string): true | undefined {
  const found = document.querySelector<HTMLElement>(selector);
  found?.focus();
  return found ? true : undefined;
}
