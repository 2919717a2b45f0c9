import { expect } from 'vitest';
import { playAll, tableOf } from '../../bench/context/hello-world.ts';
import { verifies } from '../../test/support/verifies.ts';

verifies('S-24', 'S-66').test(
  'the hello-world story writes every file once, in fewer turns and with smaller prompts than without guards',
  async () => {
    const rows = await playAll();
    console.log(tableOf(rows));
    for (const habit of ['identical', 'nearly identical'] as const) {
      const [off, on] = [false, true].map(
        (isOn) => rows.find((row) => row.habit === habit && row.isOn === isOn)?.figures,
      );
      if (!off || !on) throw new Error(`${habit} was not played`);
      expect(off.writes).toEqual({ 'go.mod': 1, 'README.md': 1, 'main.go': 41 });
      expect(on.writes).toEqual({ 'go.mod': 1, 'README.md': 1, 'main.go': 1 });
      expect(on.turns).toBeLessThan(off.turns);
      expect(on.context.most).toBeLessThan(off.context.most);
      expect(on.context.all).toBeLessThan(off.context.all);
      expect([off.endedBy, on.endedBy]).toEqual(['done', 'criteria']);
    }
  },
  120_000,
);
