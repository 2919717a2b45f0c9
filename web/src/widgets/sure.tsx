import { useSignal } from '@preact/signals';
import { Button } from './button.tsx';
import type { IconName } from './icon.tsx';

const SURE_MS = 4_000;

interface SureProps {
  label: string;
  /** What the first press makes of the label. */
  sure: string;
  icon?: IconName;
  onClick: () => void;
}

/** For what cannot be taken back: the first press only asks for the second. */
export function Sure({ label, sure, icon, onClick }: SureProps) {
  const isAsked = useSignal(false);
  const press = () => {
    if (isAsked.value) onClick();
    isAsked.value = !isAsked.value;
    setTimeout(() => {
      isAsked.value = false;
    }, SURE_MS);
  };
  return (
    <Button kind="danger" acts onClick={press} {...(icon && { icon })}>
      {isAsked.value ? sure : label}
    </Button>
  );
}
