import type { ErrorCode } from '../protocol/error-table.ts';
import type { EventOf } from '../protocol/events.ts';
import type { QuestionKind } from '../protocol/jobs.ts';
import type { ProjectFiles, ProjectNames } from './project-files.ts';
import type { News, ReefAnswer, ReefQuestion } from './reef-protocol/lines.ts';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/**
 * An adapter is the only place that knows an agent's flags, protocol and quirks. It is a pure translator: no clock, no
 * files, no processes. Its state is JSON of at most 64 KiB and is committed together with the events and the file
 * offset, so that a restart at any byte gives the same log.
 */
export interface Adapter<S extends Json = Json> {
  describe(): AgentDescription;
  /** The command line of a first launch, or of a resume when `sessionId` is present. */
  command(spec: LaunchRequest, machine: MachineFacts): LaunchPlan;
  /** The same for the agent's own terminal. Absent: it has none, or none that shows when it takes a task. */
  terminal?(spec: LaunchRequest, machine: MachineFacts): LaunchPlan;
  /** How it talks with Reef beside its terminal. Absent: it tells nothing there. */
  terminalTalk?: TerminalTalk<Json>;
  /** State before the first line of a launch. */
  initial(spec: LaunchRequest, machine: MachineFacts): S;
  parse(state: S, line: AgentLine): { state: S; effects: Effect[] };
  encode(state: S, outgoing: Outgoing): Encoded<S>;
  /** What this agent's state or stderr says about an exit. Undefined: the general rules of ending.ts decide. */
  finish(state: S, exit: Exit): { code: ErrorCode; message: string } | undefined;
}

/** Its hooks write lines to `$REEF_TOLD`, and wait for the file `$REEF_SAID/ID`: a line `{to: ID, say}` makes it. */
export interface TerminalTalk<S extends Json> {
  initial(): S;
  parse(state: S, line: AgentLine): { state: S; effects: Effect[] };
  encode(state: S, outgoing: Outgoing): Encoded<S>;
}

export interface AgentDescription {
  /** `claude`, `codex`, `gemini`, … */
  name: string;
  title: string;
  /** Looked for on PATH unless the configuration names a command. */
  executable: string;
  /** Where the real program may lie when the executable is only a launcher, given the launcher's real path. */
  behindLauncher?(realPath: string): string[];
  versionArgs: string[];
  tested?: string;
  minimum?: string;
  /** Shown when it is missing, or not logged in. */
  install: string;
  login: string;
  /** Signs of a log-in: a file (`~/…`, `$NAME/…`) or a variable that reaches the agent (`$NAME`). Never read. */
  loginSigns?: readonly string[];
  /** The day of the newest recording it is tested with. */
  recorded?: string;
  asks: QuestionKind[];
  /** What happens to a message to a busy agent: it joins the turn, waits for the next one, or is refused. */
  busyMessage: 'steers' | 'queues' | 'refused';
  resumes: boolean;
  /** It tells its tokens only when a turn is over: until then each answer of the model counts for a fixed number. */
  tellsTokensLate?: true;
  /** Whether the agent ignores a second copy of a message, so that sending it again is safe. */
  ignoresRepeats: boolean;
  /** What it keeps in the user's home. In a sandbox it finds private copies there. */
  state: readonly AgentPlace[];
  /** Where its models and its log-in are: a sandbox lets it connect there. */
  hosts?: readonly string[];
  /** How a repository steers it. Absent: not at all. */
  project?: ProjectNames;
  /** False: it needs what a sandbox hides. `own`: it has one of its own, which stays on where Reef's is not up. */
  sandbox?: false | 'own';
  /** Files beside its program that it reads, wherever they lie. */
  reads?: readonly string[];
  /** Keys and endpoints that reach it from the user's shell only while it has no log-in of its own: a key is billed by use. */
  shellKeys?: readonly string[];
  /** The variables that its own settings, as the user wrote them, name for a key: they reach it also beside a log-in. */
  keysInSettings?: (env: Readonly<NodeJS.ProcessEnv>) => string[];
  /** Names of variables that reach it from the user's environment, beside the common ones. */
  passEnv: string[];
}

/** A folder of an agent's own, or a file. */
export interface AgentPlace {
  /** `~/…` in its home, `$NAME` where that variable points: the first that leads somewhere. */
  at: readonly string[];
  /** Present for a file: what stands in an empty one. */
  file?: string;
  /** Names in the folder that a sandbox does not show: caches, and what belongs to other projects. */
  without?: RegExp;
  /** The folder of its conversations, and the paths in it that come back from a sandbox. */
  sessions?: { folder: string; file: RegExp };
  /** Files in the folder in which the user names other addresses of models and servers. A sandbox lets it connect there too. */
  endpoints?: readonly string[];
  /** Files with a log-in, by their names in the folder. */
  logins?: Readonly<Record<string, LoginFile>>;
}

