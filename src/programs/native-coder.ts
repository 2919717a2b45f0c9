import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { ReefConnection } from '../agents/reef-protocol/connection.ts';
import { openModel, profileOf } from '../app/coder/open-model.ts';
import { openTracker } from '../app/coder/open-tracker.ts';
import { systemClock } from '../base/clock.ts';
import { type Environment, readEnvironment } from '../base/env.ts';
import { createSafeDir } from '../base/safe-dir.ts';
import { loadTokenCounter } from '../base/tokens.ts';
import { Coder } from '../coder/coder.ts';
import type { CoderDeps } from '../coder/coder-deps.ts';
import { JobLog } from '../coder/job-log.ts';
import { ProtocolTalk } from '../coder/protocol-talk.ts';
import { probeCapabilities } from '../process/capabilities.ts';
import type { CodeQuery } from '../protocol/code-operations.ts';
import { ReefError, toReefError } from '../protocol/errors.ts';
import type { Progress } from '../protocol/events.ts';
import { createArtifactStore } from '../repostate/artifacts/artifact-store.ts';
import { parametersFor } from '../repostate/prompt/cache-profile.ts';
import type { AppConfig } from '../runtime/config/app-config.ts';
import { loadConfig } from '../runtime/config/load.ts';
import { createPermissionGate } from '../runtime/permissions/gate.ts';
import { createRunCommand } from '../runtime/tools/command.ts';
import { type Client, connect } from '../surfaces/client/client.ts';
import { codeAnswer } from '../surfaces/render/code.ts';
import { createStyle } from '../surfaces/render/style.ts';

/**
 * `native-coder.ts --session ID | --resume ID [--model M]`: Reef's own coder as a program that speaks the reef protocol.
 * The daemon starts it like any agent. It outlives the daemon, and continues when it is started again with `--resume`.
 */
const BUDGET = { turns: 200, tokens: 2_200_000, ms: 2 * 3_600_000 };
/** The first of these files that exists instructs the coder, up to some 4,000 tokens of it. */
const INSTRUCTION_FILES = ['AGENTS.md', 'CLAUDE.md'];
const INSTRUCTION_CHARACTERS = 12_000;

/** Code shown with the task, unless `context.first_look` says otherwise: a few whole functions. */
const FIRST_LOOK = 2_000;

/** The coder may change files unless the configuration says otherwise. */
const EDITS: AppConfig['reef']['permissions'] = [
  { tool: 'write_file', action: 'allow' },
  { tool: 'edit_file', action: 'allow' },
];

const { values } = parseArgs({
  options: { session: { type: 'string' }, resume: { type: 'string' }, model: { type: 'string' } },
});
process.stdout.on('error', () => process.exit(1)); // nobody listens any more
await serve(readEnvironment());

async function serve(env: Environment): Promise<void> {
  const talk = new ReefConnection(process.stdin, process.stdout);
  let coder: Coder | undefined;
  for (let isFirst = true; ; isFirst = false) {
    const message = await talk.nextMessage();
    if (message === undefined) process.exit(0);
    const signal = talk.beginTurn();
    try {
      coder ??= await openCoder(env, talk, message);
      if (!isFirst || values.resume !== undefined) await coder.tell(message);
      const { result, endedBy } = await coder.work(signal);
      talk.endTurn({ do: 'turn', is: 'over', outcome: 'done', result, stopReason: endedBy });
    } catch (error) {
      const { code, message: why, retryable } = toReefError(error);
      if (signal.aborted) talk.endTurn({ do: 'turn', is: 'over', outcome: 'interrupted', result: '' });
      else talk.endTurn({ do: 'turn', is: 'failed', code, message: why, retryable });
    }
  }
}

