import { signal } from '@preact/signals';

/** What is spoken to those who do not look: questions and ends, and nothing else. */
export const announced = signal('');

export function announce(words: string): void {
  // The same words twice are spoken twice only if they differ.
  announced.value = announced.peek() === words ? `${words} ` : words;
}
