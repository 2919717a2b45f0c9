import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '../base/defined.ts';
import type { Capabilities } from '../process/capabilities.ts';
import { allowedEnv } from '../process/environment.ts';
import type { ProcessIdentity } from '../process/identity.ts';
import { launch } from '../process/launch.ts';
import type { SandboxSpec } from '../process/sandbox.ts';
import { sweep } from '../process/sweep.ts';
import { launchTerminal } from '../process/terminal.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Job } from '../protocol/jobs.ts';
import type { LaunchPlan, LaunchRequest, MachineFacts } from './adapter.ts';
import { lendState, stateDir } from './agent-state.ts';
import { type Found, findAgent, shellKeysFor } from './detect.ts';
import { freshRuntime } from './job-runtime.ts';
import { changeJob, type JobStorage, type JobTransaction } from './job-transaction.ts';
import { networkFor } from './network.ts';
import { enqueueLine, type OutboxDoc } from './outbox.ts';
import { type ProjectFiles, type ProjectNames, withheldText } from './project-files.ts';
import type { AdapterRegistry, RegisteredAgent } from './registry.ts';
import { egressSocket, type GuardedFolders, jobDir, jobSocketPath, sandboxFor } from './sandbox.ts';
import type { OwnPaths } from './sandbox-home.ts';
import { shellKeyWords } from './shell-keys.ts';
import { forMode } from './terminal/headful.ts';
import { openTalk } from './terminal/said.ts';
import type { Timings } from './timings.ts';

export interface LaunchDeps {
  storage: JobStorage;
  guards: GuardedFolders;
  registry: AdapterRegistry;
  capabilities: Capabilities;
  /** The daemon's own environment: children get what is allowed and named, nothing else. */
  env: NodeJS.ProcessEnv;
  timings: Timings;
  homeDir: string;
  sockets: string;
  version: string;
  jobSockets: JobSockets;
  /** Variables that the user's configuration passes to every program. */
  passEnv(): readonly string[];
  /** What a folder brings for an agent, and what of it is trusted. */
  projectFilesOf(cwd: string, names: ProjectNames): Promise<ProjectFiles>;
  git: JobGit;
  /** What the user's configuration shows to agents in a sandbox, and where it lets them connect to. */
  sandboxSettings(): OwnPaths & { hosts: readonly string[] };
}

/** The socket through which a job reaches Reef. It is open while the job has a process. */
export interface JobSockets {
  open(job: Pick<Job, 'id' | 'cwd'>): Promise<LaunchRequest['mcp']>;
  close(jobId: string): Promise<void>;
}

/** What a job commits in a sandbox. */
export interface JobGit {
  /** What its sandbox shows in the place of the repository's own. Without, git is closed to it. */
  lend(job: Pick<Job, 'cwd' | 'worktree'>): Promise<NonNullable<SandboxSpec['binds']>>;
  /** Brings over what was committed in that worktree. Says in words why it cannot. */
  settle(job: Pick<Job, 'cwd' | 'worktree'>): Promise<string | undefined>;
}

