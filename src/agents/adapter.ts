import type { ErrorCode } from '../protocol/error-table.ts';
import type { EventOf } from '../protocol/events.ts';
import type { Decision, QuestionKind } from '../protocol/jobs.ts';

/**
 * An adapter is the only place that knows an agent's flags, wire format and quirks. It is a pure translator: no clock,
 * no files, no processes. Its state is JSON of at most 64 KiB and is committed together with the events and the file
 * offset, so that a restart at any byte gives the same log.
 */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Adapter<S extends Json = Json> {
  describe(): AgentDescription;
  /** The command line of a first launch (`sessionId` absent or to be minted by `spec.mint`) or of a resume. */
  command(spec: LaunchRequest, machine: MachineFacts): LaunchPlan;
  /** The same for the terminal it has for people; absent where it has none, or none that says when it takes a task. */
  terminal?(spec: LaunchRequest, machine: MachineFacts): LaunchPlan;
  /** State before the first line of a launch. */
  initial(spec: LaunchRequest, machine: MachineFacts): S;
  parse(state: S, line: AgentLine): { state: S; effects: Effect[] };
  encode(state: S, outgoing: Outgoing): Encoded<S>;
  /** What only this agent's state or stderr tells about an exit; undefined leaves it to the general table. */
  finish(state: S, exit: Exit): { code: ErrorCode; message: string } | undefined;
}

export interface AgentDescription {
  /** `claude`, `codex`, `acp:gemini`, … */
  name: string;
  title: string;
  /** Looked for on PATH unless the configuration names a command. */
  executable: string;
  /** Where the real program may lie behind a launcher script, given the launcher's real path, as Codex has. */
  behindLauncher?(realPath: string): string[];
  versionArgs: string[];
  tested?: string;
  minimum?: string;
  /** Shown when it is missing, or not logged in. */
  install: string;
  login: string;
  /** What shows that it is logged in: a file (`~/…`, `$NAME/…`) or a variable that reaches it (`$NAME`). Looked for, never read. */
  loginSigns?: readonly string[];
  /** The day of the newest recording it is tested with. */
  recorded?: string;
  asks: QuestionKind[];
  /** A message to a busy agent: joins the turn, waits for the next one, or is refused. */
  busyMessage: 'steers' | 'queues' | 'refused';
  resumes: boolean;
  /** Whether a second copy of a message is ignored by the agent, so that sending it again is safe. */
  ignoresRepeats: boolean;
  /** What the agent must be able to write: `~/…` in its home, `$NAME` where that variable points. */
  stateDirs: string[];
  /** Of these, files that say what it runs, with what they hold when they say nothing: it may not change them in a sandbox. */
  settings?: Readonly<Record<string, string>>;
  /** False: it needs what a sandbox hides. */
  sandbox?: false;
  /** Names of variables that reach it from the user's environment, beside the common ones. */
  passEnv: string[];
}

export interface LaunchRequest {
  jobId: string;
  /** The job's folder in the home, for agents of Reef's own. */
  jobDir?: string;
  cwd: string;
  model?: string;
  /** It may look and not change. */
  readonly?: boolean;
  /** Present: continue that session. */
  sessionId?: string;
  /** A fresh UUID for agents that let us choose the session's name. */
  freshSessionId: string;
  /** Only for agents that take their prompt as a file on stdin (`stdin: 'file'`). */
  prompt: string;
  /** Reef's own MCP server for this job, when one is offered. */
  mcp?: { name: string; command: string; args: string[]; env: Record<string, string> };
  clientVersion: string;
}

export interface MachineFacts {
  /** Program and leading arguments, resolved: an absolute path first. */
  command: [string, ...string[]];
  version?: string;
  /** False: the agent's own sandbox cannot work here. */
  agentSandbox: boolean;
  /** Settings of this agent's entry in the configuration, e.g. ACP `auth`. */
  settings: Record<string, string>;
  /** The environment it gets, before the plan adds to it. */
  env?: Readonly<Record<string, string>>;
}

