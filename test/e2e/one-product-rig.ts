import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { jobSocketDir } from '../../src/agents/sandbox.ts';
import type { InboxEntry } from '../../src/protocol/job-operations.ts';
import type { RunSummary } from '../../src/protocol/run-operations.ts';
import { type Client, connect } from '../../src/surfaces/client/client.ts';
import type { Action, Turn } from '../model-server/script.ts';
import { startModelServer } from '../model-server/server.ts';
import { call, calls, done } from '../support/coder/scene.ts';
import { eventually } from '../support/wait.ts';
import { Rig } from './real.ts';
import { RunsRig } from './runs-rig.ts';
import { call as does, type Line, scriptOf } from './team-rig.ts';

/** A project with four failing tests, a workflow that has three agents mend three of them side by side, and their scripts. */

const TESTS = ['alpha', 'beta', 'gamma', 'total'];
const COMMAND = [process.execPath, '--test', '--test-isolation=none', '--test-reporter=./report.mjs', ...testFiles()];
const NEEDLE = 'the needle: total.mjs subtracts';
const TRACED = 6_000;
/** What each agent asks its code tools, in this order: the file it has just changed need not be read by then. */
const LOOKUPS = ['alpha', 'beta', 'gamma'].map((name) => ({ name, include_source: true, require: 'complete' }));
type Lookup = (typeof LOOKUPS)[number];
/** What an agent is told while the daemon is gone, and how often it tries again until there is another. */
const NOBODY = 'daemon_unavailable|Nobody listens';
const PATIENCE = { times: 500, delayMs: 200 };
/** A bound on one step of a run: real agents have to start first, on a machine that does other things as well. */
const STEP_MS = 90_000;

function testFiles(): string[] {
  return TESTS.map((name) => `${name}.test.mjs`);
}

const source = (name: string, value: number) => `export const ${name} = () => ${value};\n`;
const total = (last: string) =>
  [
    ...TESTS.slice(0, 3).map((name) => `import { ${name} } from './${name}.mjs';`),
    `export const total = () => alpha() + beta() ${last} gamma();\n`,
  ].join('\n');
const testOf = (name: string, value: number, message = '') =>
  [
    "import { equal } from 'node:assert/strict';",
    "import { test } from 'node:test';",
    `import { ${name} } from './${name}.mjs';`,
    `test('${name} is ${value}', () => equal(${name}(), ${value}${message}));\n`,
  ].join('\n');

/** The log of the last test is 200 KB; what helps stands in its middle, where every cut takes it away. */
const TRACE = `, Array.from({ length: ${TRACED} }, (_, n) => (n === ${TRACED / 2} ? '${NEEDLE}' : \`step \${n}: 0x\${(n * 2654435761 % 4294967296).toString(16)} of the whole\`)).join('\\n') + \`\\ntotal is \${total()}, not 6\``;

/** Without times or paths: the same tree gives the same log, so its artifact has a name that a script can know. */
const REPORT = `export default async function* report(events) {
  for await (const { type, data } of events) {
    if (type === 'test:pass') yield \`ok \${data.name}\\n\`;
    if (type === 'test:fail') yield \`not ok \${data.name}: \${data.details.error.cause?.message ?? data.details.error.message}\\n\`;
  }
}
`;

const FILES = {
  'package.json': '{"type":"module"}\n',
  'report.mjs': REPORT,
  'notes.txt': 'a thought\n',
  'alpha.test.mjs': testOf('alpha', 1),
  'beta.test.mjs': testOf('beta', 2),
  'gamma.test.mjs': testOf('gamma', 3),
  'total.test.mjs': testOf('total', 6, TRACE),
};
const BROKEN = {
  'alpha.mjs': source('alpha', 0),
  'beta.mjs': source('beta', 0),
  'gamma.mjs': source('gamma', 0),
  'total.mjs': total('-'),
};
/** The tree that every run must end in, whatever happened on its way. */
export const MENDED = {
  ...FILES,
  'alpha.mjs': source('alpha', 1),
  'beta.mjs': source('beta', 2),
  'gamma.mjs': source('gamma', 3),
  'total.mjs': total('+'),
};

const halt = { on_signal: 'SIGNAL:FAIL_DEFAULT', action: 'HALT_AND_FLAG' };
const on = (signal: string, action: string, more = {}) => ({ on_signal: `SIGNAL:${signal}`, action, ...more });
const node = (name: string, blocks: Record<string, object>) => ({
  entry_block: `${name}__${Object.keys(blocks)[0]}`,
  context_inheritance: true,
  blocks,
});
const branch = (name: string, agent: string, file = name.toLowerCase()) =>
  node(name, {
    Mend: {
      worker: `Agent:${agent}`,
      instructions: `Make ${file}.test.mjs pass. Touch nothing else.`,
      expects: 'changes',
      transitions: [on('SUCCESS', 'RETURN'), halt],
    },
  });
