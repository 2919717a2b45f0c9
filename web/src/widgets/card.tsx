import type { ComponentChildren } from 'preact';
import type { Tone } from './badge.tsx';

interface CardProps {
  tone?: Tone;
  /** Where it leads; then its title is a link and the whole card can be clicked. */
  href?: string;
  title: ComponentChildren;
  badge?: ComponentChildren;
  children?: ComponentChildren;
  foot?: ComponentChildren;
}

export function Card({ tone = 'calm', href, title, badge, children, foot }: CardProps) {
  return (
    <article class={`card tone-${tone}`} data-item>
      <header class="card-head">
        <h3>{href === undefined ? title : <a href={href}>{title}</a>}</h3>
        {badge}
      </header>
      {children}
      {foot && <footer class="card-foot">{foot}</footer>}
    </article>
  );
}