/** Starts a queued job: stores the intent, starts the process, stores its identity. */
export async function launchJob(deps: LaunchDeps, job: Job): Promise<ProcessIdentity> {
  const agent = deps.registry.get(job.agent);
  checkFolder(job);
  // What an earlier launch left would work beside this one.
  if (job.launch > 0) await sweep(job.id);
  const found = await findAgent(agent, { ...deps.env, ...agent.settings.env });
  const mcp = await deps.jobSockets.open(job);
  const names = agent.adapter.describe().project;
  const project = names && (await deps.projectFilesOf(job.cwd, names));
  const { plan, prompt } = announce(deps, job, { agent, found, mcp, project });
  const launchNumber = job.launch + 1;
  const dir = join(jobDir(deps.homeDir, job.id), String(launchNumber));
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (plan.stdin === 'file') writeFileSync(join(dir, 'prompt'), prompt, { mode: 0o600 });
  const talk = openTalk(dir, job);
  const env = childEnv(deps, job, { agent, planned: { ...plan.env, ...talk.env } });
  const { homeDir, sockets } = deps;
  const { state, reads } = agent.adapter.describe();
  const isOpen = job.sandbox === 'bubblewrap' && !deps.capabilities.sandboxesNetwork;
  const around = {
    homeDir,
    sockets,
    reads,
    env: { ...deps.env, ...env },
    own: deps.sandboxSettings(),
    network: networkOf(deps, job, agent),
    program: plan.file,
  };
  const lent = { state, env, dir: stateDir(homeDir, job.id), sessionId: job.sessionId };
  const binds = [...(job.sandbox === 'bubblewrap' ? await lendState(lent) : []), ...talk.binds];
  const isLent = job.sandbox === 'bubblewrap' && !job.readonly && around.own.git !== 'read';
  const left = isLent ? undefined : await deps.git.settle(job);
  const spec = {
    dir,
    file: plan.file,
    args: plan.args,
    cwd: job.cwd,
    env,
    ceilingMs: deps.timings.ceiling,
    tag: job.id,
    sandbox: await sandboxFor(job, {
      ...around,
      binds,
      ...(isLent && { git: { binds: await deps.git.lend(job) } }),
    }),
  };
  const identity =
    typeof plan.stdin === 'object'
      ? await launchTerminal({ ...spec, ready: plan.stdin.ready }, deps.capabilities)
      : await launch(
          { ...spec, stdin: plan.stdin === 'file' ? { file: join(dir, 'prompt') } : 'fifo' },
          deps.capabilities,
        );
  const notes = [project && withheldText(project), isOpen ? OPEN_NETWORK : undefined, left];
  noteStarted(deps, job.id, { identity, plan, notes: notes.filter((note) => note !== undefined) });
  return identity;
}

const OPEN_NETWORK = 'this machine gives a sandbox no network of its own: the agent can reach what you can reach';

/** The adapter's own variables hold text of the repository, so they name nothing. */
function networkOf(deps: LaunchDeps, job: Job, agent: RegisteredAgent) {
  if (!deps.capabilities.sandboxesNetwork) return undefined;
  return networkFor({
    socket: egressSocket(deps.sockets, job.id),
    env: childEnv(deps, job, { agent, planned: {} }),
    hosts: deps.sandboxSettings().hosts,
    agent: agent.adapter.describe(),
    ask: jobSocketPath(deps.sockets, job.id),
  });
}

function checkFolder(job: Job): void {
  const isFolder = statSync(job.cwd, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isFolder) throw new ReefError('worktree_gone', `the folder ${job.cwd} is gone`);
}

interface Chosen {
  agent: RegisteredAgent;
  found: Found;
  mcp: LaunchRequest['mcp'];
  project: ProjectFiles | undefined;
}

/** Phase one: launch number, fresh state and greeting are stored before anything is started. */
function announce(deps: LaunchDeps, job: Job, chosen: Chosen): { plan: LaunchPlan; prompt: string } {
  const { settings } = chosen.agent;
  const adapter = forMode(chosen.agent.adapter, job.mode);
  const facts: MachineFacts = {
    ...chosen.found,
    agentSandbox: job.sandbox !== 'bubblewrap',
    settings: defined({ auth: settings.auth }),
    env: childEnv(deps, job, { agent: chosen.agent, planned: {} }),
  };
  return changeJob(deps.storage, job.id, (tx) => {
    const prompt = firstMessage(tx);
    const request = toRequest(deps, tx.job, prompt?.text ?? '', chosen);
    const plan = adapter.command(request, facts);
    tx.job.launch += 1;
    const isWalled = job.sandbox === 'bubblewrap' && deps.capabilities.sandboxesNetwork;
    const links = job.sandbox === 'bubblewrap' ? deps.guards.linksOf(job.cwd) : {};
    const own = { isLaunching: true, isWalled, links, adapter: adapter.initial(request, facts) };
    tx.runtime = { ...freshRuntime(tx.runtime), ...own };
    // A terminal reports no turns: it counts as working as long as it exists.
    if (job.mode === 'headful') tx.runtime.turn = { is: 'open' };
    if (plan.sessionId !== undefined) tx.job.sessionId = plan.sessionId;
    if (chosen.found.version !== undefined) tx.job.agentVersion = tx.storage.log.redact(chosen.found.version);
    const { shellKeys: _before, ...rest } = tx.job;
    const shellKeys = shellKeysFor(chosen.agent, deps.env);
    tx.job = { ...rest, ...(shellKeys.length > 0 && { shellKeys }) };
    for (const [index, line] of plan.greeting.entries()) enqueueLine(tx, line, `${tx.job.launch}:greeting:${index}`);
    return { plan, prompt: prompt?.text ?? '' };
  });
}

