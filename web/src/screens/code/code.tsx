import { useSignal } from '@preact/signals';
import { plain } from '../../format.ts';
import { navigate, query } from '../../router.ts';
import { worktrees } from '../../store/home.ts';
import { Button } from '../../widgets/button.tsx';
import { Empty } from '../../widgets/empty.tsx';
import { Page } from '../../widgets/page.tsx';
import { type Asked, Explored, FoundSymbols, FoundText, References } from './results.tsx';

const WAYS = [
  { name: 'explore', title: 'What answers a question', Answer: Explored },
  { name: 'symbols', title: 'Definitions of a name', Answer: FoundSymbols },
  { name: 'references', title: 'Uses of a name', Answer: References },
  { name: 'text', title: 'Words in the text', Answer: FoundText },
] as const;

/** Questions about the code of one worktree. What was asked stands in the address, so that an answer can be shared. */
export function Code() {
  const asked: Asked = { words: query.value.get('q') ?? '', worktree: query.value.get('worktree') ?? '' };
  const way = WAYS.find(({ name }) => name === query.value.get('way')) ?? WAYS[0];
  const { Answer } = way;
  return (
    <Page title="Code">
      <Search asked={asked} way={way.name} />
      {asked.words === '' ? (
        <Empty title="Nothing is asked yet" command={'reef code explore "where are prices rounded?"'}>
          A question brings the pieces of code that answer it; a name brings its definitions or all its uses.
        </Empty>
      ) : (
        <Answer key={`${way.name} ${asked.worktree} ${asked.words}`} {...asked} />
      )}
    </Page>
  );
}

function Search({ asked, way }: { asked: Asked; way: string }) {
  const words = useSignal(asked.words);
  const ask = (changed: Record<string, string> = {}) => {
    const wanted = new URLSearchParams({ q: words.value.trim(), way, worktree: asked.worktree, ...changed });
    if (wanted.get('worktree') === '') wanted.delete('worktree');
    navigate(`/code?${wanted}`, asked.words === '' ? 'push' : 'replace');
  };
  return (
    <form
      class="code-search"
      onSubmit={(event) => {
        event.preventDefault();
        ask();
      }}
    >
      <input
        type="search"
        data-filter
        aria-label="Question, name or words"
        placeholder="Where are prices rounded?"
        value={words.value}
        onInput={({ currentTarget }) => {
          words.value = currentTarget.value;
        }}
      />
      <select aria-label="Look for" value={way} onChange={({ currentTarget }) => ask({ way: currentTarget.value })}>
        {WAYS.map(({ name, title }) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
      <select
        aria-label="In"
        value={asked.worktree}
        onChange={({ currentTarget }) => ask({ worktree: currentTarget.value })}
      >
        <option value="">Main checkout</option>
        {worktrees.value.map(({ id, title, path }) =>
          path === null ? null : (
            <option key={id} value={id}>
              {plain(title)}
            </option>
          ),
        )}
      </select>
      <Button kind="main" icon="search" type="submit">
        Search
      </Button>
    </form>
  );
}
