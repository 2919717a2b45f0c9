import { afterAll, expect } from 'vitest';
import { addPerson, addToken } from '../../src/fleet/hub/people.ts';
import { openHostStore } from '../../src/fleet/store/host-store.ts';
import { openHub } from '../../src/surfaces/http/hub/open-hub.ts';
import { preparedDatabase } from '../support/fleet/prepared.ts';
import { testHome, testJob, testQuestion } from '../support/fleet/test-home.ts';
import { hasPostgres, NO_POSTGRES, postgresOfFile } from '../support/postgres.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/wait.ts';
import { inChromium, pageTests } from './page-rig.ts';

const server = postgresOfFile();
const tests = pageTests();
const ending: (() => Promise<void>)[] = [];
const log = { error: (...words: unknown[]) => console.error(words), warn: () => {}, info: () => {}, debug: () => {} };

afterAll(async () => {
  for (const end of ending.reverse()) await end();
});

inChromium('F-39', 'F-53')
  .needs(hasPostgres, NO_POSTGRES)
  .test(
    'the page of a fleet shows hosts and questions with where they are; of two people the second sees who was first',
    async () => {
      const database = await preparedDatabase(server());
      await database.query("INSERT INTO reef.repository (id, name, url) VALUES ('shop', 'shop', 'x')");
      await database.query(
        "INSERT INTO reef.host (id, epoch, slots, version) VALUES ('north', 1, 8, '0.1.0'), ('south', 1, 4, '0.1.0')",
      );
      const home = testHome(temporaryFolder(), 'shop');
      const identity = { host: 'south', epoch: 1 };
      const store = openHostStore({ database, log, identity: () => identity, homes: () => [home] });
      const folder = temporaryFolder();
      const door = await openHub({
        database,
        log,
        env: { PATH: process.env.PATH ?? '' },
        host: '127.0.0.1',
        port: 0,
        folder,
      });
      ending.push(
        () => database.close(),
        async () => home.store.close(),
        () => store.close(),
        () => door.close(),
      );
      const enter = async (name: string) => {
        await addPerson(database, { name, role: 'operator', mayMerge: false, repositories: null });
        const { token } = await addToken(database, { person: name, device: 'laptop' });
        const { page } = await tests.tab(door.address);
        await page.goto(`${door.address}/#code=${token}`);
        await page.getByText('Live', { exact: true }).waitFor();
        return page;
      };
      const [ada, ben] = [await enter('ada'), await enter('ben')];
      await ada.getByRole('row', { name: /south up 0 of 4/ }).waitFor();
      home.jobs.set('J', testJob('J'));
      home.questionsNow = [
        testQuestion('J', {
          question: 'Which database?',
          options: ['SQLite', 'Postgres'],
          choices: [
            { id: 'SQLite', label: 'SQLite' },
            { id: 'Postgres', label: 'Postgres' },
          ],
        }),
      ];
      home.messages('J', 1);
      for (const page of [ada, ben]) await page.getByText('shop on south').waitFor();
      await ada.locator('[data-armed="true"]').waitFor();
      await ada.getByRole('button', { name: /Postgres/ }).click();
      await until('the host has it', () => home.performed.length > 0);
      await ben.getByText(/answered by ada/).waitFor();
      await ben.locator('[data-armed="true"]').waitFor();
      await ben.getByRole('button', { name: /SQLite/ }).click();
      await ben.getByText('Answered by ada', { exact: false }).first().waitFor();
      expect(home.performed.map(({ by }) => by)).toEqual(['ada']);
    },
  );
