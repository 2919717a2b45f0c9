import { createServer, type Server } from 'node:http';
import type { Page, Request } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { until } from '../support/wait.ts';
import { inChromium, type PageRig, pageTests, untilThereIs } from './page-rig.ts';

/** How a page comes in, what it keeps, and to whom it shows it. */

const { browser, rig } = pageTests();

const signedOut = (page: Page) => page.getByRole('heading', { name: 'Signed out' }).waitFor();
const live = (page: Page) => page.getByText('Live', { exact: true }).waitFor();

/** Everything that a tab asks for from now on. */
function asked(page: Page): Request[] {
  const requests: Request[] = [];
  page.on('request', (request) => requests.push(request));
  return requests;
}

const tokenOf = (requests: readonly Request[]) =>
  requests
    .map((request) => request.headers().authorization)
    .find((header) => header !== undefined)
    ?.slice(7) ?? '';

/** Whatever comes, with its head and body, as text. */
async function listen(port: number): Promise<{ server: Server; port: number; heard: string[] }> {
  const heard: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray();
    heard.push(JSON.stringify([request.method, request.url, request.headers, Buffer.concat(chunks).toString()]));
    response.setHeader('content-type', 'application/json');
    response.end('{"proof":"0000","token":"x","tokenId":"x"}');
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, port: (server.address() as { port: number }).port, heard };
}

inChromium('X-05', 'U-36').test(
  'a code comes in the fragment, works once and is cleared; the token is in a header, in no cookie and in nothing kept',
  async () => {
    const { world, blank } = await rig();
    const { address, code } = await world.client.door({ do: 'login' });
    const { page, context } = await blank();
    const requests = asked(page);
    await page.goto(`${address}/runs#code=${code}`);
    await live(page);
    expect(page.url()).toBe(`${address}/runs`);
    const token = tokenOf(requests);
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    const api = requests.filter((request) => request.url().includes('/v1/'));
    const open = api.filter((request) => request.headers().authorization === undefined);
    expect(open.map((request) => [request.method(), request.url(), request.postDataJSON()])).toEqual([
      ['POST', `${address}/v1/login`, { code }],
    ]);
    expect(api.some((request) => request.url().includes('/v1/events'))).toBe(true);
    const urls = requests.map((request) => request.url()).join('\n');
    expect([urls.includes(token), urls.includes(code ?? '')]).toEqual([false, false]);
    const kept = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])');
    expect([await context.cookies(), String(kept).includes(token)]).toEqual([[], false]);

    const second = await blank();
    await second.page.goto(`${address}/#code=${code}`);
    await signedOut(second.page);
    await page.reload();
    await signedOut(page);

    // A fresh address in the same tab changes nothing but the fragment.
    const fresh = await world.client.door({ do: 'login' });
    await page.evaluate(`location.href = '${address}/runs#code=${fresh.code}'`);
    await live(page);
    expect(page.url()).toBe(`${address}/runs`);
  },
);

inChromium('X-05', 'U-36').test('somebody who wants to stays signed in when the tab reloads', async () => {
  const { signIn, blank, address } = await rig();
  const { page, context } = await signIn();
  await page.keyboard.press('?');
  await page.getByLabel('Stay signed in when this tab reloads').check();
  await page.reload();
  await live(page);
  expect(await context.cookies()).toEqual([]);
  // Only this tab: another one has to come by a code of its own.
  const other = await context.newPage();
  await other.goto(address);
  await signedOut(other);
  const stranger = await blank();
  await stranger.page.goto(address);
  await signedOut(stranger.page);
});

