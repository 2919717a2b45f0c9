import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { profileOf } from '../../../src/app/coder/open-model.ts';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { createRedactor } from '../../../src/base/redact.ts';
import { createSafeDir } from '../../../src/base/safe-dir.ts';
import { loadTokenCounter } from '../../../src/base/tokens.ts';
import { Coder, type CoderEnd } from '../../../src/coder/coder.ts';
import type { CoderDeps } from '../../../src/coder/coder-deps.ts';
import { createGit } from '../../../src/git/git-command.ts';
import { probeCapabilities } from '../../../src/process/capabilities.ts';
import { run } from '../../../src/process/run.ts';
import { ReefError } from '../../../src/protocol/errors.ts';
import type { ContextNews, StateNews } from '../../../src/protocol/repostate.ts';
import { createArtifactStore } from '../../../src/repostate/artifacts/artifact-store.ts';
import { parametersFor } from '../../../src/repostate/prompt/cache-profile.ts';
import type { Ledger } from '../../../src/repostate/prompt/ledger.ts';
import { createGitSource } from '../../../src/repostate/state/git-view.ts';
import { Tracker } from '../../../src/repostate/state/tracker.ts';
import type { EngineEvent } from '../../../src/runtime/engine/emitter.ts';
import type { ChatRequest, ModelClient } from '../../../src/runtime/models/client.ts';
import type { Message } from '../../../src/runtime/models/message.ts';
import { createPermissionGate } from '../../../src/runtime/permissions/gate.ts';
import { createRunCommand } from '../../../src/runtime/tools/command.ts';
import type { Answer, Question } from '../../../src/runtime/tools/tool.ts';
import { openRegistry } from '../engine/registry.ts';
import { initRepository, plainGit } from '../repository.ts';
import { disposableFolder } from '../temporary-folder.ts';

/** The native coder over a real repository, real tools and the scripted model; no daemon. */
export interface Scene {
  root: string;
  checkout: string;
  coder: Coder;
  tracker: Tracker;
  artifacts: CoderDeps['artifacts'];
  /** What reached the log of the job, in order. */
  news: (ContextNews | StateNews)[];
  events: EngineEvent[];
  asked: Question[];
  /** What the model was shown, call by call. */
  prompts: (readonly Message[])[];
  /** Names of the tools it was offered. */
  tools: Set<string>;
  ledgers: Ledger[];
  git(...args: string[]): string;
  file(path: string): string;
  /** Until its end; the code of what stopped it in place of one. */
  work(): Promise<CoderEnd | string>;
  /** Results of calls: `tool: output`, `tool! output` where it failed. */
  results(): string[];
  close(): Promise<void>;
}

export interface SceneOptions {
  files?: Record<string, string>;
  task?: string;
  /** Entries of the model's script. */
  script: readonly unknown[];
  answers?: Answer[];
  clock?: Clock;
  parts?: Partial<
    Pick<
      CoderDeps,
      'checks' | 'guards' | 'profile' | 'parameters' | 'budget' | 'askCode' | 'firstLook' | 'instructions' | 'jobId'
    >
  >;
  /** The folder of an earlier scene, which goes on. */
  root?: string;
  /** The last turn of that one. */
  turn?: number;
  /** Between the coder and the model. */
  around?(client: ModelClient): ModelClient;
}

export const call = (name: string, args: unknown = {}) => ({ reply: { tool_calls: [{ name, arguments: args }] } });
export const calls = (...made: [name: string, args: unknown][]) => ({
  reply: { tool_calls: made.map(([name, args]) => ({ name, arguments: args })) },
});
export const say = (text: string) => ({ reply: { text } });
export const done = (summary = 'Done.') => call('done', { summary });
export const choice = (picked: string): Answer => ({ kind: 'choice', choice: picked });

const BUDGET = { turns: 200, tokens: 2_200_000, ms: 2 * 3_600_000 };