/** Which part of a log-in the agent refreshes by itself. Fields are named by a path such as `tokens.access_token`. */
export interface LoginFile {
  /** Every entry of the file is a log-in. */
  each?: boolean;
  /** Equal before and after: it is the same account. */
  same: readonly string[];
  takes: readonly string[];
  /** A date or number that grows with every refresh. */
  later: string;
}

export interface LaunchRequest {
  jobId: string;
  /** The job's folder in the home, for agents of Reef's own. */
  jobDir?: string;
  cwd: string;
  model?: string;
  /** The agent may look and not change. */
  readonly?: boolean;
  /** Present: continue that session. */
  sessionId?: string;
  /** A fresh UUID for agents that let us choose the session's name. */
  freshSessionId: string;
  /** Only for agents that take their prompt as a file on stdin (`stdin: 'file'`). */
  prompt: string;
  /** What its folder brings for the agent. Absent: nobody looked, and nothing of it takes effect. */
  project?: ProjectFiles;
  /** Reef's own MCP server for this job, when one is offered. */
  mcp?: { name: string; command: string; args: string[]; env: Record<string, string> };
  clientVersion: string;
}

export interface MachineFacts {
  /** Program and leading arguments, resolved: an absolute path first. */
  command: [string, ...string[]];
  version?: string;
  /** False: Reef's own sandbox is up, in which the agent's could not work. */
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
   * `fifo`: a two-way conversation. `file`: the prompt is a file, then end of input. Otherwise a terminal: the agent writes
   * the bytes `ready` once it takes a task, and not while a dialog of its own (trust, log-in) waits for a person.
   */
  stdin: 'fifo' | 'file' | { ready: string };
  /** The session's id, where Reef chooses it and the agent will not report it. */
  sessionId?: string;
  /** Lines sent before anything is read, e.g. a hand-shake. */
  greeting: string[];
}

export type AgentLine =
  /** `json` is the parsed line; a line over 256 KiB arrives as a skeleton with long strings and lists cut. */
  { stream: 'out'; json: Json; skeleton: boolean } | { stream: 'err'; text: string };

export type Effect =
  | { do: 'emit'; event: EventOf<'progress'> | EventOf<'tool_call'> | EventOf<'file_edit'> | EventOf<'error'> }
  /** What the reef protocol's news say: text, session, usage, answer, turn and limit. */
  | Exclude<News, { do: 'ask' | 'withdraw' }>
  | { do: 'ask'; requestId: string; questions: AskedQuestion[] }
  | { do: 'withdraw'; requestId: string; by: string }
  /** A line of the adapter's own, as in a hand-shake or to refuse a request. It is written once. */
  | { do: 'write'; line: string }
  /** The agent took a message (its messageId) or an answer (its requestId). */
  | { do: 'ack'; messageId: string }
  | { do: 'ack'; requestId: string }
  /** A line that this agent writes at every launch and that asks nothing of anybody. `output --raw` still shows it. */
  | { do: 'routine' }
  /** A message this adapter does not know: counted, kept by reference, never an error. */
  | { do: 'unknown'; name: string };

export interface AskedQuestion extends ReefQuestion {
  /** A tool of Reef's own server: the job's socket decides what it may do, so nobody is asked. */
  isOwnTool?: boolean;
  /** It changes nothing, says a server that a person put in effect. */
  onlyReads?: boolean;
  /** The adapter could not keep all of it, so nobody can be shown what they would allow. */
  isCut?: boolean;
  /** What is asked for. Absent: whoever allows it for longer allows this tool with these very arguments. */
  wants?: Wants;
}

/** Paths are as the agent gave them. A command is its line, with all that changes what it may do. */
export type Wants = { edits: string[] } | { command: Json } | { mcpTool: string } | { host: string };

export type UsageReport = Extract<News, { do: 'usage' }>['report'];

/** One per question of the request, in their order. */
export type Answer = ReefAnswer;

export type Outgoing =
  | { kind: 'message'; messageId: string; text: string }
  /** `requestLine` is the agent's whole request, read again from the raw file: some replies must echo it. */
  | { kind: 'answer'; requestId: string; requestLine: string; answers: Answer[] }
  | { kind: 'interrupt'; messageId: string };

export type Encoded<S> =
  /** `delivered`: the agent will not acknowledge it, so written counts as delivered. */
  | { state: S; lines: string[]; delivered?: true }
  /** Not possible yet, e.g. before the hand-shake is over: tried again after the next lines. */
  | { later: true }
  | { refuse: ErrorCode; message: string };

export interface Exit {
  code: number | null;
  signal: string | null;
  stderrTail: string;
}
