import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, beforeEach, expect } from 'vitest';
import { probeCapabilities } from '../../src/process/capabilities.ts';
import { connect as connectSocket } from '../../src/surfaces/client/client.ts';
import { errorBody } from '../../src/surfaces/client/request.ts';
import { makeWorld, type World } from '../e2e/harness.ts';
import { verifies } from '../support/verifies.ts';

/** MCP clients as they are: the official SDK, `reef mcp` as a process, a real daemon. What their models may make Reef do. */

const REEF = fileURLToPath(new URL('../../bin/reef.cjs', import.meta.url));
const SLOW_MS = 120_000;
const { bubblewrap, sandboxesNetwork } = await probeCapabilities();

let world: World;
const opened: Client[] = [];
beforeEach(() => {
  world = makeWorld();
});
afterEach(async () => {
  for (const client of opened.splice(0)) await client.close();
  await world.close();
});

type Person = (message: string) => boolean;

/** With a person, the client can put a question of the server to them. */
async function connect({ name = 'editor', person }: { name?: string; person?: Person } = {}) {
  const client = new Client({ name, version: '1' }, { capabilities: person ? { elicitation: {} } : {} });
  if (person) {
    client.setRequestHandler('elicitation/create', async ({ params }) =>
      person(params.message) ? { action: 'accept', content: { agreed: true } } : { action: 'decline' },
    );
  }
  const env = Object.fromEntries(Object.entries(world.env).map(([key, value]) => [key, value ?? '']));
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [REEF, 'mcp'], cwd: world.repository, env }),
  );
  opened.push(client);
  return {
    async call(tool: string, args: Record<string, unknown>) {
      const result = await client.callTool({ name: tool, arguments: args }, { timeout: SLOW_MS });
      const [first] = result.content as { text: string }[];
      return { isError: result.isError ?? false, text: first?.text ?? '', value: result.structuredContent as never };
    },
  };
}

type Connected = Awaited<ReturnType<typeof connect>>;

/** A script of this name that asks before it makes `<name>.txt`. The configuration names those in `named`. */
function asking(name: string): string {
  const steps = [{ edit: { path: `${name}.txt`, content: 'x\n' } }];
  return world.script(name, [
    { permit: { tool: 'Bash', input: { command: `touch ${name}.txt` }, steps } },
    { say: 'Done.' },
  ]);
}

function configure(agents: string[], more: object = {}) {
  world.configure({ reef: { agents: Object.fromEntries(agents.map((agent) => [agent, {}])), ...more } });
}

const asks = ({ status }: { status: string }) => status === 'awaiting_input';

async function spawned(client: Connected, args: Record<string, unknown>): Promise<string> {
  const { value, text, isError } = await client.call('spawn', { task: 'touch it', ...args });
  expect([isError, text]).toEqual([false, expect.any(String)]);
  const { agentId } = value as { agentId: string };
  await world.until(agentId, asks);
  return agentId;
}

async function allow(client: Connected, id: string, decision = 'allow_once') {
  const [question] = (await world.job(id)).questions;
  return client.call('send', { id, questionId: question?.questionId, fingerprint: question?.fingerprint, decision });
}

const made = (name: string) => existsSync(join(world.repository, `${name}.txt`));

verifies('X-131').test(
  'the model of an MCP client starts no script, uses no "unsafe", and merges nothing',
  async () => {
    const agent = asking('a');
    const client = await connect();
    const refusals = [
      await client.call('spawn', { agent, task: 'x' }),
      await client.call('spawn', { agent, task: 'x', yes: true, unsafe: true }),
      await client.call('spawn', { agent: 'claude', task: 'x', yes: true, unsafe: true }),
      await client.call('spawn', { agent: 'claude', task: 'x', sandbox: false }),
      await client.call('run', { task: 'x', agent }),
      await client.call('run', { task: 'x', yes: true, unsafe: true }),
      await client.call('run', { task: 'x', accept: true }),
    ];
    for (const { isError, text } of refusals)
      expect([isError, text]).toEqual([true, expect.stringMatching(/^person_needed: .* by typing: reef /)]);
    expect((await world.client.call('status', {})).jobs).toEqual([]);

    const { id } = await world.client.call('worktree_create', { title: 'work' });
    const { text } = await client.call('accept', { id });
    expect(text).toContain(`by typing: reef accept ${id}`);
  },
  SLOW_MS,
);

verifies('X-131')
  .needs(bubblewrap !== undefined, 'bubblewrap is not installed or not allowed to work')
  .test(
    'it allows once what its own walled jobs ask, also after `reef mcp` was started anew, and nothing more',
    async () => {
      const outside = asking('own').slice('scripted:'.length);
      const inside = join(world.repository, 'own.yaml');
      copyFileSync(outside, inside); // a sandbox shows no other file of the temporary folder
      const agent = `scripted:${inside}`;
      const open = asking('open');
      configure([agent, open]);
      const client = await connect();
      const own = await spawned(client, { agent, sandbox: true });
      const stranger = await connect({ name: 'another' });
      expect((await allow(stranger, own)).text).toContain(
        'An MCP client may not allow what a job asks that it did not start',
      );
      for (const decision of ['allow_session', 'allow_always'])
        expect((await allow(client, own, decision)).text).toMatch(
          /^person_needed: An MCP client may not allow anything for/,
        );
      expect(made('own')).toBe(false);
      const again = await connect();
      expect(await allow(again, own)).toMatchObject({ isError: false });
      await world.until(own, ({ activity }) => activity === 'ended');
      expect(made('own')).toBe(true);

      const { agentId } = await world.client.call('spawn', { agent: open, task: 'x', sandbox: false });
      await world.until(agentId, asks);
      const { text } = await allow(client, agentId);
      expect(text).toMatch(/^person_needed: .* by typing: reef send \S+ --question [0-9a-f]{10} --allow/);
      expect(
        await client.call('send', { id: agentId, ...(await questionOf(agentId)), decision: 'deny' }),
      ).toMatchObject({
        isError: false,
      });
      expect(made('open')).toBe(false);
    },
    SLOW_MS,
  );

