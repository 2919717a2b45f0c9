import type { ComponentChildren } from 'preact';
import { isLive } from '../connection/connection.ts';
import { Icon, type IconName } from './icon.tsx';

interface ButtonProps {
  children?: ComponentChildren;
  kind?: 'main' | 'plain' | 'quiet' | 'danger';
  icon?: IconName;
  /** A name for those who do not see the icon. */
  label?: string;
  keyHint?: string;
  type?: 'button' | 'submit';
  /** Why it cannot be used now. It can still be focused, so that everybody learns the reason. */
  offBecause?: string | undefined;
  /** It acts on the daemon, and is off while that is not there. */
  acts?: boolean;
  isBusy?: boolean;
  onClick?: () => void;
}

export function Button({ children, kind = 'plain', icon, label, type = 'button', acts, ...rest }: ButtonProps) {
  const because = acts && !isLive.value ? 'Not connected' : rest.offBecause;
  const isOff = because !== undefined || rest.isBusy === true;
  return (
    <button
      type={type}
      class={`button ${kind}${children === undefined ? ' only-icon' : ''}`}
      aria-disabled={isOff}
      aria-label={label}
      aria-keyshortcuts={rest.keyHint}
      title={because ?? label}
      onClick={(event) => {
        if (!isOff) return rest.onClick?.();
        event.preventDefault();
      }}
    >
      {icon && <Icon name={icon} />}
      {children}
      {rest.keyHint && (
        <span class="key" aria-hidden="true">
          {rest.keyHint}
        </span>
      )}
    </button>
  );
}
