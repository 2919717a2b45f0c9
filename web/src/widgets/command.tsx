import { useSignal } from '@preact/signals';
import { plain } from '../format.ts';
import { Icon } from './icon.tsx';

/** A command for a terminal, ready to be copied. */
export function Command({ text }: { text: string }) {
  const isCopied = useSignal(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    isCopied.value = true;
    setTimeout(() => {
      isCopied.value = false;
    }, 1_500);
  };
  return (
    <span class="command">
      <code>{plain(text)}</code>
      <button type="button" onClick={copy} aria-label={`Copy: ${text}`} title={isCopied.value ? 'Copied' : 'Copy'}>
        <Icon name={isCopied.value ? 'check' : 'copy'} />
      </button>
    </span>
  );
}
