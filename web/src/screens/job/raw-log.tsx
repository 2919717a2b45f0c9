import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { op } from '../../connection/op.ts';
import { count, plain } from '../../format.ts';
import { Button } from '../../widgets/button.tsx';
import { Refused } from '../../widgets/notice.tsx';

const PAGE_BYTES = 65_536;

/** What the agent's process wrote, byte by byte: the end first, and older parts on request. */
export function RawLog({ id }: { id: string }) {
  const stream = useSignal<'out' | 'err'>('out');
  const part = useSignal<{ text: string; from: number; size: number } | undefined>(undefined);
  const refused = useSignal<unknown>(undefined);
  const read = async (from: number, bytes: number, rest = '') => {
    try {
      const log = await op('job_log', { id, stream: stream.peek(), from, bytes });
      part.value = { text: log.text + rest, from: log.from, size: log.size };
      refused.value = undefined;
    } catch (error) {
      part.value = undefined;
      refused.value = error;
    }
  };
  const shown = stream.value;
  useEffect(() => void read(-PAGE_BYTES, PAGE_BYTES), [id, shown]);
  const older = () => {
    const { from, text } = part.value ?? { from: 0, text: '' };
    const bytes = Math.min(PAGE_BYTES, from);
    return read(from - bytes, bytes, text);
  };
  return (
    <div class="raw">
      <div class="raw-head">
        <label class="field">
          <span>Stream</span>
          <select
            value={shown}
            onChange={({ currentTarget }) => {
              stream.value = currentTarget.value === 'err' ? 'err' : 'out';
            }}
          >
            <option value="out">Output</option>
            <option value="err">Errors</option>
          </select>
        </label>
        <Button onClick={() => read(-PAGE_BYTES, PAGE_BYTES)}>Read again</Button>
        {part.value && part.value.from > 0 && (
          <Button onClick={older}>Older, {count(part.value.from)} bytes before</Button>
        )}
      </div>
      <Refused error={refused.value} />
      {part.value && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard.
        <section aria-label="Raw log" tabIndex={0}>
          <pre class="output">{plain(part.value.text) || 'It has written nothing here.'}</pre>
        </section>
      )}
    </div>
  );
}
