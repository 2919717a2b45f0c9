import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import { jobSocketDir } from '../../src/agents/sandbox.ts';
import { defined } from '../../src/base/defined.ts';
import type { EventOf, EventType } from '../../src/protocol/events.ts';
import type { JobView } from '../../src/protocol/job-operations.ts';
import type { Question } from '../../src/protocol/jobs.ts';
import type { OperationInput } from '../../src/protocol/operations.ts';
import { connect } from '../../src/surfaces/client/client.ts';
import { fixture, newNonce, survivorsOf } from '../support/programs.ts';
import { verifies } from '../support/verifies.ts';
import { eventually } from '../support/wait.ts';
import { makeWorld, type World } from './harness.ts';
import { installed, openRig, processesWith, type Rig, refusal, SLOW_MS } from './real.ts';

/** Agents at their own terminals, which people join: through the real daemon, in a real tmux. */

const TMUX = findTmux();
const proves: typeof verifies = (...ids) => verifies(...ids).needs(TMUX !== undefined, 'tmux is not installed');

function findTmux(): string | undefined {
  try {
    return execFileSync('sh', ['-c', 'command -v tmux'], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

/** The server behind the terminal of a job, by the socket that `reef attach` names. */
async function server(world: World, id: string): Promise<(...args: string[]) => string> {
  const { file, args } = await world.client.attach(id);
  const [flag = '', socket = '', ...join] = args;
  expect([flag, ...join]).toEqual(['-S', 'attach-session']);
  return (...command) => execFileSync(file, ['-S', socket, ...command], { encoding: 'utf8', stdio: 'pipe' });
}

async function shows(world: World, id: string, text: string): Promise<string> {
  const tmux = await server(world, id);
  const look = () => tmux('capture-pane', '-p', '-J', '-t', '%0');
  return eventually(look, (screen) => screen.includes(text));
}

async function type(world: World, id: string, ...keys: string[]): Promise<void> {
  (await server(world, id))('send-keys', '-t', '%0', ...keys);
}

async function payloads<T extends EventType>(world: World, id: string, kind: T): Promise<EventOf<T>['payload'][]> {
  const events = await world.events(id);
  return events.flatMap((event) => (event.type === kind ? [event.payload as EventOf<T>['payload']] : []));
}

const isOver = (job: JobView) => job.activity === 'ended';

const scripts = {
  talk: [
    { if: 'Say hello', text: 'The first answer.' },
    { if: 'Say more', text: 'The second answer.' },
    { if: 'And then', text: 'The third answer.' },
  ],
  permits: [
    { tools: [{ shell: 'touch one.txt' }] },
    { text: 'One is made.' },
    { tools: [{ shell: 'touch two.txt' }] },
    { text: 'Two is made.' },
    { tools: [{ shell: 'touch three.txt' }] },
    { text: 'Three is not made.' },
  ],
  chooses: [
    { tools: [{ ask: [{ question: 'Which colour?', options: ['red', 'blue'] }] }] },
    { if: 'blue', text: 'It is blue.' },
    { tools: [{ shell: 'touch two.txt' }] },
    { text: 'Two is made.' },
  ],
};

let world: World;
let rig: Rig;
beforeAll(async () => {
  world = makeWorld();
  rig = await openRig(scripts, '/var/tmp');
});
afterAll(async () => {
  await world.close();
  await rig.close();
});

/** The fixture stands where the configuration has Claude Code's program: all of Reef is real. */
async function spawn(env: Record<string, string> = {}, input: Partial<OperationInput<'spawn'>> = {}): Promise<string> {
  world.configure({ agents: { claude: { command: [fixture('terminal-agent.sh')], env } } });
  const { agentId } = await world.client.call('spawn', { agent: 'claude', task: 'Hello', mode: 'headful', ...input });
  await world.until(agentId, (job) => job.status !== 'queued');
  return agentId;
}

proves('A-121', 'A-44', 'A-85').test(
  'a task and a message are typed into the terminal, and exit 0 completes the job',
  async () => {
    const id = await spawn({ SECRET: 'a value' }, { task: 'First line\nof the task' });
    await shows(world, id, 'heard: of the task');
    const { sessionId, ...job } = await world.until(id, (seen) => seen.activity === 'working');
    expect(job).toMatchObject({ mode: 'headful', status: 'running', launch: 1 });
    const sent = await world.client.call('send', { id, text: 'and a message' });
    const screen = await shows(world, id, 'heard: and a message');
    expect(sent).toEqual({ agentId: id, status: 'running', delivered: true, messageId: expect.any(String) });
    expect(screen).toContain(`started with: --session-id ${sessionId}`);
    expect(screen).toContain('heard: First line');
    expect(processesWith('of the task')).toEqual([]);
    await world.client.call('send', { id, text: 'exit 0' });
    expect(await world.until(id, isOver)).toMatchObject({ status: 'completed', exitCode: 0 });
    const [started] = await payloads(world, id, 'started');
    expect(started).toMatchObject({ mode: 'headful', sessionId, launch: 1 });
    expect(JSON.stringify(started)).not.toMatch(/the task|a value/);
    expect((await payloads(world, id, 'input_sent')).map(({ text }) => text)).toEqual(['and a message', 'exit 0']);
    expect(await payloads(world, id, 'completed')).toMatchObject([{ scope: 'process', outcome: 'done', exitCode: 0 }]);
  },
);

proves('A-121', 'A-32').test('any other exit is an error, and what the terminal showed is kept', async () => {
  const id = await spawn();
  await shows(world, id, 'heard: Hello');
  await world.client.call('send', { id, text: 'exit 3' });
  expect(await world.until(id, isOver)).toMatchObject({ status: 'error', exitCode: 3 });
  expect(await payloads(world, id, 'error')).toMatchObject([{ code: 'agent_exit', exitCode: 3, fatal: true }]);
  const kept = execFileSync('cat', [join(world.home.dir, 'jobs', id, '1', 'screen')], { encoding: 'utf8' });
  expect(kept).toContain('heard: Hello');
});

proves('A-121').test('nothing is typed while the agent asks something of its own; a person answers it', async () => {
  const id = await spawn({ DIALOG: 'Do you trust this folder?' });
  await shows(world, id, 'Do you trust');
  const [sent, view] = [await world.client.call('send', { id, text: 'a message' }), await world.job(id)];
  expect({ delivered: sent.delivered, activity: view.activity }).toEqual({ delivered: false, activity: 'starting' });
  await type(world, id, 'by hand', 'Enter');
  const screen = await shows(world, id, 'heard: a message');
  expect(screen).toMatch(/answered: by hand\n.*heard: Hello\n.*heard: a message/s);
  await world.client.call('kill', { id });
});

proves('A-121').test('`reef attach` prints a command that joins the terminal', async () => {
  const id = await spawn();
  await shows(world, id, 'heard: Hello');
  const reef = fileURLToPath(new URL('../../bin/reef.cjs', import.meta.url));
  const person = join(world.root, 'person');
  const tmux = (...args: string[]) =>
    execFileSync(TMUX ?? 'tmux', ['-S', person, '-f', '/dev/null', ...args], {
      cwd: world.repository,
      env: world.env,
      encoding: 'utf8',
    });
  tmux('new-session', '-d', `eval "$('${process.execPath}' '${reef}' attach ${id.slice(0, 24)})"`);
  await eventually(
    () => tmux('capture-pane', '-p'),
    (screen) => screen.includes('heard: Hello'),
  );
  tmux('send-keys', 'from', 'Space', 'there', 'Enter');
  await shows(world, id, 'heard: from there');
  tmux('kill-server');
  expect(await world.job(id)).toMatchObject({ status: 'running' });
  await world.client.call('kill', { id });
  expect(await refusal(world.client.attach(id))).toBe('job_ended');
});

proves('A-121', 'Q-01', 'Q-20', 'Q-21').test(
  'a killed daemon ends no terminal and loses no message; a kill ends all of it',
  async () => {
    const nonce = newNonce();
    const id = await spawn({ NONCE: nonce });
    await shows(world, id, 'heard: Hello');
    const before = await world.job(id);
    await eventually(
      () => survivorsOf(nonce),
      (found) => found.length > 0,
    );
    await world.killDaemon();
    expect(survivorsOf(nonce)).toHaveLength(1);
    const { delivered } = await world.client.call('send', { id, text: 'after the first' });
    await shows(world, id, 'heard: after the first');
    const late = world.client.call('send', { id, text: 'in its last moment', key: 'k' }).catch(() => undefined);
    await world.killDaemon();
    await late;
    await world.client.call('send', { id, text: 'in its last moment', key: 'k' });
    await shows(world, id, 'heard: in its last moment');
    const after = await world.job(id);
    expect({ delivered, ...after }).toMatchObject({ delivered: true, status: 'running', launch: 1, pid: before.pid });
    expect(await world.client.call('kill', { id })).toMatchObject({ status: 'killed' });
    expect({ left: survivorsOf(nonce), tagged: processesWith(`REEF_JOB=${id}`) }).toEqual({ left: [], tagged: [] });
  },
  60_000,
);

proves('A-121', 'A-66').test('a resumed job opens its terminal again with the session of the agent', async () => {
  const id = await spawn();
  await shows(world, id, 'heard: Hello');
  await world.client.call('send', { id, text: 'exit 0' });
  const { sessionId } = await world.until(id, isOver);
  await world.client.call('resume', { id, text: 'go on' });
  await world.until(id, (job) => job.launch === 2 && job.status === 'running');
  expect(await shows(world, id, 'heard: go on')).toContain(`started with: --resume ${sessionId}`);
  await world.client.call('kill', { id });
});

proves('A-121', 'A-76').test('a budget of time ends the job, with its work kept', async () => {
  const id = await spawn({}, { budget: { seconds: 1 } });
  expect(await world.until(id, isOver)).toMatchObject({ status: 'error', reason: 'budget_exhausted' });
});

proves('A-121', 'X-08').test('no job opens a terminal or types into one, not even its own', async () => {
  const id = await spawn();
  await shows(world, id, 'heard: Hello');
  const job = connect({ socket: join(jobSocketDir(world.home.sockets, id), 'sock'), surface: 'mcp' });
  const refusals = [
    await refusal(job.call('send', { id, text: 'yes' })),
    await refusal(job.call('spawn', { agent: 'claude', task: 'x', mode: 'headful' })),
  ];
  await world.client.call('send', { id, text: 'by a person' });
  const screen = await shows(world, id, 'heard: by a person');
  await world.client.call('kill', { id });
  expect({ refusals, isTyped: screen.includes('yes') }).toEqual({
    refusals: ['not_yours', 'not_yours'],
    isTyped: false,
  });
});

proves('A-121').test('what cannot be done at a terminal is refused before there is a job', async () => {
  world.configure({ agents: { claude: { command: [fixture('terminal-agent.sh')] }, 'acp:x': { command: ['sh'] } } });
  const headful = (more: Partial<OperationInput<'spawn'>>) =>
    refusal(world.client.call('spawn', { agent: 'claude', task: 'x', mode: 'headful', ...more }));
  const scripted = world.script('ask', [{ ask: { question: 'Well?' } }]);
  const codes = [
    await headful({ agent: scripted }),
    await headful({ agent: 'acp:x' }),
    await headful({ yes: true, unsafe: true }),
    await headful({ budget: { tokens: 1 } }),
    await headful({ budget: { turns: 1 } }),
  ];
  const { agentId } = await world.client.call('spawn', { agent: scripted, task: 'x' });
  const attached = await refusal(world.client.attach(agentId));
  await world.client.call('kill', { id: agentId });
  const unsupported = 'headful_unsupported';
  expect([...codes, attached]).toEqual([
    unsupported,
    unsupported,
    'bad_request',
    'bad_request',
    'bad_request',
    'not_headful',
  ]);
});

/** Past its first greetings, as on any machine where somebody has used it, and the folder trusted or not yet. */
function settle(agent: RealAgent, home: string, trusted?: string): void {
  if (agent !== 'claude') return;
  const about = {
    hasCompletedOnboarding: true,
    theme: 'dark',
    customApiKeyResponses: { approved: ['sk-ant-dummy'], rejected: [] },
    projects: trusted === undefined ? {} : { [trusted]: { hasTrustDialogAccepted: true } },
  };
  writeFileSync(join(home, '.claude.json'), JSON.stringify(about));
}

type RealAgent = 'claude' | 'codex';

interface AboutReal {
  task: string;
  isTrusted: boolean;
  script?: keyof typeof scripts;
  sandbox?: false;
}

async function spawnReal(agent: RealAgent, { script = 'talk', ...about }: AboutReal): Promise<string> {
  const cwd = join(rig.world.repository, agent);
  mkdirSync(cwd, { recursive: true });
  const settings = rig.settings(agent, rig.model.runUrl(script, `${agent}${about.isTrusted}`));
  settle(agent, settings.env.HOME ?? '', about.isTrusted ? cwd : undefined);
  // By itself Claude Code decides most things without a person.
  const mode = script !== 'talk' ? ['--permission-mode', 'default'] : [];
  rig.configure({ [agent]: { ...settings, command: [...settings.command, ...mode] } });
  const { agentId } = await rig.world.client.call('spawn', {
    agent,
    mode: 'headful',
    cwd,
    ...defined({ task: about.task, sandbox: about.sandbox }),
  });
  await rig.world.until(agentId, (job) => job.status !== 'queued');
  return agentId;
}

const provedAtTerminal = (agent: RealAgent, ...ids: Parameters<typeof verifies>) =>
  verifies(...ids)
    .needs(...installed(agent))
    .needs(TMUX !== undefined, 'tmux is not installed');

/** Task and message, with the death of a daemon between them, and a kill that leaves nothing. */
async function converse(id: string): Promise<void> {
  const { client } = rig.world;
  await shows(rig.world, id, 'The first answer.');
  await rig.world.killDaemon();
  expect(await client.call('send', { id, text: 'Say more' })).toMatchObject({ delivered: true, status: 'running' });
  const screen = await shows(rig.world, id, 'The second answer.');
  expect(screen).toMatch(/Say hello\s+in two lines.*The first answer\..*Say more.*The second answer\./s);
  expect(await rig.world.job(id)).toMatchObject({ status: 'running', activity: 'working', launch: 1 });
}

/** More than any terminal takes in one go. */
const LONG = Array.from({ length: 2_000 }, (_, n) => `line ${n} of a long text that is pasted in one go`).join('\n');

provedAtTerminal('claude', 'A-121', 'A-44', 'A-66', 'Q-20').test(
  'the real terminal of Claude Code takes task and message, is resumed, and ends without a trace',
  async () => {
    const { client } = rig.world;
    const id = await spawnReal('claude', { task: 'Say hello\nin two lines', isTrusted: true });
    await converse(id);
    await client.call('send', { id, text: '/exit' });
    const { sessionId } = await rig.world.until(id, isOver);
    await client.call('resume', { id, text: `And then?\n${LONG}` });
    await rig.world.until(id, (job) => job.launch === 2 && job.status === 'running');
    await shows(rig.world, id, 'The third answer.');
    const asked = rig.model.requests.map(({ body }) => JSON.stringify(body));
    const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
    const whole = asked.filter((body) => body.includes(inJson(`And then?\n${LONG}`)));
    expect(whole.some((body) => body.includes('The second answer.'))).toBe(true);
    expect(await rig.world.job(id)).toMatchObject({ sessionId, status: 'running' });
    await client.call('kill', { id });
    expect(processesWith(`REEF_JOB=${id}`)).toEqual([]);
  },
  SLOW_MS,
);

provedAtTerminal('claude', 'A-121').test(
  'nothing is typed into the real Claude Code while it asks whether to trust the folder, where Enter means no',
  async () => {
    const id = await spawnReal('claude', { task: 'Say hello', isTrusted: false });
    const dialog = await shows(rig.world, id, 'Enter to confirm');
    expect(dialog).toContain('I trust this folder');
    const { delivered } = await rig.world.client.call('send', { id, text: 'Say more' });
    expect({ delivered, ...(await rig.world.job(id)) }).toMatchObject({ delivered: false, activity: 'starting' });
    expect(await shows(rig.world, id, 'Enter to confirm')).toBe(dialog);
    await rig.world.client.call('kill', { id });
  },
  SLOW_MS,
);

async function questionOf(id: string) {
  await rig.world.until(id, ({ status }) => status === 'awaiting_input');
  const [question] = (await rig.world.client.call('inbox', {})).questions.filter(({ jobId }) => jobId === id);
  if (!question) throw new Error('nothing is asked');
  return question;
}

/** A dialog that has just been drawn may not listen yet: the key is pressed until it goes. */
async function answerThere(id: string, key: string): Promise<void> {
  const tmux = await server(rig.world, id);
  const isAsked = () => tmux('capture-pane', '-p', '-t', '%0').includes('Do you want to proceed?');
  await eventually(isAsked, Boolean);
  const press = () => {
    tmux('send-keys', '-t', '%0', key);
    return isAsked();
  };
  await eventually(press, (isLeft) => !isLeft, { everyMs: 1_000 });
}

provedAtTerminal('claude', 'A-121', 'A-178').test(
  'what the real Claude Code asks in its terminal is in the inbox too, and the first answer counts, wherever it is given',
  async () => {
    const { client } = rig.world;
    const id = await spawnReal('claude', { task: 'Make one', isTrusted: true, script: 'permits', sandbox: false });
    const decide = ({ questionId, fingerprint }: Question, decision: 'allow_once' | 'deny') =>
      client.call('send', { id, questionId, fingerprint, decision });
    const one = await questionOf(id);
    expect(one).toMatchObject({ kind: 'permission', tool: 'Bash', input: { command: 'touch one.txt' } });
    // Nobody has typed anything: the dialog stands in the terminal, and goes when the inbox decides.
    await shows(rig.world, id, 'Do you want to proceed?');
    await decide(one, 'allow_once');
    await shows(rig.world, id, 'One is made.');
    await client.call('send', { id, text: 'Make two' });
    const two = await questionOf(id);
    await answerThere(id, '1');
    await shows(rig.world, id, 'Two is made.');
    await rig.world.until(id, ({ status }) => status === 'running');
    expect(await refusal(decide(two, 'deny'))).toBe('question_withdrawn');
    const waiting = () => processesWith(`REEF_JOB=${id}`).filter(({ args }) => args.startsWith('/bin/sh -c id='));
    await eventually(waiting, (left) => left.length === 0);
    await client.call('send', { id, text: 'Make three' });
    await decide(await questionOf(id), 'deny');
    await shows(rig.world, id, 'Three is not made.');
    const turns = await eventually(
      () => payloads(rig.world, id, 'completed'),
      ({ length }) => length === 3,
    );
    expect(turns.map((turn) => 'result' in turn && turn.result)).toEqual([
      'One is made.',
      'Two is made.',
      'Three is not made.',
    ]);
    await client.call('kill', { id });
    expect(processesWith(`REEF_JOB=${id}`)).toEqual([]);
  },
  SLOW_MS,
);

provedAtTerminal('claude', 'A-178', 'J-20').test(
  'behind a wall only a choice is asked about, and an answer given while no daemon runs is heard in the terminal',
  async () => {
    const { client } = rig.world;
    const id = await spawnReal('claude', { task: 'Ask me', isTrusted: true, script: 'chooses' });
    expect(await questionOf(id)).toMatchObject({ kind: 'choice', question: 'Which colour?' });
    await rig.world.killDaemon();
    await client.call('send', { id, option: ['blue'] });
    await shows(rig.world, id, 'It is blue.');
    await client.call('send', { id, text: 'Make two' });
    await shows(rig.world, id, 'Two is made.');
    const granted = (await payloads(rig.world, id, 'progress')).filter(({ kind }) => kind === 'auto_answered');
    expect(granted).toMatchObject([{ grant: 'sandbox' }]);
    await client.call('kill', { id });
  },
  SLOW_MS,
);

provedAtTerminal('codex', 'A-121', 'A-44', 'Q-20').test(
  'the real terminal of Codex takes task and message without a question about trust, and ends without a trace',
  async () => {
    const id = await spawnReal('codex', { task: 'Say hello\nin two lines', isTrusted: false });
    await converse(id);
    await rig.world.client.call('kill', { id });
    expect(processesWith(`REEF_JOB=${id}`)).toEqual([]);
  },
  SLOW_MS,
);
