import { useSignal } from '@preact/signals';
import type { PromptPart } from '../../../../src/protocol/workflow.ts';
import { count, plain } from '../../format.ts';
import { useOperation } from '../../store/use-operation.ts';
import { Refused } from '../../widgets/notice.tsx';

interface PartsProps {
  parts: readonly PromptPart[];
  jobId: string | undefined;
  block: string;
  visit: number;
}

interface Portion {
  section: string;
  tokens: number;
  parts: PromptPart[];
}

const SHOWN = { outline: 'its outline', cut: 'cut', pointer: 'only where it is' } as const;
const COLOURS = 6;

function portionsOf(parts: readonly PromptPart[]): Portion[] {
  const portions = new Map<string, Portion>();
  for (const part of parts) {
    const portion = portions.get(part.section) ?? { section: part.section, tokens: 0, parts: [] };
    portion.tokens += part.tokens;
    portion.parts.push(part);
    portions.set(part.section, portion);
  }
  return [...portions.values()];
}

/** The prompt as a bar of its sections, and each section with what stood under it. */
export function PromptParts({ parts, jobId, block, visit }: PartsProps) {
  const portions = portionsOf(parts);
  const total = Math.max(
    1,
    portions.reduce((sum, { tokens }) => sum + tokens, 0),
  );
  let from = 0;
  return (
    <div class="prompt">
      <svg class="prompt-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        {portions.map(({ section, tokens }, at) => {
          const x = from;
          const width = (tokens / total) * 100;
          from += width;
          return (
            <rect key={section} class={`of-${at % COLOURS}`} x={x} width={Math.max(0.2, width - 0.4)} height="6" />
          );
        })}
      </svg>
      <ul>
        {portions.map((portion, at) => (
          <li key={portion.section} class={`of-${at % COLOURS}`}>
            <span class="prompt-section">{plain(portion.section)}</span>
            <span class="number">{count(portion.tokens)}</span>
            {portion.parts.some(({ name }) => name !== undefined) && (
              <span class="prompt-names hint">{portion.parts.flatMap(wordsOf).join(', ')}</span>
            )}
          </li>
        ))}
      </ul>
      <p class="hint">{count(total)} tokens in all.</p>
      {jobId !== undefined && <Whole jobId={jobId} block={block} visit={visit} />}
    </div>
  );
}

function wordsOf({ name, shown }: PromptPart): string[] {
  if (name === undefined) return [];
  return [shown ? `${plain(name)} (${SHOWN[shown]})` : plain(name)];
}

/** The text itself, read when somebody wants it. */
function Whole({ jobId, block, visit }: { jobId: string; block: string; visit: number }) {
  const isWanted = useSignal(false);
  const asked = useOperation('calls', isWanted.value ? { job: jobId, limit: 200 } : undefined);
  const calls = asked.data.value?.calls.filter((call) => call.block === block && call.visit === visit) ?? [];
  const first = calls.at(-1);
  return (
    <details
      onToggle={({ currentTarget }) => {
        isWanted.value ||= currentTarget.open;
      }}
    >
      <summary>Read it</summary>
      <Refused error={asked.error.value} />
      {first && <pre class="excerpt">{plain(first.request.prompt)}</pre>}
      {asked.data.value && !first && <p class="hint">Its first call is not over yet.</p>}
    </details>
  );
}
