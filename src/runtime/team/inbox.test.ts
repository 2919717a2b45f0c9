import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { renderMessages, TeamInbox } from './inbox.ts';

verifies('R-106').test('ended tasks come first, then text, each in its order, and once', () => {
  const inbox = new TeamInbox();
  for (const [kind, text] of [
    ['text', '1'],
    ['task_completed', '2'],
    ['text', '3'],
    ['task_completed', '5'],
  ] as const)
    inbox.deliver({ kind, from: 'J', text });
  expect(inbox.isEmpty).toBe(false);
  expect(renderMessages(inbox.drain())).toBe(
    ['[A task ended, from J]\n2', '[A task ended, from J]\n5', '[Message, from J]\n1', '[Message, from J]\n3'].join(
      '\n\n',
    ),
  );
  expect([inbox.drain(), inbox.isEmpty]).toEqual([[], true]);
});
