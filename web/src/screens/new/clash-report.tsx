import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { plain } from '../../format.ts';
import { worktrees } from '../../store/home.ts';
import { useOperation } from '../../store/use-operation.ts';
import { Refused } from '../../widgets/notice.tsx';
import { Clashes } from '../worktrees/radar.tsx';

/** Typing pauses this long between two thoughts. */
const PAUSE_MS = 350;

/** What a plan would get in the way of, while it is written. */
export function ClashReport({ plan }: { plan: readonly string[] }) {
  const text = plan.join('\n');
  const asked = useSignal(text);
  useEffect(() => {
    const timer = setTimeout(() => {
      asked.value = text;
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  if (plan.length === 0) {
    return <p class="hint">Name the files it will change, and here is said who else is at work on them.</p>;
  }
  return text === asked.value ? <Report key={text} plan={[...plan]} /> : <Comparing />;
}

function Comparing() {
  return (
    <p class="hint" role="status">
      Comparing with what is at work…
    </p>
  );
}

function Report({ plan }: { plan: string[] }) {
  const { data, error } = useOperation('conflicts', { plan }, ({ kind }) => kind === 'worktree');
  const report = data.value?.report;
  if (!report) return error.value === undefined ? <Comparing /> : <Refused error={error.value} />;
  const { status, complete, clashes, problems, refused } = report;
  const certain = clashes.filter(({ tier }) => tier !== 'unknown');
  const isOurs = (id: string) => worktrees.value.some((each) => each.id === id);
  const waits = certain.some(({ tier, worktreeId }) => tier !== 'hop' && isOurs(worktreeId));
  return (
    <div class="clash-report" role="status">
      <Refused error={error.value} />
      {status === 'CLASH' ? (
        <p class="notice tone-waits">
          <strong>Others are at work there.</strong>
          {waits && ' It starts when those with the same files are done.'}
        </p>
      ) : (
        <p class="notice tone-good">
          <strong>Nobody is in the way</strong>
          {!complete && ', as far as is known'}.
        </p>
      )}
      {certain.length > 0 && <Clashes clashes={certain} all={worktrees.value} />}
      {refused && (
        <ul class="hint">
          {refused.map(({ path, why }) => (
            <li key={path}>
              <code>{plain(path)}</code> {plain(why)}
            </li>
          ))}
        </ul>
      )}
      {!complete && (
        <p class="hint">Not known: {plain((problems ?? ['there is no index of references']).join('; '))}</p>
      )}
    </div>
  );
}
