import type { ComponentChildren } from 'preact';

interface PageProps {
  title: ComponentChildren;
  /** What kind of thing it is, above the title. */
  kind?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

/** The head and the body of a screen. The heading takes the focus when one comes from another screen. */
export function Page({ title, kind, actions, children }: PageProps) {
  return (
    <article class="page">
      <header class="page-head">
        <div class="page-title">
          {kind && <p class="kind">{kind}</p>}
          <h1 tabIndex={-1}>{title}</h1>
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </article>
  );
}

interface SectionProps {
  title: string;
  amount?: number;
  hint?: ComponentChildren;
  children: ComponentChildren;
}

export function Section({ title, amount, hint, children }: SectionProps) {
  const id = `section-${title.toLowerCase().replace(/\W+/g, '-')}`;
  return (
    <section class="section" aria-labelledby={id}>
      <header class="section-head">
        <h2 id={id}>
          {title} {amount !== undefined && <span class="amount">{amount}</span>}
        </h2>
        {hint && <p class="hint">{hint}</p>}
      </header>
      {children}
    </section>
  );
}

/** A name and its value, side by side with others. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
