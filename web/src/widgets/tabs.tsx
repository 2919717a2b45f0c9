import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

interface Tab {
  name: string;
  label: string;
  amount?: number;
}

interface TabsProps {
  label: string;
  tabs: readonly Tab[];
  chosen: Signal<string>;
  /** What the chosen tab shows. */
  children: ComponentChildren;
}

/** Arrow keys go from tab to tab, as in every tab list. */
export function Tabs({ label, tabs, chosen, children }: TabsProps) {
  const id = useId();
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const at = tabs.findIndex(({ name }) => name === chosen.value);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (!next) return;
    event.preventDefault();
    chosen.value = next.name;
    document.getElementById(`${id}-${next.name}`)?.focus();
  };
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map((tab) => (
          <button
            key={tab.name}
            type="button"
            role="tab"
            id={`${id}-${tab.name}`}
            aria-selected={tab.name === chosen.value}
            aria-controls={`${id}-panel`}
            tabIndex={tab.name === chosen.value ? 0 : -1}
            onClick={() => {
              chosen.value = tab.name;
            }}
          >
            {tab.label} {tab.amount !== undefined && <span class="amount">{tab.amount}</span>}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${chosen.value}`}>
        {children}
      </div>
    </div>
  );
}
