import { ReefError } from '../../../protocol/errors.ts';
import type { RunIo } from '../../../runtime/engine/engine.ts';
import type { TurnDeps, TurnResult } from '../../../runtime/engine/turn-deps.ts';
import type { UserMessage } from '../../../runtime/models/message.ts';
import type { RagHit } from '../../../runtime/rag/rag.ts';
import type { Role } from '../../../runtime/roles/role.ts';
import type { RequestContext } from '../../../runtime/state/request-context.ts';

export const isCommand = (line: string) => /^\.[a-z]/.test(line.trimStart());

/** What depends on where the conversation takes place. A command whose part is absent says so. */
export interface Face {
  /** Opens the user's editor and comes back when it is closed. */
  edit?: ((file: string) => Promise<void>) | undefined;
  /** Asks for a value that is not shown. */
  secret?: ((question: string) => Promise<string>) | undefined;
  copy?: ((text: string) => Promise<void>) | undefined;
  jobs?: { list(): Promise<string>; inbox(answer?: { id: string; text: string }): Promise<string> } | undefined;
}

export interface CommandDeps {
  ctx: RequestContext;
  io: RunIo;
  face: Face;
  say(text: string): void;
  /** What was found for the last question. */
  sources(): readonly RagHit[];
  /** A question, with the content of the files, addresses and commands its line names. */
  input(line: string): Promise<UserMessage>;
  /** One turn in a role, outside session and agent. */
  aside(role: Role, question: UserMessage): Promise<void>;
  /** Runs a line as if somebody typed it. */
  line(ctx: RequestContext, line: string): Promise<void>;
  /** Ends the conversation. */
  leave(): void;
}

/** A question that a command leads to, and how its turn differs from others. */
export interface FollowOn {
  question: UserMessage;
  /** It is about what was said before, so nothing is retrieved for it. */
  isBare?: boolean;
  adjust?(parts: TurnDeps): TurnDeps;
  keep?(turn: TurnResult): Promise<void>;
}

/** Undefined when it is met, otherwise what to run first. */
export type Condition = (ctx: RequestContext) => string | undefined;

export interface DotCommand {
  /** Such as `.role` or `.info role`. */
  name: string;
  /** What follows the name. */
  usage?: string;
  does: string;
  needs?: readonly Condition[];
  run(deps: CommandDeps, args: string): Promise<FollowOn | undefined> | Promise<void> | FollowOn | undefined | void;
}

/** A command as somebody typed it. */
export interface TypedCommand extends DotCommand {
  args: string;
}

export function checkNeeds(ctx: RequestContext, needs: readonly Condition[]): void {
  for (const condition of needs) {
    const first = condition(ctx);
    if (first !== undefined) throw new ReefError('invalid_state', first);
  }
}

const isStarted = (ctx: RequestContext) => ctx.session?.isEmpty === false;

export const noAgent: Condition = ({ agent }) => agent && `agent ${agent.name} is active: run \`.exit agent\` first`;
export const anAgent: Condition = ({ agent }) => (agent ? undefined : 'no agent is active: run `.agent NAME` first');
export const aRole: Condition = (ctx) =>
  (ctx.session?.role ?? ctx.role) ? undefined : 'no role is active: run `.role NAME` first';
export const noStartedSession: Condition = (ctx) =>
  isStarted(ctx) ? 'the session has begun: run `.empty session` or `.exit session` first' : undefined;
export const noSession: Condition = ({ session }) =>
  session && `session ${session.name} is active: run \`.exit session\` first`;
export const aSession: Condition = ({ session }) =>
  session ? undefined : 'no session is active: run `.session [NAME]` first';
export const startedSession: Condition = (ctx) =>
  aSession(ctx) ?? (isStarted(ctx) ? undefined : 'nothing was said in the session yet: ask something first');
export const aRag: Condition = (ctx) =>
  (ctx.agentRuntime?.rag ?? ctx.rag) ? undefined : 'no RAG is active: run `.rag NAME` first';

/** The first word, and the rest. */
export function words(text: string): [first: string, rest: string] {
  const [, first = '', rest = ''] = /^(\S*)\s*([\s\S]*)$/.exec(text.trim()) ?? [];
  return [first, rest.trim()];
}

export function required(args: string, usage: string): string {
  if (args !== '') return args;
  throw new ReefError('bad_request', `usage: ${usage}`);
}
