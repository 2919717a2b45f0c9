import { buildWebIfOlder } from '../../scripts/build-web.ts';
import { unpackChromium } from './chromium.ts';

/** Before the first file: the page is that of the sources, and the browser is unpacked. */
export async function setup(): Promise<void> {
  await buildWebIfOlder();
  await unpackChromium();
}
