import { systemClock } from '../../../base/clock.ts';
import { userText } from '../../models/message.ts';
import { SessionStore } from '../store.ts';

/** A process that says things in a session: `writer.ts DIR SESSION NAME COUNT`, COUNT writers at once. */
const [dir = '', session = '', name = '', count = '1'] = process.argv.slice(2);
const store = new SessionStore({ dir, clock: systemClock, warn: () => {} });
await Promise.all(
  Array.from({ length: Number(count) }, async (_, n) => {
    const mine = await store.openOrCreate(session);
    const said = `${name}-${n}`;
    await store.append(mine, [userText(said), { role: 'assistant', content: [{ type: 'text', text: `re ${said}` }] }]);
  }),
);
process.stdout.write('done\n');
