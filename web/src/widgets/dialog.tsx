import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface DialogProps {
  label: string;
  onClose: () => void;
  children: ComponentChildren;
}

/** The browser's own: it keeps the focus, closes with Escape, and gives the focus back. */
export function Dialog({ label, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the key is Escape, which the browser takes.
    <dialog
      ref={dialog}
      aria-label={label}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current?.close();
      }}
    >
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}
