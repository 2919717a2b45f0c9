import { useEffect, useRef } from 'preact/hooks';
import { type AskedCard, isHeld } from './asked.ts';
import { QuestionCard } from './question-card.tsx';

/** Oldest first. While a pointer or the focus is on the list, nothing in it moves. */
export function Questions({ asked }: { asked: readonly AskedCard[] }) {
  const hands = useRef({ pointer: false, focus: false });
  const set = (hand: 'pointer' | 'focus', isThere: boolean) => {
    hands.current[hand] = isThere;
    isHeld.value = hands.current.pointer || hands.current.focus;
  };
  useEffect(
    () => () => {
      isHeld.value = false;
    },
    [],
  );
  return (
    <div
      class="questions"
      onPointerEnter={({ pointerType }) => pointerType === 'mouse' && set('pointer', true)}
      onPointerLeave={() => set('pointer', false)}
      onFocusIn={() => set('focus', true)}
      onFocusOut={({ currentTarget, relatedTarget }) =>
        set('focus', relatedTarget instanceof Node && currentTarget.contains(relatedTarget))
      }
    >
      {asked.map((card, at) => (
        <QuestionCard key={card.key} card={card} at={at} />
      ))}
    </div>
  );
}
