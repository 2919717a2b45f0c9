import { effect, type Signal, signal } from '@preact/signals';

/** What a person prefers in this browser. */
function setting(name: string, isOnAtFirst: boolean): Signal<boolean> {
  const key = `reef.${name}`;
  const stored = localStorage.getItem(key);
  const value = signal(stored === null ? isOnAtFirst : stored === 'on');
  effect(() => localStorage.setItem(key, value.value ? 'on' : 'off'));
  return value;
}

/** Keys without Ctrl are in the way of some: of those who dictate, for one. */
export const singleKeys = setting('keys', true);
export const notifies = setting('notify', false);
