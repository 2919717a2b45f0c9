import { effect, type Signal, signal } from '@preact/signals';

const drafts = new Map<string, Signal<string>>();

/** What somebody is writing outlives the loss of the connection, a change of screen and a reload. */
export function draft(name: string): Signal<string> {
  const known = drafts.get(name);
  if (known) return known;
  const key = `reef.draft.${name}`;
  const made = signal(sessionStorage.getItem(key) ?? '');
  effect(() => {
    if (made.value === '') sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, made.value);
  });
  drafts.set(name, made);
  return made;
}
