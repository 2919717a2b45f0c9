import type { Lease } from '../../base/lease.ts';
import type { AgentSpec } from '../agent-spec/spec.ts';
import type { McpRuntime } from '../mcp/factory.ts';
import type { Rag } from '../rag/rag.ts';
import type { AskFn, Functions, ToolCallTracker } from '../tools/tool.ts';
import type { AgentTodos } from './agent-todos.ts';

/** What a context may use. Replaced as a whole by a transition, never changed in part. */
export interface ToolScope {
  readonly functions: Functions;
  readonly mcpRuntime: McpRuntime;
  readonly toolTracker: ToolCallTracker;
}

/** The children of an agent. Built by `runtime/agents`; a transition only ends them. */
export interface Supervisor {
  /** Cancels every child, recursively, and waits for their end. */
  cancelAll(): Promise<void>;
  /** Running children, for the facts a compressed prompt keeps. */
  running(): readonly { id: string; agent: string; task: string }[];
}

export interface InboxMessage {
  kind: 'task_completed' | 'text';
  from: string;
  text: string;
}

export interface Inbox {
  deliver(message: InboxMessage): void;
  /** Takes everything: completed tasks first, then text. */
  drain(): InboxMessage[];
}

/** The one Reef inbox, as an agent of any depth asks through it. */
export interface EscalationPort {
  ask: AskFn;
  /** Questions that wait for an answer, for the facts a compressed prompt keeps. */
  open(): readonly { id: string; question: string }[];
}

/** The parent as its child sees it: somebody to write to. */
interface TeammatePort {
  readonly agentId: string;
  send(to: string, message: InboxMessage): Promise<void>;
}

/** Only while an agent is active. */
export interface AgentRuntime {
  readonly spec: AgentSpec;
  readonly rag?: Lease<Rag>;
  readonly supervisor: Supervisor;
  readonly inbox: Inbox;
  readonly escalationQueue: EscalationPort;
  /** Iff `auto_continue`. */
  readonly todoList?: AgentTodos;
  readonly selfAgentId: string;
  readonly parentSupervisor?: TeammatePort;
  readonly currentDepth: number;
  autoContinueCount: number;
}

/** What `runtime/agents` gives a new agent context; the transition adds spec, RAG and todo list. */
export type AgentTeam = Pick<
  AgentRuntime,
  'supervisor' | 'inbox' | 'escalationQueue' | 'selfAgentId' | 'parentSupervisor' | 'currentDepth'
>;
