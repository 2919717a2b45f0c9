import type { ComponentChildren } from 'preact';

/** `needs` wants a person, `works` is alive, `waits` stands still, `good` and `bad` are ends, `calm` is only said. */
export type Tone = 'needs' | 'works' | 'waits' | 'good' | 'bad' | 'calm';

/** How something stands, in a word or two. */
export interface Said {
  tone: Tone;
  text: string;
}

export function Badge({ tone = 'calm', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge tone-${tone}`}>{children}</span>;
}

/** A dot that breathes while something is at work. Always beside words. */
export function Dot({ tone }: { tone: Tone }) {
  return <span class={`dot tone-${tone}`} aria-hidden="true" />;
}
