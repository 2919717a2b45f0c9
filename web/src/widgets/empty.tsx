import type { ComponentChildren } from 'preact';
import { Command } from './command.tsx';

/** Nothing is there, and this is what one can do about it. */
export function Empty({ title, command, children }: { title: string; command: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      <Command text={command} />
    </div>
  );
}
