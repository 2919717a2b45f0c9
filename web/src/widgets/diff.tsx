import { plain } from '../format.ts';

type Kind = 'added' | 'removed' | 'hunk' | 'file' | 'same';

function kindOf(line: string): Kind {
  if (/^(diff |index |--- |\+\+\+ |new file|deleted file|similarity|rename )/.test(line)) return 'file';
  if (line.startsWith('@@')) return 'hunk';
  if (line.startsWith('+')) return 'added';
  return line.startsWith('-') ? 'removed' : 'same';
}

/** A patch line by line, as it is: nothing of it is left out. */
export function Diff({ patch }: { patch: string }) {
  const lines = plain(patch).trimEnd().split('\n');
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard.
    <section class="diff" aria-label="Change" tabIndex={0}>
      <pre>
        {lines.map((line, at) => (
          <span key={at} class={kindOf(line)}>{`${line}\n`}</span>
        ))}
      </pre>
    </section>
  );
}
