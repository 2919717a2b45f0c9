import { expect } from 'vitest';
import { hasSshd, NO_SSHD, openBox } from '../e2e/box-rig.ts';
import { until } from '../support/wait.ts';
import { inChromium, pageTests } from './page-rig.ts';

/** The page of a Reef on another machine. */

const { tab } = pageTests();

inChromium('F-00')
  .needs(hasSshd, NO_SSHD)
  .test(
    'the page of another machine is here, and comes back with every event once after the network was gone',
    async () => {
      const box = await openBox();
      const { there, network, name } = box;
      // It is this machine as well: at its usual address the port would be taken.
      await there.client.door({ do: 'open', host: '127.0.0.2', isRemoteShell: true });
      const open = box.start('--on', name, 'open', '--json');
      try {
        const said = await until('the page is here', () => open.said.out.split('\n').find((line) => line !== ''));
        const { address, page: login } = JSON.parse(said) as { address: string; page: string };
        const { page } = await tab(address);
        await page.goto(login);
        await page.getByText('Live', { exact: true }).waitFor();
        const question = { ask: { question: 'Go on?', options: ['Yes', 'No'], as: 'on' } };
        const agent = there.script('talks', [{ say: 'Before.' }, question, { say: 'It was {on}.' }, { say: 'After.' }]);
        const { agentId } = await there.client.call('spawn', { agent, task: 'Store the orders', sandbox: false });
        await page.getByRole('link', { name: 'Store the orders' }).first().click();
        const timeline = page.getByRole('log', { name: 'Timeline' });
        await timeline.getByText('Before.', { exact: true }).waitFor();

        network.cut();
        await page.getByText(/^Not connected since/).waitFor();
        await until('the loss is told', () => open.said.err.includes('The connection is lost') || undefined);
        const { questions } = await there.client.call('inbox', {});
        await there.client.call('send', { id: agentId, questionId: questions[0]?.questionId, option: ['Yes'] });
        await there.until(agentId, ({ endedAt }) => endedAt !== undefined);
        network.isCut = false;
        await page.getByText('Live', { exact: true }).waitFor();
        await timeline.getByText('After.', { exact: true }).waitFor();
        expect(await timeline.getByText('Before.', { exact: true }).count()).toBe(1);
        expect(await timeline.getByText('It was Yes.', { exact: true }).count()).toBe(1);
        expect(open.said.err).toContain('Connected again.');
      } finally {
        open.child.kill();
        await open.ended;
        await box.close();
      }
    },
    240_000,
  );