export interface LaunchPlan {
  file: string;
  args: string[];
  env: Record<string, string>;
  /**
   * `fifo`: a two-way conversation. `file`: the prompt is a file, then end of input. Or a terminal: `ready` are bytes the agent
   * writes once it takes a task, and not while a dialog of its own (trust, log-in) waits for a person.
   */
  stdin: 'fifo' | 'file' | { ready: string };
  /** The session it will be, where we choose the name and the agent will not tell. */
  sessionId?: string;
  /** Lines sent before anything is read, e.g. a hand-shake. */
  greeting: string[];
}

export type AgentLine =
  /** `json` is the parsed line; a line over 1 MiB arrives as a skeleton with long strings cut. */
  { stream: 'out'; json: Json; skeleton: boolean } | { stream: 'err'; text: string };

export type Effect =
  | { do: 'emit'; event: EventOf<'progress'> | EventOf<'tool_call'> | EventOf<'file_edit'> | EventOf<'error'> }
  /** Streamed text: pieces of one message share an id and are joined; `final` ends it. */
  | { do: 'text'; kind: 'text' | 'thinking'; id: string; text: string; final: boolean; parent?: string }
  | { do: 'ask'; requestId: string; questions: AskedQuestion[] }
  | { do: 'withdraw'; requestId: string; by: string }
  /** A protocol line of the adapter's own (hand-shake, reply to a request we do not serve): written once, ever. */
  | { do: 'write'; line: string }
  /** The agent took a message (its messageId) or an answer (its requestId). */
  | { do: 'ack'; messageId: string }
  | { do: 'ack'; requestId: string }
  | { do: 'session'; sessionId: string; model?: string; agentVersion?: string; cwd?: string }
  | { do: 'usage'; report: UsageReport }
  /** One more answer of the model was seen: what turn budgets count. */
  | { do: 'answer' }
  | { do: 'turn'; is: 'begun' }
  | { do: 'turn'; is: 'over'; outcome: 'done' | 'interrupted' | 'ended'; result: string; stopReason?: string }
  | { do: 'turn'; is: 'failed'; code: ErrorCode; message: string; retryable: boolean; status?: number }
  /** The provider's limit is reached: the job pauses, its process ends, it can be resumed. */
  | { do: 'limit'; message: string; resumeAt?: string }
  /** A message this adapter does not know: counted, kept by reference, never an error. */
  | { do: 'unknown'; name: string };

export interface AskedQuestion {
  kind: QuestionKind;
  question: string;
  choices?: { id: string; label: string; description?: string }[];
  multi?: boolean;
  freeText?: boolean;
  secret?: boolean;
  header?: string;
  tool?: string;
  input?: Json;
  diff?: string;
  /** A tool of Reef's own server: the socket of the job decides what it may do, so nobody is asked. */
  isOwnTool?: boolean;
}

interface Tokens {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  reasoning: number;
}

/** `more`: add it. `session`: a running total of the session; the difference to the last one counts. */
export interface UsageReport {
  tokens?: Tokens & { scope: 'more' | 'session' };
  cost?: { usd: number; scope: 'more' | 'session' };
  partial: boolean;
}

/** One per question of the request, in their order. */
export type Answer =
  | { kind: 'permission'; decision: Decision; reason?: string }
  | { kind: 'choice'; labels: string[]; ids: string[]; text?: string }
  | { kind: 'text'; text: string };

export type Outgoing =
  | { kind: 'message'; messageId: string; text: string }
  /** `requestLine` is the agent's whole request, read again from the raw file, for replies that must echo it. */
  | { kind: 'answer'; requestId: string; requestLine: string; answers: Answer[] }
  | { kind: 'interrupt'; messageId: string };

export type Encoded<S> =
  /** `delivered`: this agent acknowledges nothing, the write is all there is to know. */
  | { state: S; lines: string[]; delivered?: true }
  /** Not possible yet, e.g. before the hand-shake is over: asked again after the next lines. */
  | { later: true }
  | { refuse: ErrorCode; message: string };

export interface Exit {
  code: number | null;
  signal: string | null;
  stderrTail: string;
}
