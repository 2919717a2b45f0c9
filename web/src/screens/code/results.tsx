import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { Basis, CodeReference, CodeSymbol } from '../../../../src/protocol/code.ts';
import { plain, plural } from '../../format.ts';
import { type Asked as Answer, useOperation } from '../../store/use-operation.ts';
import { Refused } from '../../widgets/notice.tsx';

export interface Asked {
  words: string;
  /** Empty: the main checkout. */
  worktree: string;
}

const inWorktree = ({ worktree }: Asked) => (worktree === '' ? {} : { worktree });

/** The pieces of code that answer a question, each with the reason why it is here. */
export function Explored(asked: Asked) {
  const found = useOperation('explore_code', { question: asked.words, budget_tokens: 6_000, ...inWorktree(asked) });
  return (
    <Found
      of={found}
      amount={({ slices }) => slices.length}
      draw={({ slices }) =>
        slices.map(({ file_path, start_line, end_line, why, text }) => (
          <Piece
            key={`${file_path}:${start_line}`}
            file={file_path}
            lines={start_line === end_line ? `${start_line}` : `${start_line}–${end_line}`}
            why={why}
            text={text}
          />
        ))
      }
    />
  );
}

export function FoundSymbols(asked: Asked) {
  const found = useOperation('find_symbols', { query: asked.words, limit: 50, ...inWorktree(asked) });
  return (
    <Found
      of={found}
      amount={({ symbols }) => symbols.length}
      draw={({ symbols }) => symbols.map((symbol) => <SymbolPiece key={symbol.id} symbol={symbol} asked={asked} />)}
    />
  );
}

const MOST_USES = 200;

export function References(asked: Asked) {
  const found = useOperation('get_symbol_references', { name: asked.words, limit: MOST_USES, ...inWorktree(asked) });
  return (
    <Found
      of={found}
      amount={({ total_count }) => total_count}
      draw={({ references }) =>
        references.map((reference) => {
          const { file, start_line, start_column } = reference.location;
          return (
            <Piece
              key={`${file}:${start_line}:${start_column}`}
              file={file}
              lines={`${start_line}`}
              why={wordsOf(reference)}
              text={reference.line_text}
            />
          );
        })
      }
    />
  );
}

export function FoundText(asked: Asked) {
  const found = useOperation('code_search', { query: asked.words, limit: 50, context_lines: 2, ...inWorktree(asked) });
  return (
    <Found
      of={found}
      amount={({ total_found }) => total_found}
      draw={({ results }) =>
        results.map(({ file_path, line, content_snippet }, at) => (
          <Piece
            key={`${file_path}:${line}:${at}`}
            file={file_path}
            lines={`${line ?? ''}`}
            why="the words stand here"
            text={content_snippet}
          />
        ))
      }
    />
  );
}

const SURE = {
  exact: 'certain',
  likely: 'likely: by a name that only one definition has',
  name: 'by its name',
  lexical: 'in the text',
} as const;

const wordsOf = ({ reference_type, confidence }: CodeReference) =>
  `${reference_type.toLowerCase()}, ${SURE[confidence]}`;

interface FoundProps<T> {
  of: Answer<T>;
  amount: (answer: T) => number;
  draw: (answer: T) => ComponentChildren;
}

function Found<T extends { basis: Basis; note?: string }>({ of: { data, error }, amount, draw }: FoundProps<T>) {
  const answer = data.value;
  if (!answer) {
    if (error.value !== undefined) return <Refused error={error.value} />;
    return <p role="status">Looking. The first question in a worktree waits until its files are read.</p>;
  }
  const all = amount(answer);
  return (
    <section class="pieces" aria-label="Found">
      <p role="status">
        {all === 0 ? 'Nothing of that is there.' : plural(all, 'place')}{' '}
        <span class="hint">{basisWords(answer.basis)}</span>
      </p>
      {answer.note !== undefined && <p class="hint">{plain(answer.note)}</p>}
      {draw(answer)}
    </section>
  );
}

/** What the answer is about, and what could not add to it. */
function basisWords({ complete, pending, dirtyFiles, head }: Basis): string {
  const at = head === '' ? 'before the first commit' : `at ${head.slice(0, 10)}`;
  const changed = dirtyFiles > 0 ? ` with ${plural(dirtyFiles, 'changed file')}` : '';
  const missing = complete ? '' : `; ${plural(pending, 'file')} not read yet`;
  return `${at}${changed}${missing}`;
}

interface PieceProps {
  file: string;
  lines: string;
  why: string;
  text: string;
}

/** Code is text: nothing in it is drawn as anything else. */
function Piece({ file, lines, why, text }: PieceProps) {
  return (
    <details class="piece" open data-item>
      <summary class="item">
        <Place file={file} lines={lines} why={why} />
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard. */}
      <pre tabIndex={0}>{plain(text)}</pre>
    </details>
  );
}

function Place({ file, lines, why }: Omit<PieceProps, 'text'>) {
  return (
    <>
      <code>
        {plain(file)}:{lines}
      </code>{' '}
      <span class="hint">{plain(why)}</span>
    </>
  );
}

/** A definition; its code is read when somebody opens it. */
function SymbolPiece({ symbol, asked }: { symbol: CodeSymbol; asked: Asked }) {
  const isWanted = useSignal(false);
  const { name, symbol_type, location, signature } = symbol;
  const { file, start_line, end_line } = location;
  const wanted = { name, file_path: file, include_source: true, ...inWorktree(asked) };
  const found = useOperation('get_symbol', isWanted.value ? wanted : undefined);
  const source = found.data.value?.symbols.find(({ id }) => id === symbol.id)?.source;
  return (
    <details
      class="piece"
      data-item
      onToggle={({ currentTarget }) => {
        isWanted.value ||= currentTarget.open;
      }}
    >
      <summary class="item">
        <Place file={file} lines={`${start_line}–${end_line}`} why={`${symbol_type} ${name}`} />
      </summary>
      <Refused error={found.error.value} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard. */}
      <pre tabIndex={0}>{plain(source ?? signature)}</pre>
    </details>
  );
}