async function questionOf(id: string) {
  const [question] = (await world.job(id)).questions;
  return { questionId: question?.questionId, fingerprint: question?.fingerprint };
}

verifies('X-131').test(
  'what only a person may do is put to the person where the client can ask them',
  async () => {
    const agent = asking('asked');
    const seen: string[] = [];
    let answer = false;
    const client = await connect({
      person: (message) => {
        seen.push(message);
        return answer;
      },
    });
    const refused = await client.call('spawn', { agent, task: 'x' });
    expect([refused.isError, refused.text]).toEqual([true, expect.stringContaining('did not agree')]);
    expect(seen).toEqual([expect.stringContaining(agent)]);

    answer = true;
    const id = await spawned(client, { agent, sandbox: false });
    expect(made('asked')).toBe(false);
    expect(await allow(client, id)).toMatchObject({ isError: false });
    expect(seen.at(-1)).toMatch(/│ touch asked\.txt[\s\S]*answer {3}allow_once/);
    await world.until(id, ({ activity }) => activity === 'ended');
    expect(made('asked')).toBe(true);
  },
  SLOW_MS,
);

verifies('X-131', 'X-134')
  .needs(sandboxesNetwork, 'bubblewrap makes no networks here, or perl is missing')
  .test(
    'it does not let even its own walled job connect to another host, but may deny that',
    async () => {
      const fetches = { shell: [process.execPath, '-e', "fetch('http://asked.example/')"] };
      const inside = join(world.repository, 'fetches.yaml');
      copyFileSync(world.script('fetches', [fetches, { say: 'Done.' }]).slice('scripted:'.length), inside);
      configure([`scripted:${inside}`]);
      const client = await connect();
      const id = await spawned(client, { agent: `scripted:${inside}`, sandbox: true });
      expect((await allow(client, id)).text).toMatch(/^person_needed: .*let a sandbox connect to another host/);
      expect(await allow(client, id, 'deny')).toMatchObject({ isError: false });
      expect(await world.until(id, ({ activity }) => activity === 'ended')).toMatchObject({ status: 'completed' });
    },
    SLOW_MS,
  );

verifies('X-138', 'X-131').test(
  'a client allows nothing that is too long to be shown to it, even where it may allow',
  async () => {
    const input = { command: `touch long.txt # ${'x'.repeat(20_000)}` };
    const agent = world.script('long', [{ permit: { tool: 'Bash', input, steps: [] } }, { say: 'Done.' }]);
    configure([agent], { mcp: { may: ['allow'] } });
    const client = await connect();
    const id = await spawned(client, { agent });
    expect((await allow(client, id)).text).toMatch(/^person_needed: .* too long to be shown to it.* --allow/);
    const { fingerprint } = await questionOf(id);
    const whole = await client.call('inbox', { whole: fingerprint });
    expect(whole.text).toMatch(/^person_needed: .* by typing: reef inbox --whole /);
    await client.call('send', { id, ...(await questionOf(id)), decision: 'deny' });
  },
  SLOW_MS,
);

verifies('X-131').test(
  'with `mcp: { may: [allow, accept] }` a client allows and merges, but nothing for good',
  async () => {
    const agent = asking('free');
    configure([agent], { mcp: { may: ['allow', 'accept'] } });
    const client = await connect();
    const { agentId } = await world.client.call('spawn', { agent, task: 'x', sandbox: false });
    await world.until(agentId, asks);
    expect((await allow(client, agentId, 'allow_always')).text).toContain('for good');
    expect(await allow(client, agentId)).toMatchObject({ isError: false });
    await world.until(agentId, ({ activity }) => activity === 'ended');

    const { id, path } = await world.client.call('worktree_create', { title: 'work', plan: ['new.txt'] });
    writeFileSync(join(path ?? '', 'new.txt'), 'new\n');
    const merged = await client.call('accept', { id, yes: true });
    expect(merged.text).toContain('may not merge what needs a yes');
  },
  SLOW_MS,
);

verifies('X-131').test(
  'an agent that finds the socket of the home, or types `reef` itself, has no say',
  async () => {
    await world.client.call('status', {});
    const socket = connectSocket({ socket: world.home.socket, surface: 'cli' });
    for (const attempt of [
      () => socket.call('trust', {}),
      () => socket.call('spawn', { agent: asking('s'), task: 'x', yes: true, unsafe: true }),
      () => socket.call('worktree_prune', { yes: true }),
      () => socket.stop(true),
    ])
      expect((await attempt().catch(errorBody)) as object).toMatchObject({ error: { code: 'person_needed' } });

    const agent = world.script('typist', [
      { shell: ['env', '-u', 'REEF_SOCKET', process.execPath, REEF, 'trust', '--yes'] },
    ]);
    writeFileSync(join(world.repository, '.envrc'), 'x\n');
    const { agentId } = await world.client.call('spawn', { agent, task: 'x', sandbox: false });
    await world.until(agentId, ({ activity }) => activity === 'ended');
    expect(JSON.stringify(await world.events(agentId))).toContain('person_needed');
    expect(readFileSync(world.home.person, 'utf8')).toMatch(/^[0-9a-f]{64}\n$/);
  },
  SLOW_MS,
);
