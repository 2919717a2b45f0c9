import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useId, useRef } from 'preact/hooks';
import { isLive } from '../connection/connection.ts';
import { op } from '../connection/op.ts';
import { Where } from '../fleet/where.tsx';
import { firstLine, plain } from '../format.ts';
import { singleKeys } from '../store/settings.ts';
import { Badge } from '../widgets/badge.tsx';
import { Button } from '../widgets/button.tsx';
import { Refused } from '../widgets/notice.tsx';
import { Ago } from '../widgets/time.tsx';
import { answer, type Given } from './answer.ts';
import { Answers } from './answers.tsx';
import { type AskedCard, change } from './asked.ts';
import { Chain } from './chain.tsx';
import { Request } from './request.tsx';
import { useArmed } from './use-armed.ts';

/** One question: what is asked, by whom, and the ways to answer it, all in one place. */
export function QuestionCard({ card, at }: { card: AskedCard; at: number }) {
  const { entry, state } = card;
  const id = useId();
  const refused = useSignal<unknown>(undefined);
  const box = useRef<HTMLDivElement>(null);
  const height = useLastHeight(box, state === 'open');
  const isArmed = useArmed(`${at} ${entry.fingerprint} ${entry.questionId} ${entry.question}`);
  const mayAnswer = isArmed && state === 'open' && isLive.value;
  const give = async (given: Given) => {
    if (!mayAnswer) return;
    refused.value = undefined;
    try {
      await answer(card, given);
    } catch (error) {
      refused.value = error;
    }
  };
  const [first = '', ...rest] = plain(entry.question).split('\n');
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out as a card, and its legend not as its heading.
    <div
      ref={box}
      style={{ minBlockSize: height }}
      class={`question ${state === 'closed' ? 'tone-calm' : 'tone-needs'}`}
      role="group"
      aria-labelledby={id}
      tabIndex={-1}
      data-question={state}
      data-armed={isArmed}
      onKeyDown={(event) => byKey(event, card, give)}
    >
      <header class="question-head">
        <Badge tone={state === 'closed' ? 'calm' : 'needs'}>{kindOf(card)}</Badge>
        <span class="asker">{plain(isHalt(card) ? firstLine(entry.task) : entry.agent)}</span>
        <span class="hint">
          asked <Ago at={entry.askedAt} />
        </span>
        <Where entry={entry} />
      </header>
      <h3 id={id}>{first}</h3>
      {rest.length > 0 && <pre class="excerpt">{rest.join('\n')}</pre>}
      <Request entry={entry} />
      {state === 'open' ? <Answers card={card} give={give} whole={<Whole card={card} />} /> : <Outcome card={card} />}
      <Refused error={refused.value} />
      <Chain entry={entry} />
    </div>
  );
}

/** An answered question takes the room it had, so that the one below stays where somebody is about to click. */
function useLastHeight(box: RefObject<HTMLElement | null>, isOpen: boolean): string | undefined {
  const height = useRef<string | undefined>(undefined);
  if (isOpen) height.current = undefined;
  else if (box.current) height.current ??= `${box.current.getBoundingClientRect().height}px`;
  return height.current;
}

/** A workflow asks, and no agent. */
const isHalt = ({ entry }: AskedCard) => entry.runId === entry.jobId;

function kindOf(card: AskedCard): string {
  if (isHalt(card)) return 'Run halted';
  const { entry } = card;
  const part = entry.group && entry.group.of > 1 ? ` ${entry.group.index + 1} of ${entry.group.of}` : '';
  if (entry.kind === 'permission') return `Permission${part}`;
  return `${entry.header ? plain(entry.header) : 'Question'}${part}`;
}

function Outcome({ card }: { card: AskedCard }) {
  const waits = card.state === 'sending' ? 'Sending …' : 'Sent. The agent has not confirmed it yet.';
  return (
    <p class="outcome" role="status">
      {card.outcome && <strong>{plain(card.outcome)}</strong>} {card.state !== 'closed' && waits}
    </p>
  );
}

/** What is cut can only be denied; all of it is shown before anybody can allow it. */
function Whole({ card }: { card: AskedCard }) {
  const { cut, fingerprint } = card.entry;
  const refused = useSignal<unknown>(undefined);
  if (!cut) return null;
  if (!cut.isKept) return <p class="hint">It is too long to be shown whole, so it can only be denied.</p>;
  const show = async () => {
    try {
      const [entry] = (await op('inbox', { whole: fingerprint })).questions;
      if (entry) change(card.key, { state: 'open', entry });
    } catch (error) {
      refused.value = error;
    }
  };
  return (
    <>
      <Button acts onClick={show}>
        Show all {Math.ceil(cut.bytes / 1024)} KiB of it
      </Button>
      <Refused error={refused.value} />
    </>
  );
}

/** Only with the focus inside the question, and never while somebody types. */
function byKey(event: KeyboardEvent, { entry }: AskedCard, give: (given: Given) => void): void {
  const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select');
  if (isTyping || event.repeat || event.ctrlKey || event.metaKey || event.altKey || !singleKeys.value) return;
  const given = entry.kind === 'permission' ? decisionOf(event.key, entry) : optionOf(event.key, entry);
  if (!given) return;
  event.preventDefault();
  event.stopPropagation();
  give(given);
}

function decisionOf(key: string, { grant, cut }: AskedCard['entry']): Given | undefined {
  if (key === 'd') return { decision: 'deny' };
  if (key === 'y' && !cut) return { decision: 'allow_once' };
  return key === 's' && !cut && grant ? { decision: 'allow_session' } : undefined;
}

function optionOf(key: string, { choices = [], multi }: AskedCard['entry']): Given | undefined {
  const chosen = /^[1-9]$/.test(key) && !multi ? choices[Number(key) - 1] : undefined;
  return chosen && { option: [chosen.label] };
}
