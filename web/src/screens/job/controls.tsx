import { isOver } from '../../../../src/protocol/is-over.ts';
import type { JobView } from '../../../../src/protocol/job-operations.ts';
import { op } from '../../connection/op.ts';
import { draft } from '../../store/drafts.ts';
import { useAct } from '../../store/use-act.ts';
import { Button } from '../../widgets/button.tsx';
import { Refused } from '../../widgets/notice.tsx';
import { Sure } from '../../widgets/sure.tsx';

/** Talk to the agent, stop its turn, go on with its session, or end it. */
export function Controls({ job }: { job: JobView }) {
  const text = draft(`message ${job.id}`);
  const { act, refused, isBusy } = useAct();
  const rests = isOver(job.status) || job.status === 'paused';
  const send = async () => {
    const said = text.value.trim();
    if (said === '' && !rests) return;
    const ask = rests
      ? () => op('resume', { id: job.id, ...(said !== '' && { text: said }) })
      : () => op('send', { id: job.id, text: said });
    if (await act(ask)) text.value = '';
  };
  const isLost = job.status === 'killed';
  const asks = job.questions.length > 0 ? 'It waits for an answer to its question' : undefined;
  return (
    <form
      class="controls"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <Refused error={refused.value} />
      <textarea
        rows={1}
        aria-label={rests ? 'What it should do next' : 'Message to the agent'}
        placeholder={rests ? 'What it should do next' : 'Message to the agent'}
        value={text.value}
        onInput={({ currentTarget }) => {
          text.value = currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void send();
        }}
      />
      <div class="actions">
        <Button
          type="submit"
          kind="main"
          acts
          isBusy={isBusy.value}
          offBecause={isLost ? 'A killed job stays ended' : asks}
        >
          {rests ? 'Resume' : 'Send'}
        </Button>
        {job.status === 'running' && (
          <Button icon="pause" acts onClick={() => void act(() => op('interrupt', { id: job.id }))}>
            Interrupt
          </Button>
        )}
        {!isOver(job.status) && (
          <Sure
            icon="stop"
            label="Kill"
            sure="Kill it for good?"
            onClick={() => void act(() => op('kill', { id: job.id }))}
          />
        )}
      </div>
    </form>
  );
}