/** The coder of all turns of this process. */
async function openCoder(env: Environment, talk: ReefConnection, message: string): Promise<Coder> {
  const cwd = process.cwd();
  const jobDir = jobDirOf(env);
  const jobId = jobDir.split('/').at(-1) ?? 'job';
  // Stored before anything that takes time: the message is acknowledged, so nobody will send it again.
  const task = firstTask(jobDir, message);
  const log = new JobLog(jobDir);
  const turn = log.lastTurn();
  const configured = loadConfig({ env: env.all, home: env.home, cwd });
  const { client, model, redact } = openModel(configured, {
    home: env.home,
    clock: systemClock,
    model: values.model,
    onRetry: (retry) => talk.write({ type: 'progress', payload: { kind: 'retry', ...retry } }),
  });
  const protocol = new ProtocolTalk(talk);
  talk.write({ do: 'session', sessionId: values.resume ?? values.session ?? jobId, model: model.id, cwd });
  const { permissions, context, coder: own } = configured.config.reef;
  const daemon = connect({ socket: env.reefSocket ?? '', surface: 'mcp' });
  const profile = profileOf(model);
  const tell = teller(log, talk);
  const { tracker, lines } = await openTracker({
    env,
    cwd,
    jobId,
    jobDir,
    tell,
    checks: own.checks,
    clock: systemClock,
    lastTurn: values.resume === undefined ? undefined : turn,
  });
  const instructions = readInstructions(cwd);
  const artifactsDir = join(dirname(dirname(jobDir)), 'artifacts');
  const coder = new Coder(
    {
      jobId,
      cwd,
      client,
      model,
      counter: await loadTokenCounter(),
      profile,
      tracker,
      redact,
      tell,
      dir: createSafeDir(cwd),
      clock: systemClock,
      parameters: parametersFor(profile, model.data.max_input_tokens ?? 128_000, context),
      ...(context.guards !== undefined && { guards: context.guards }),
      artifacts: orOfTheRun(createArtifactStore({ dir: artifactsDir, rootId: jobId, jobId, redact }), daemon),
      gate: createPermissionGate({ rules: [...permissions, ...EDITS] }),
      ask: protocol.ask,
      runCommand: createRunCommand({ capabilities: await probeCapabilities(), env: env.all, jobId }),
      askCode: codeAsker(daemon),
      firstLook: context.first_look ?? FIRST_LOOK,
      checks: own.checks,
      budget: { ...BUDGET, ...(own.budget_usd !== undefined && { usd: own.budget_usd }) },
      ...(instructions !== undefined && { instructions }),
      emit: protocol.emit,
      edited: ({ path, kind }) => talk.write({ type: 'file_edit', payload: { id: path, path: join(cwd, path), kind } }),
      record: (ledger, reported) => log.record(ledger, reported),
    },
    task,
  );
  if (values.resume !== undefined) {
    coder.restore(log.read(), { turn, used: log.used(), calls: log.calls() });
    for (const line of lines) coder.note(line);
  }
  return coder;
}

/** The folder in which this job keeps what it needs after a restart. */
function jobDirOf({ reefJobDir }: Environment): string {
  if (reefJobDir !== undefined) return reefJobDir;
  throw new ReefError('bad_request', 'The coder only runs as a job. Start one: reef spawn native:coder "…"');
}

/** The task of a session is its first message, also after a restart. */
function firstTask(jobDir: string, message: string): string {
  const file = join(jobDir, 'task');
  if (values.resume !== undefined && existsSync(file)) return readFileSync(file, 'utf8');
  writeFileSync(file, message, { mode: 0o600 });
  return message;
}

function readInstructions(cwd: string): string | undefined {
  const file = INSTRUCTION_FILES.map((name) => join(cwd, name)).find((path) => existsSync(path));
  return file === undefined ? undefined : readFileSync(file, 'utf8').slice(0, INSTRUCTION_CHARACTERS);
}

/** What was cut before the task reached this job belongs to the run, so the daemon reads it. */
function orOfTheRun(own: CoderDeps['artifacts'], daemon: Client): CoderDeps['artifacts'] {
  return {
    put: own.put,
    async read(id, options = {}) {
      try {
        return await own.read(id, options);
      } catch (refusal) {
        const { nextOffset, ...page } = await daemon.call('artifact_read', { id, ...options }).catch(() => {
          throw refusal;
        });
        return { ...page, ...(nextOffset !== undefined && { nextOffset }) };
      }
    },
  };
}

function codeAsker(daemon: Client): CoderDeps['askCode'] {
  return async (tool, args, signal) => {
    const answer = await daemon.call(tool as CodeQuery, args as never, { signal });
    return codeAnswer(tool as CodeQuery, answer as never, createStyle({ colour: false, width: 200, now: new Date() }));
  };
}

function teller(log: JobLog, talk: ReefConnection): CoderDeps['tell'] {
  return (news) => {
    log.append(news);
    const told = toldOf(news);
    if (told) talk.write({ type: 'progress', payload: told });
  };
}

/** The part of the news that people see. The rest, and the text of a snapshot, goes to the log only. */
function toldOf(news: Parameters<CoderDeps['tell']>[0]): Progress | undefined {
  switch (news.kind) {
    case 'context.rolled': {
      const { snapshot: _, ...rest } = news;
      return rest;
    }
    case 'context.cache_miss':
    case 'repostate.divergence':
    case 'repostate.detected':
      return news;
    default:
      return undefined;
  }
}
