import type { Signal } from '@preact/signals';

/** What is listed, by words. The key `/` leads here. */
export function Filter({ what, words }: { what: string; words: Signal<string> }) {
  return (
    <input
      type="search"
      class="filter"
      data-filter
      aria-label={`Filter ${what}`}
      placeholder="Filter"
      value={words.value}
      onInput={({ currentTarget }) => {
        words.value = currentTarget.value;
      }}
    />
  );
}