inChromium('X-06', 'U-36', 'U-35').test(
  'a page comes back after the daemon has died, with its drafts, its token and each event once',
  async () => {
    const all = await rig();
    const words = ['one', 'two', 'three', 'four'].map((word) => ({ say: `Word ${word}.` }));
    const id = await all.spawn([words[0], words[1], untilThereIs('go'), words[2], words[3]], { keep: true });
    const { page: tab } = await all.signIn(`/jobs/${id}`);
    const requests = asked(tab);
    const said = tab.getByRole('log', { name: 'Timeline' }).getByText(/^Word \w+\.$/);
    await said.filter({ hasText: 'two' }).waitFor();
    const draft = tab.getByRole('textbox');
    await draft.fill('use one index');

    await all.world.killDaemon();
    await tab.getByText(/^Not connected since \d\d:\d\d/).waitFor();
    const kill = tab.getByRole('button', { name: 'Kill' });
    await until('what acts is off', async () => (await kill.getAttribute('aria-disabled')) === 'true');
    all.touch('go');
    await all.world.client.call('status', {});
    await live(tab);
    await said.filter({ hasText: 'four' }).waitFor();
    expect(await said.allTextContents()).toEqual(['Word one.', 'Word two.', 'Word three.', 'Word four.']);
    expect(await draft.inputValue()).toBe('use one index');
    const paths = requests.map((request) => new URL(request.url()).pathname);
    expect([paths.includes('/v1/proof'), paths.includes('/v1/login')]).toEqual([true, false]);
    const shown = requests.filter((request) => request.url().endsWith('/v1/proof'));
    expect(shown.every((request) => request.headers().authorization === undefined)).toBe(true);
  },
);

inChromium('U-35').test('what was skipped and what is old is said', async () => {
  const { world, signIn } = await rig();
  const { page } = await signIn();
  // What the daemon says to a reader who was away for longer than events are kept.
  const gap = 'event: gap\ndata: {"from":3,"to":7}\n\n';
  await page.route('**/v1/events?*', (route) => route.fulfill({ contentType: 'text/event-stream', body: gap }), {
    times: 1,
  });
  await world.killDaemon();
  await page.getByText(/^This is what was known at \d\d:\d\d\./).waitFor();
  await world.client.call('status', {});
  await page.getByText('Live, 5 older events skipped').waitFor();
});

inChromium('X-06', 'U-36').test('whoever takes the port of a dead daemon learns no token', async () => {
  const { world, signIn, address }: PageRig = await rig();
  const { page } = await signIn();
  const requests = asked(page);
  await page.getByRole('link', { name: 'Usage' }).click();
  await until('the page has shown its token to the daemon', () => tokenOf(requests) !== '');
  const token = tokenOf(requests);
  await world.killDaemon();
  const { server, heard } = await listen(Number(new URL(address).port));
  await page.getByText(/another program answers there/).waitFor();
  await until('it has been asked more than once', () => heard.length > 1);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  const all = heard.join('\n');
  expect([all.includes(token), /authorization/i.test(all), all.includes('/v1/proof')]).toEqual([false, false, true]);
  await world.client.call('status', {});
  await live(page);
});

inChromium('X-106').test(
  'no address of a server is taken from the query, and the policy lets none be asked',
  async () => {
    const { world, blank } = await rig();
    const { port, heard } = await listen(0);
    const { address, code } = await world.client.door({ do: 'login' });
    const other = `http://127.0.0.1:${port}`;
    const names = ['server', 'gatewayUrl', 'url', 'host', 'api', 'address', 'origin', 'ws'];
    const query = new URLSearchParams(names.map((name): [string, string] => [name, other]));
    const { page } = await blank();
    await page.goto(`${address}/now?${query}#code=${code}`);
    await live(page);
    await page.getByRole('heading', { name: 'Nothing is at work' }).waitFor();
    // A tab of our own: what the policy refuses here would be a fault of the page elsewhere.
    const context = await browser().newContext();
    onTestFinished(() => context.close());
    const tried = await context.newPage();
    await tried.goto(`${address}/now?${query}`);
    await signedOut(tried);
    const tries = `(async () => {
    const image = new Promise((resolve) => {
      const one = new Image();
      one.onload = () => resolve('loaded');
      one.onerror = () => resolve('refused');
      one.src = '${other}/x.png';
    });
    const fetched = fetch('${other}/x', { mode: 'no-cors' }).then(() => 'loaded', () => 'refused');
    return Promise.all([image, fetched]);
  })()`;
    expect([await tried.evaluate(tries), heard]).toEqual([['refused', 'refused'], []]);
  },
);