const test = { worker: 'Internal:TestRunner', max_visits: 3 };
/** Three agents at once, in worktrees of their own, and a fourth for what they leave. */
const mending = (name: string, third: string) => {
  const fork = on('FAILURE', `FORK:Alpha,Beta,${third}:${name}__Test`, { join: 'all', isolation: 'worktree' });
  return node(name, {
    Look: { ...test, transitions: [on('FAILURE', `JUMP:${name}__Again`), halt] },
    // Whoever mends last is handed three logs, which together are too long.
    Again: { ...test, transitions: [fork, halt] },
    Test: { ...test, transitions: [on('SUCCESS', 'RETURN'), on('FAILURE', `JUMP:${name}__Fix`), halt] },
    Fix: { worker: 'Agent:native:coder', transitions: [on('SUCCESS', `JUMP:${name}__Test`), halt] },
  });
};

const BRANCHES = {
  Alpha: branch('Alpha', 'claude'),
  Beta: branch('Beta', 'codex'),
  Gamma: branch('Gamma', 'native:coder'),
};
/** One agent a run and no gates: what one of them leaves cannot pass the tests of all. */
export const ALONE = { start: 'Alpha', nodes: BRANCHES };
const TOGETHER = {
  start: 'Mend',
  workers: { TestRunner: { command: COMMAND } },
  nodes: {
    ...BRANCHES,
    Mend: mending('Mend', 'Gamma'),
    // The same with an agent in it that has another do the work.
    Team: mending('Team', 'Delta'),
    Delta: branch('Delta', 'native:lead', 'gamma'),
    Solo: node('Solo', {
      Mend: { worker: 'Agent:native:coder', transitions: [on('SUCCESS', 'JUMP:Solo__Test'), halt] },
      Test: { ...test, transitions: [on('SUCCESS', 'RETURN'), halt] },
    }),
  },
};

/** Of Claude Code and of Codex: what it does between its prompt and its result; it hands nothing in without what was cut, if anything was. */
function externalTurns(name: string, value: number, log?: string): Turn[] {
  const result = { signal: 'SIGNAL:SUCCESS', summary: `${name} is ${value}.` };
  const read: Action = { tool: 'mcp__reef__artifact_read', input: { id: log, grep: 'needle' } };
  const handIn: Action = { tool: 'mcp__reef__block_result', input: result };
  const look = (input: Lookup): Action => ({ tool: 'mcp__reef__get_symbol', input });
  const cutText = [{ tools: [read] }, { if: NOBODY, ...PATIENCE, tools: [read] }, { if: NEEDLE, tools: [handIn] }];
  return [
    { tools: [{ read: `${name}.mjs` }] },
    { tools: [{ edit: `${name}.mjs`, old: source(name, 0).trim(), new: source(name, value).trim() }] },
    { tools: LOOKUPS.map(look) },
    { tools: [{ shell: `node --test ${name}.test.mjs`, escalate: 'May I run the test?' }] },
    ...(log === undefined ? [{ tools: [handIn] }] : cutText),
    { if: NOBODY, ...PATIENCE, tools: [handIn] },
    { text: 'It is handed in.' },
  ];
}

export const QUESTION = 'Shall gamma be three?';
/** Asked before that: there the tests hold the one who asks. */
const READY = 'May I begin?';
export const SOURCES = ['alpha.mjs', 'beta.mjs', 'gamma.mjs', 'total.mjs'];

