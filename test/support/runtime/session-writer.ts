import { systemClock } from '../../../src/base/clock.ts';
import { type Message, userText } from '../../../src/runtime/models/message.ts';
import { SessionStore } from '../../../src/runtime/sessions/store.ts';

/** A process that says things in a session: `writer.ts DIR SESSION NAME COUNT`, COUNT writers at once. */
const [dir = '', session = '', name = '', count = '1'] = process.argv.slice(2);
const store = new SessionStore({ dir, clock: systemClock, warn: () => {} });
await Promise.all(
  Array.from({ length: Number(count) }, async (_, n) => {
    const mine = await store.openOrCreate(session);
    const said = `${name}-${n}`;
    const messages: Message[] = [
      userText(said),
      { role: 'assistant', content: [{ type: 'text', text: `re ${said}` }] },
    ];
    mine.change({ kind: 'turn', messages });
    await store.save(mine);
  }),
);
process.stdout.write('done\n');
