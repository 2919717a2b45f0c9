import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { plain } from '../format.ts';
import { draft } from '../store/drafts.ts';
import { Button } from '../widgets/button.tsx';
import type { Given } from './answer.ts';
import type { AskedCard } from './asked.ts';

interface AnswersProps {
  card: AskedCard;
  give: (given: Given) => void;
  /** The way to all of a question that is cut. */
  whole: ComponentChildren;
}

export function Answers({ card, give, whole }: AnswersProps) {
  const { kind, choices = [], multi, field, fingerprint } = card.entry;
  if (kind === 'permission') return <Decisions card={card} give={give} whole={whole} />;
  return (
    <div class="answers" key={fingerprint}>
      {choices.length > 0 && (multi ? <Several card={card} give={give} /> : <Single card={card} give={give} />)}
      <FreeText card={card} give={give} />
      {field && (
        <Button kind="quiet" acts onClick={() => give({ decision: 'deny' })}>
          Decline the form
        </Button>
      )}
    </div>
  );
}

function Decisions({ card, give, whole }: AnswersProps) {
  const { grant, cut } = card.entry;
  const reason = draft(`reason ${card.key}`);
  const because = cut ? 'Not all of it is shown yet' : undefined;
  const deny = () => give({ decision: 'deny', ...(reason.value.trim() && { reason: reason.value.trim() }) });
  return (
    <div class="answers">
      {whole}
      <div class="choices">
        <Button kind="main" keyHint="y" acts offBecause={because} onClick={() => give({ decision: 'allow_once' })}>
          Allow once
        </Button>
        {grant && (
          <>
            <Button keyHint="s" acts offBecause={because} onClick={() => give({ decision: 'allow_session' })}>
              For this session
            </Button>
            <Button acts offBecause={because} onClick={() => give({ decision: 'allow_always' })}>
              Always
            </Button>
          </>
        )}
        <span class="denial">
          <input
            type="text"
            aria-label="Why not"
            placeholder="Why not, if you like"
            maxLength={16_384}
            value={reason.value}
            onInput={({ currentTarget }) => {
              reason.value = currentTarget.value;
            }}
          />
          <Button kind="danger" keyHint="d" acts onClick={deny}>
            Deny
          </Button>
        </span>
      </div>
      {grant && !cut && <p class="hint">Session and always: {plain(grant.covers)}.</p>}
    </div>
  );
}

const VERBS: Readonly<Record<string, string>> = {
  approve: 'Let it do this block',
  resume: 'Go on',
  retry: 'Do this block once more',
  skip: 'Go on as if it had succeeded',
  abort: 'End the run; the worktree stays',
};

function Single({ card, give }: Omit<AnswersProps, 'whole'>) {
  const { choices = [], runId, jobId } = card.entry;
  const text = draft(`answer ${card.key}`);
  const isHalt = runId === jobId;
  const choose = (label: string) => {
    const said = text.value.trim();
    give({ option: [label], ...(isHalt && said && { text: said }) });
    text.value = '';
  };
  return (
    <ol class={`options${isHalt ? ' verbs' : ''}`}>
      {choices.map(({ id, label, description }, at) => (
        <li key={id}>
          <Button acts onClick={() => choose(label)} {...(at < 9 && { keyHint: String(at + 1) })}>
            <span class="option">
              <strong>{plain(label)}</strong>
              <span>{isHalt ? VERBS[label] : description && plain(description)}</span>
            </span>
          </Button>
        </li>
      ))}
    </ol>
  );
}

function Several({ card, give }: Omit<AnswersProps, 'whole'>) {
  const chosen = useSignal<readonly string[]>([]);
  const set = (label: string, isChosen: boolean) => {
    const others = chosen.value.filter((each) => each !== label);
    chosen.value = isChosen ? [...others, label] : others;
  };
  return (
    <>
      <ul class="options">
        {(card.entry.choices ?? []).map(({ id, label, description }) => (
          <li key={id}>
            <label class="check">
              <input
                type="checkbox"
                checked={chosen.value.includes(label)}
                onChange={({ currentTarget }) => set(label, currentTarget.checked)}
              />
              <span class="option">
                <strong>{plain(label)}</strong>
                <span>{description && plain(description)}</span>
              </span>
            </label>
          </li>
        ))}
      </ul>
      <Button
        kind="main"
        acts
        offBecause={chosen.value.length === 0 ? 'Choose at least one' : undefined}
        onClick={() => give({ option: [...chosen.value] })}
      >
        Answer
      </Button>
    </>
  );
}

/** Ctrl and Enter sends. A secret is neither shown nor kept as a draft. */
function FreeText({ card, give }: Omit<AnswersProps, 'whole'>) {
  const { freeText, secret, kind, field, runId, jobId } = card.entry;
  const kept = draft(`answer ${card.key}`);
  const unkept = useSignal('');
  const text = secret ? unkept : kept;
  if (!freeText && kind !== 'text') return null;
  const isHalt = runId === jobId;
  const send = () => {
    if (text.value.trim() === '' && field?.required !== false) return;
    give({ text: text.value });
    text.value = '';
  };
  const shared = {
    'aria-label': isHalt ? 'What the next agent should know' : 'Your answer',
    placeholder: isHalt ? 'What the next agent should know, if anything' : 'Your answer',
    value: text.value,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement | HTMLTextAreaElement }) => {
      text.value = currentTarget.value;
    },
  };
  return (
    <form
      class="free-text"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isHalt) send();
      }}
    >
      {secret ? (
        <input type="password" autocomplete="off" {...shared} />
      ) : (
        <textarea
          rows={1}
          {...shared}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !isHalt) send();
          }}
        />
      )}
      {!isHalt && (
        <Button type="submit" kind="main" acts>
          Answer
        </Button>
      )}
    </form>
  );
}
