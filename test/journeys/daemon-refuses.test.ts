import { afterAll, expect } from 'vitest';
import { openSqlite } from '../../src/store/driver.ts';
import { RunsRig } from '../e2e/runs-rig.ts';
import { verifies } from '../support/verifies.ts';

const rig = new RunsRig();
afterAll(() => rig.close());

verifies('A-177').test(
  'why a daemon cannot start is the answer of the command, without a stack, and doctor names it',
  async () => {
    expect((await rig.reef('ps')).code).toBe(0);
    await rig.world.stopDaemon();
    const database = openSqlite(rig.world.home.database);
    const ours = Number(database.pragma('user_version'));
    database.pragma('user_version = 999');
    database.close();

    const refused = await rig.reef('ps');
    expect([refused.code, refused.err]).toEqual([
      69,
      expect.stringMatching(
        /^store_too_new: the database has schema 999, this Reef knows up to \d+\nUpdate Reef: .*\n$/,
      ),
    ]);
    const doctor = await rig.reef('doctor');
    expect(doctor.out).toMatch(/daemon +cannot start: the database has schema 999/);

    // The newer Reef is not needed any more: nothing stands in the way of the next start.
    const again = openSqlite(rig.world.home.database);
    again.pragma(`user_version = ${ours}`);
    again.close();
    expect((await rig.reef('ps')).code).toBe(0);
  },
  90_000,
);