/** An agent that runs the workflow, one that works on a block of it, and one that does that one's work. */
const AGENTS = {
  boss: { can_spawn_agents: true, spawnable_agents: ['workflow:Team'] },
  lead: { can_spawn_agents: true },
  hand: { global_tools: ['fs_write'] },
};
const again = (agent: string, id: string): Line => ({
  ...{ agent, tool: 'agent__collect', does: [does('agent__collect', { id })], times: 'always' },
});
/** What was cut from the prompt of one is read by that one, and by the one it hands the work to. */
const teamLines = (log: string): Line[] => [
  {
    ...{ agent: 'boss', user: 'Mend the project' },
    does: [does('agent__spawn', { agent: 'workflow:Team', prompt: 'Mend it all', plan: SOURCES })],
  },
  { agent: 'boss', tool: 'agent__spawn', does: [does('agent__collect', { id: 'workflow:Team' })] },
  { agent: 'boss', tool: 'agent__collect', result: 'three it is', says: 'All is mended, and three it is.' },
  again('boss', 'workflow:Team'),
  { agent: 'lead', user: 'Delta__Mend, visit', does: [does('artifact_read', { id: log, grep: 'needle' })] },
  {
    ...{ agent: 'lead', tool: 'artifact_read', result: NEEDLE },
    does: [does('agent__spawn', { agent: 'hand', prompt: `Make gamma three; see artifact_read "${log}"` })],
  },
  { agent: 'lead', tool: 'agent__spawn', does: [does('agent__collect', { id: 'hand' })] },
  { agent: 'lead', tool: 'agent__collect', result: 'three it is', says: 'The hand says: three it is.\nSIGNAL:SUCCESS' },
  again('lead', 'hand'),
  { agent: 'hand', user: 'Make gamma', does: [does('artifact_read', { id: log, grep: 'needle' })] },
  {
    ...{ agent: 'hand', tool: 'artifact_read', result: NEEDLE },
    does: [does('fs_write', { path: 'gamma.mjs', contents: source('gamma', 3) })],
  },
  {
    ...{ agent: 'hand', tool: 'fs_write', result: 'wrote' },
    does: LOOKUPS.map((lookup) => does('get_symbol', lookup)),
  },
  { agent: 'hand', tool: 'get_symbol', does: [does('user__confirm', { question: READY })] },
  { agent: 'hand', tool: 'user__confirm', does: [does('user__ask', { question: QUESTION, options: ['yes', 'no'] })] },
  { agent: 'hand', tool: 'user__ask', result: '"yes"', says: 'Done: three it is.' },
];

function coderEntries(log: string): object[] {
  const during = (block: string, entries: object[], seen = '') =>
    entries.map((entry) => ({ when: { any_user: `${seen}.*${block}, visit` }, ...entry }));
  const edit = (name: string, value: number) =>
    ['edit_file', { path: `${name}.mjs`, old: '=> 0', new: `=> ${value}` }] satisfies [string, unknown];
  const add = ['edit_file', { path: 'total.mjs', old: '- gamma', new: '+ gamma' }] satisfies [string, unknown];
  const read = (name: string) => ['read_file', { path: `${name}.mjs` }] satisfies [string, unknown];
  const lookup = calls(...LOOKUPS.map(({ require: _, ...about }): [string, unknown] => ['get_symbol', about]));
  return [
    ...during('Gamma__Mend', [
      call('artifact_read', { id: log, grep: 'needle' }),
      calls(read('gamma')),
      calls(edit('gamma', 3)),
      lookup,
      // The last one is of the file it has just changed.
      { ...lookup, when: { any_user: 'Gamma__Mend, visit', last_result: 'not complete' }, times: 'always' },
      call('run_command', { command: 'node --test gamma.test.mjs' }),
      call('ask_user', { question: QUESTION, options: ['yes', 'no'] }),
      done('gamma is three.\nSIGNAL:SUCCESS'),
    ]),
    // Without the end of the log in its prompt it has nothing to say.
    ...during(
      '(?:Mend|Team)__Fix',
      [calls(read('total')), calls(add), done('total adds.\nSIGNAL:SUCCESS')],
      'total is 0, not 6',
    ),
    ...during('Solo__Mend', [
      calls(...TESTS.map(read)),
      calls(edit('alpha', 1), edit('beta', 2), edit('gamma', 3), add),
      done('All is mended.\nSIGNAL:SUCCESS'),
    ]),
  ];
}

/** Whether a question is the one an agent asks before it goes on from its change: there the tests hold it. */
export function isHolding({ kind, question, input }: InboxEntry): boolean {
  if (question === READY) return true;
  return kind === 'permission' && `${question} ${JSON.stringify(input)}`.includes('node --test');
}

export class OneProduct extends RunsRig {
  readonly #agents: Rig;
  /** What the project's tests say before anybody has worked. */
  readonly log: string;

  private constructor(agents: (runs: OneProduct) => Rig) {
    super({ ...FILES, ...BROKEN });
    this.#agents = agents(this);
    const [file = '', ...args] = COMMAND;
    this.log = spawnSync(file, args, { cwd: this.world.repository, encoding: 'utf8', env: this.world.env }).stdout;
  }