function firstMessage(tx: JobTransaction): { key: string; text: string } | undefined {
  const row = tx.storage.store.outbox.open<OutboxDoc>(tx.job.id).find(({ doc }) => doc.kind === 'message');
  return row?.doc.kind === 'message' ? { key: row.key, text: row.doc.text } : undefined;
}

function toRequest(
  deps: LaunchDeps,
  { id: jobId, cwd, model, readonly, sessionId }: Job,
  prompt: string,
  { mcp, project }: Pick<Chosen, 'mcp' | 'project'>,
): LaunchRequest {
  const chosen = defined({ model, readonly, sessionId, mcp, project });
  const own = { jobId, jobDir: jobDir(deps.homeDir, jobId), cwd };
  return { ...own, ...chosen, freshSessionId: randomUUID(), prompt, clientVersion: deps.version };
}

function childEnv(
  deps: LaunchDeps,
  job: Job,
  of: { agent: RegisteredAgent; planned: LaunchPlan['env'] },
): Record<string, string> {
  const { adapter, settings } = of.agent;
  const own = { ...(job.mode === 'headful' ? {} : { NO_COLOR: '1' }), ...of.planned, ...settings.env, PWD: job.cwd };
  const { passEnv } = adapter.describe();
  const named = [...passEnv, ...deps.passEnv(), ...(settings.pass_env ?? []), ...shellKeysFor(of.agent, deps.env)];
  return allowedEnv(deps.env, named, own);
}

/** Phase two, also for a launch whose daemon died in between: the process exists, so the job runs. */
export function noteStarted(
  deps: Pick<LaunchDeps, 'storage' | 'homeDir'>,
  id: string,
  started: { identity: ProcessIdentity; plan?: LaunchPlan; notes?: readonly string[] },
): void {
  changeJob(deps.storage, id, (tx) => {
    const { pid, startTime, bootId } = started.identity;
    const { endedAt: _ended, exitCode: _code, signal: _signal, resumeAt: _resume, ...job } = tx.job;
    const resumed = job.startedAt !== undefined;
    tx.job = { ...job, startedAt: tx.now(), pid, pidStartTime: startTime, bootId };
    tx.runtime.isLaunching = false;
    tx.runtime.hasProcess = true;
    const { agent, mode, cwd, sandbox, sessionId, launch: n } = tx.job;
    const command = started.plan ? [started.plan.file, ...started.plan.args] : [];
    const about = { agent, mode, cwd, pid, command, sandbox, ...defined({ sessionId }) };
    tx.emit({ type: 'started', payload: { ...about, launch: n, resumed } });
    const readsFile = existsSync(join(jobDir(deps.homeDir, id), String(n), 'prompt'));
    const prompt = readsFile ? firstMessage(tx) : undefined;
    if (prompt) tx.storage.store.outbox.move(prompt.key, 'delivered');
    for (const note of started.notes ?? []) tx.warn(note);
    const key = shellKeyWords(tx.job.shellKeys);
    if (key !== undefined) tx.warn(`${key}. To use a log-in instead, log in with the agent itself`);
  });
}

/** For a launch whose program never ran: the job waits for its turn as before, and the next launch greets anew. */
export function forgetLaunch({ storage }: Pick<LaunchDeps, 'storage'>, id: string): void {
  changeJob(storage, id, (tx) => {
    tx.runtime.isLaunching = false;
    for (const { key, doc } of storage.store.outbox.open<OutboxDoc>(id))
      if (doc.kind === 'line') storage.store.outbox.move(key, 'failed');
    // It was only chosen, and no agent knows it.
    if (tx.job.startedAt === undefined) delete tx.job.sessionId;
  });
}
