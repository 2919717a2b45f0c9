import { duration, roughly } from '../format.ts';
import { now } from '../store/tick.ts';

/** How long ago, or since when; the exact time is in its title. */
export function Ago({ at, words = 'ago' }: { at: string; words?: string }) {
  const date = new Date(at);
  return (
    <time dateTime={at} title={date.toLocaleString()}>
      {roughly(now.value - date.getTime())} {words}
    </time>
  );
}

/** From the beginning to the end, or until now. */
export function Took({ from, to }: { from: string; to?: string | undefined }) {
  const end = to === undefined ? now.value : Date.parse(to);
  return <span class="number">{duration(end - Date.parse(from))}</span>;
}
