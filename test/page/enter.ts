import type { Page } from 'playwright-core';
import type { World } from '../e2e/harness.ts';

/** Through the address that `reef open` prints. */
export async function enter(page: Page, { client }: World, path = '/'): Promise<void> {
  const { address, code } = await client.door({ do: 'login' });
  await page.goto(`${address}${path}#code=${code}`);
  await page.getByText('Live', { exact: true }).waitFor();
}
