import { randomUUID } from 'node:crypto';
import type { Face } from '../../../app/runtime/commands/command.ts';
import { Dialogue } from '../../../app/runtime/dialogue.ts';
import { openRuntime, type Runtime } from '../../../app/runtime/open-runtime.ts';
import { systemClock } from '../../../base/clock.ts';
import { printable } from '../../../base/printable.ts';
import { Limiter } from '../../../base/serial.ts';
import { version } from '../../../base/version.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { GrantsFile, grantsPath } from '../../../runtime/config/grants-file.ts';
import { type ConfigWarning, describeWarning } from '../../../runtime/config/settings-file.ts';
import { createPermissionGate } from '../../../runtime/permissions/gate.ts';
import { TEMP_SESSION } from '../../../runtime/sessions/session.ts';
import { createContext } from '../../../runtime/state/init.ts';
import type { RequestContext } from '../../../runtime/state/request-context.ts';
import { createOutputCap } from '../../../runtime/tools/output.ts';
import type { AskFn } from '../../../runtime/tools/tool.ts';
import type { ChatTeam } from '../../native-agent/chat-team.ts';
import type { Cli } from '../cli.ts';
import { askNobody, askPerson, type Person, userPort } from '../prompt/person.ts';

/** What a conversation takes of the surface it is held at. */
export type Talker = Pick<Cli, 'env' | 'cwd' | 'talk' | 'style'>;

interface Setup {
  cli: Talker;
  ask: AskFn;
  askPassword?: ((question: string) => Promise<string>) | undefined;
  isOneShot: boolean;
}

/** The runtime of this user in this folder. Warnings about its configuration go to stderr. */
export function openTerminalRuntime({ cli, ask, askPassword, isOneShot }: Setup): Promise<Runtime> {
  const { env, cwd } = cli;
  const onWarning = (warning: ConfigWarning) =>
    cli.talk(`${cli.style.paint('yellow', 'warning')}: ${printable(describeWarning(warning))}`);
  return openRuntime({ env, cwd, clock: systemClock, version, isOneShot, ask, askPassword, onWarning });
}

/** The runtime for commands that never ask a person. */
export const openRuntimeAlone = (cli: Talker) => openTerminalRuntime({ cli, ask: askNobody, isOneShot: true });

/** What a team of agents is opened with. `turns` lets one question at a time reach the terminal. */
export interface TeamSetting<Surface extends Talker = Talker> {
  cli: Surface;
  runtime: Runtime;
  ask: AskFn;
  confirmAll: boolean;
  turns: Limiter;
}

interface Opening<Surface extends Talker> {
  cli: Surface;
  options: ScopeOptions;
  person: Person | undefined;
  mode: 'cmd' | 'repl' | 'api';
  face(ctx: RequestContext): Face;
  /** Absent where no agent takes part. */
  openTeam?(setting: TeamSetting<Surface>): Promise<ChatTeam>;
}

/** A conversation in a context of its own, with the permissions and grants of the user. */
export async function openConversation<Surface extends Talker>(opening: Opening<Surface>): Promise<Dialogue> {
  const { cli, options, person, mode } = opening;
  const turns = new Limiter();
  const ask = person ? askPerson(person, turns) : askNobody;
  const runtime = await openTerminalRuntime({ cli, ask, askPassword: person?.secret, isOneShot: mode !== 'repl' });
  const confirmAll = options.yes === true || /^(1|true|yes)$/i.test(runtime.app.environment.AUTO_CONFIRM ?? '');
  const team = await opening.openTeam?.({ cli, runtime, ask, confirmAll, turns });
  const ctx = createContext(team?.app ?? runtime.app, {
    workingMode: mode,
    overrides: overridesOf(options),
    ...(person && { ui: userPort(person) }),
  });
  const grants = new GrantsFile(grantsPath(cli.env));
  const { config, clock } = ctx.app;
  const gate = createPermissionGate({
    rules: config.reef.permissions,
    confirmAll,
    grants: {
      has: (fingerprint) => grants.has(fingerprint),
      add: (grant) => grants.add({ ...grant, at: clock.now().toISOString(), by: cli.env.all.USER ?? '' }),
    },
  });
  const outputs = createOutputCap(runtime.outputsDir, () => randomUUID());
  const face = opening.face(ctx);
  return new Dialogue(ctx, { runtime, gate, outputs, ask, face, drive: team?.run, home: cli.env.home });
}

/** The options that `ask` and `chat` share. */
export interface ScopeOptions {
  model?: string;
  prompt?: string;
  role?: string;
  session?: string | true;
  emptySession?: true;
  saveSession?: true;
  agent?: string;
  agentVariable?: string[];
  rag?: string;
  rebuildRag?: true;
  stream: boolean;
  dryRun?: true;
  yes?: true;
}

/** Settings that hold for this request only. */
function overridesOf({ model, stream, dryRun }: ScopeOptions) {
  return { ...(model !== undefined && { model }), ...(!stream && { stream: false }), ...(dryRun && { dry_run: true }) };
}

/** Enters the role, session, agent or RAG that the options name. */
export async function enterScope(ctx: RequestContext, options: ScopeOptions, signal?: AbortSignal): Promise<void> {
  const session = options.session === true ? TEMP_SESSION : options.session;
  if (options.agent !== undefined) {
    await ctx.useAgent({ name: options.agent, session, variables: variablesOf(options.agentVariable), signal });
  } else await enterPlain(ctx, { ...options, session: session ?? '' }, signal);
  if (options.rebuildRag) await ctx.rebuildRag({ signal });
  if (options.emptySession) ctx.emptySession();
  if (options.saveSession) ctx.setSaveSessionThisTime();
}

async function enterPlain(
  ctx: RequestContext,
  { prompt, role, session, rag }: ScopeOptions & { session: string },
  signal?: AbortSignal,
): Promise<void> {
  if (prompt !== undefined) await ctx.usePrompt(prompt, signal);
  else if (role !== undefined) await ctx.useRole(role, signal);
  else if (session === '' && rag === undefined) await ctx.bootstrapTools(signal);
  if (session !== '') await ctx.useSession(session, signal);
  if (rag !== undefined) await ctx.useRag(rag, signal);
}

function variablesOf(pairs: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new ReefError('bad_request', '--agent-variable: expected NAME VALUE');
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

/** Saves the session if it should be saved, and closes everything. */
export async function leaveScope(ctx: RequestContext): Promise<void> {
  try {
    if (ctx.agent) await ctx.exitAgent();
    if (ctx.session) await ctx.exitSession();
  } finally {
    await ctx.close();
    await ctx.app.close();
  }
}
