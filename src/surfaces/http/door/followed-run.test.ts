import { expect } from 'vitest';
import { manualClock } from '../../../../test/support/manual-clock.ts';
import { sampleRun, sampleView } from '../../../../test/support/surfaces/sample-runs.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { afterNews } from '../../../protocol/differences.ts';
import type { RunView } from '../../../protocol/workflow.ts';
import { ToldViews } from '../../../workflow/runs/told-views.ts';
import { FollowedRun } from './followed-run.ts';

verifies('W-81').test(
  'a run that changes a thousand times a second is told ten times, and nothing of it is lost',
  async () => {
    const clock = manualClock();
    const told = new ToldViews();
    let view: RunView = sampleView();
    const follow = async (after: number) => ({ run: sampleRun(), ...told.since('R', after, view) });
    const reader = new FollowedRun(follow, 0, clock);
    const messages: string[] = [];
    let seen: RunView | undefined;
    const look = async (hasChanges: boolean) => {
      const message = await reader.news(hasChanges);
      if (message === '') return;
      messages.push(message);
      seen = afterNews(seen, JSON.parse(message.slice(message.indexOf('data: ') + 6)));
    };
    for (let n = 1; n <= 3_000; n++) {
      const at = { block: 'N__A', visit: n, branch: 'main' };
      view = { ...view, seq: view.seq + 1, path: [...view.path, at], visits: { ...view.visits, N__A: n } };
      await look(true);
      await clock.advance(1);
    }
    expect(messages.length).toBe(30);
    await look(false);
    expect(seen).toEqual(JSON.parse(JSON.stringify(view)));
    expect(reader.dueInMs).toBe(undefined);
    // Each message is about what is new, however long the way is by now.
    expect(Math.max(...messages.slice(1).map(({ length }) => length))).toBeLessThan(2 * (messages[1]?.length ?? 0));
    await look(true);
    expect(messages.length).toBe(31); // nothing was different
  },
);
