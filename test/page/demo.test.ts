import { expect } from 'vitest';
import { Chat, TMUX } from '../e2e/chat-rig.ts';
import { makeUser } from '../e2e/runtime-rig.ts';
import { inChromium, PATIENCE_MS, pageTests } from './page-rig.ts';

/** The demo as somebody sees it who opens the address that it prints. */

const { tab } = pageTests();

const inTerminalAndChromium: typeof inChromium = (...ids) =>
  inChromium(...ids).needs(TMUX !== undefined, 'tmux is not installed');

inTerminalAndChromium('U-40').test(
  'the demo is watched and answered on the page that it opens at once, across the death of its daemon',
  async () => {
    await using terminal = Chat.start(makeUser({ fixture: null }), ['demo']);
    const login = /http:\/\/127\.0\.0\.1:\d+\/#code=[\w-]+/;
    const address = login.exec(await terminal.until(login))?.[0] ?? '';
    const { page } = await tab(new URL(address).origin);
    await page.goto(address);
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Make the failing test pass' }).first().waitFor();

    // The daemon is killed and another takes its place: the page comes back by itself, with the same question.
    await terminal.until(/The question is still in the inbox/);
    const question = page.getByRole('group', { name: 'How is half a cent rounded?' });
    await page.locator('[data-question="open"][data-armed="true"]').and(question).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await question.getByRole('button', { name: 'To the even cent' }).click();
    await terminal.until(/It was answered on the page\./);

    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.getByRole('heading', { name: 'Make the failing test pass' }).getByRole('link').click();
    await page
      .getByText('Merged', { exact: true })
      .first()
      .waitFor({ timeout: 2 * PATIENCE_MS });
    const end = await terminal.until(/Enter ends the demo:/);
    expect(end).toMatch(/To look at all of it again:\n {2}cd \S+\/shop && XDG_STATE_HOME=\S+\/state \S+ open/);
    expect(end.match(new RegExp(login, 'g'))?.length).toBe(2);
    await page.getByText('Live', { exact: true }).waitFor();
    terminal.keys('Enter');
    await terminal.until(/\[ended 0\]/);
  },
  300_000,
);