export async function openScene(options: SceneOptions): Promise<Scene> {
  const folder = options.root === undefined ? disposableFolder() : undefined;
  const root = options.root ?? folder?.path ?? '';
  const checkout = join(root, 'repo');
  const env = { PATH: process.env.PATH ?? '', HOME: root, GIT_CONFIG_NOSYSTEM: '1' };
  const git = plainGit(checkout);
  if (folder) initRepository(checkout, options.files ?? { 'a.txt': 'alpha\n' }, git);
  writeFileSync(join(root, 'model.yaml'), stringify(options.script, { aliasDuplicateObjects: false }));
  const { clock = systemClock, answers = [] } = options;
  const { registry } = openRegistry([{ type: 'scripted', models: [{ name: 'm', script: 'model.yaml' }] }], {
    configDir: root,
    clock,
  });
  const model = registry.find('scripted:m');
  const real = registry.client(model);
  const { client, prompts, tools } = recorded(options.around?.(real) ?? real);
  const news: Scene['news'] = [];
  const events: EngineEvent[] = [];
  const asked: Question[] = [];
  const ledgers: Ledger[] = [];
  const base = git('rev-list', '--max-parents=0', 'HEAD');
  const { checks = {}, jobId = 'j-1' } = options.parts ?? {};
  const tell: CoderDeps['tell'] = (one) => news.push(one);
  const tracker = new Tracker({
    ...{ workDir: checkout, stateDir: join(root, 'state'), storyId: jobId, jobId, base, clock, checks, tell },
    git: createGitSource(
      createGit({ run, env: { PATH: env.PATH, HOME: root } }),
      { toplevel: checkout, gitDir: join(checkout, '.git'), commonDir: join(checkout, '.git') },
      base,
    ),
    log: {
      debug: () => {},
      info: () => {},
      warn: (message) => events.push({ type: 'warning', message }),
      error: () => {},
    },
  });
  await tracker.load();
  tracker.beginTurn(options.turn ?? 0);
  await tracker.refresh('load');
  const profile = options.parts?.profile ?? profileOf(model);
  const redact = createRedactor([]);
  const artifacts = createArtifactStore({ dir: join(root, 'artifacts'), rootId: jobId, jobId, redact });
  const coder = new Coder(
    {
      ...{ jobId, cwd: checkout, model, client, clock, profile, tracker, artifacts, redact, checks, tell },
      dir: createSafeDir(checkout),
      counter: await loadTokenCounter(),
      parameters: parametersFor(profile, 128_000),
      gate: createPermissionGate({ rules: [], confirmAll: true }),
      ask: async (question) => {
        asked.push(question);
        return answers.shift() ?? { kind: 'needs_human' };
      },
      runCommand: createRunCommand({ capabilities: await probeCapabilities(), env: { ...env, PATH: env.PATH } }),
      askCode: () => Promise.reject(new ReefError('daemon_unavailable', 'No daemon here.')),
      budget: BUDGET,
      emit: (event) => events.push(event),
      edited: () => {},
      record: (ledger) => ledgers.push(ledger),
      ...options.parts,
    },
    options.task ?? 'Do what has to be done.',
  );
  return {
    ...{ root, checkout, coder, tracker, artifacts, news, events, asked, prompts, tools, ledgers, git },
    file: (path) => readFileSync(join(checkout, path), 'utf8'),
    work: () =>
      coder.work(new AbortController().signal).catch((error: unknown) => {
        if (error instanceof ReefError) return error.code;
        throw error;
      }),
    results: () =>
      events.flatMap((event) =>
        event.type === 'tool_result' ? [`${event.name}${event.is_error ? '!' : ':'} ${event.output}`] : [],
      ),
    close: async () => {
      await tracker.close();
      folder?.[Symbol.dispose]();
    },
  };
}

function recorded(client: ModelClient): { client: ModelClient } & Pick<Scene, 'prompts' | 'tools'> {
  const prompts: (readonly Message[])[] = [];
  const tools = new Set<string>();
  const chat: ModelClient['chat'] = (request: ChatRequest, sink) => {
    prompts.push(structuredClone(request.messages) as Message[]);
    for (const { name } of request.tools ?? []) tools.add(name);
    return client.chat(request, sink);
  };
  return { client: { ...client, chat }, prompts, tools };
}