  static async open(nameOf: (text: string) => string, workflow: object = TOGETHER): Promise<OneProduct> {
    const scripts: Record<string, Turn[]> = {};
    const model = await startModelServer({ scripts });
    const rig = new OneProduct(({ world }) => new Rig({ world, model, scripts, timings: { linger: 0 } }));
    const id = nameOf(rig.log);
    scripts.claude = externalTurns('alpha', 1, id);
    scripts.codex = externalTurns('beta', 2, id);
    scripts['claude-alone'] = externalTurns('alpha', 1);
    scripts['codex-alone'] = externalTurns('beta', 2);
    rig.write({ '.reef/workflows.yaml': stringify(workflow) });
    const entries = stringify(coderEntries(id), { aliasDuplicateObjects: false });
    const config = join(rig.world.root, 'config', 'reef');
    writeFileSync(join(config, 'coder.yaml'), entries);
    writeFileSync(join(config, 'team.yaml'), scriptOf(teamLines(id)));
    for (const [name, spec] of Object.entries(AGENTS)) {
      mkdirSync(join(config, 'agents', name), { recursive: true });
      const agent = { instructions: `You are ${name}.`, model: 'demo:team', ...spec };
      writeFileSync(join(config, 'agents', name, 'config.yaml'), stringify(agent));
    }
    rig.#configure({});
    await rig.trust();
    return rig;
  }

  /** The three side by side; each run talks to a model that begins at the beginning. */
  async mend(name: string): Promise<string> {
    this.#pointAt(name);
    return (await this.start({ task: `Mend the project: ${name}` })).runId;
  }

  /** The same by an agent of Reef's own: its job, and its run. */
  async mendByTeam(name: string): Promise<{ boss: string; runId: string }> {
    this.#pointAt(name);
    const { agentId: boss } = await this.json('spawn', 'native:boss', `Mend the project: ${name}`);
    const isIts = (run: RunSummary) => run.parentId === boss;
    const { runs } = await eventually(
      () => this.world.client.call('runs', {}),
      (seen) => seen.runs.some(isIts),
    );
    return { boss, runId: runs.find(isIts)?.runId ?? '' };
  }

  /** Answers what the agents of a run ask, as a person does, until `enough` questions are left that are `kept`, or it has ended. */
  async tend(runId: string, kept: (question: InboxEntry) => boolean = () => false, enough = 1): Promise<InboxEntry[]> {
    for (const deadline = Date.now() + STEP_MS; ; await sleep(50)) {
      const { questions } = await this.world.client.call('inbox', {});
      const own = questions.filter((question) => question.runId === runId);
      const left = own.filter(kept);
      for (const question of own) if (!kept(question)) await this.answer(question);
      const { runs, view } = await this.look(runId);
      const status = runs[0]?.status;
      if (left.length >= enough || (status !== 'queued' && status !== 'running' && status !== 'awaiting_input'))
        return left;
      if (Date.now() > deadline) throw new Error(`not within ${STEP_MS} ms: ${JSON.stringify({ runs, view, own })}`);
    }
  }

  async answer({ jobId, kind, questionId, fingerprint, options = [] }: InboxEntry): Promise<void> {
    const answer = kind === 'permission' ? { decision: 'allow_once' as const } : { option: options.slice(0, 1) };
    await this.world.client.call('send', { id: jobId, questionId, fingerprint, ...answer });
  }

  /** Whoever comes through it is that job. */
  door(jobId: string): Client {
    return connect({ socket: join(jobSocketDir(this.world.home.sockets, jobId), 'sock'), surface: 'mcp' });
  }

  /** Every file of a commit with its content. */
  treeAt(commit: string): Record<string, string> {
    const names = this.git('ls-tree', '-r', '--name-only', commit).split('\n');
    return Object.fromEntries(names.map((name) => [name, `${this.git('show', `${commit}:${name}`)}\n`]));
  }

  override async close(): Promise<void> {
    await this.#agents.close();
  }

  /** One agent alone on a branch, which nothing went before. */
  async alone(node: 'Alpha' | 'Beta' | 'Gamma', plan: readonly string[]): Promise<RunSummary> {
    this.#pointAt(node, '-alone');
    return this.start({ task: `${node} alone`, workflow: node, plan: [...plan] });
  }

  #pointAt(name: string, script = ''): void {
    const { model } = this.#agents;
    const settings = (agent: 'claude' | 'codex') => this.#agents.settings(agent, model.runUrl(agent + script, name));
    this.#configure({ claude: settings('claude'), codex: settings('codex') });
  }

  #configure(agents: Record<string, unknown>): void {
    this.world.configure({
      model: 'demo:coder',
      clients: [
        {
          ...{ type: 'scripted', name: 'demo' },
          models: [
            { name: 'coder', script: 'coder.yaml' },
            { name: 'team', script: 'team.yaml', supports_function_calling: true },
          ],
        },
      ],
      // In Reef's sandbox Codex asks for nothing, and the tests hold the agents by their questions.
      reef: { sandbox: 'off', agents, timings: { linger: 0 }, permissions: [{ tool: 'fs_write', action: 'allow' }] },
    });
  }
}
