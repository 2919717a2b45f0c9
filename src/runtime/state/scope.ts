import type { Lease } from '../../base/lease.ts';
import type { AgentSpec } from '../agent-spec/spec.ts';
import type { McpRuntime } from '../mcp/factory.ts';
import type { Rag } from '../rag/rag.ts';
import type { AgentTodos } from '../tools/builtin/agent-todos.ts';
import type { AskFn, Functions, ToolCallTracker } from '../tools/tool.ts';

/** The tools and servers of a context. A transition replaces it as a whole. */
export interface ToolScope {
  readonly functions: Functions;
  readonly mcpRuntime: McpRuntime;
  readonly toolTracker: ToolCallTracker;
}

/** The children of an agent. `runtime/team` builds it; a transition only ends them. */
export interface Supervisor {
  /** Cancels every child, recursively, and waits for their end. */
  cancelAll(): Promise<void>;
  /** Running children, for a compressed prompt. */
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

/** How an agent of any depth asks through Reef's inbox. */
export interface EscalationPort {
  ask: AskFn;
  /** Unanswered questions, for a compressed prompt. */
  open(): readonly { id: string; question: string }[];
}

/** The parent as its child sees it: somebody to write to. */
interface TeammatePort {
  readonly agentId: string;
  send(to: string, message: InboxMessage): Promise<void>;
}

/** Exists while an agent is active. */
export interface AgentRuntime {
  readonly spec: AgentSpec;
  readonly rag?: Lease<Rag>;
  readonly supervisor: Supervisor;
  readonly inbox: Inbox;
  readonly escalationQueue: EscalationPort;
  /** Present if `auto_continue` is set. */
  readonly todoList?: AgentTodos;
  readonly selfAgentId: string;
  readonly parentSupervisor?: TeammatePort;
  readonly currentDepth: number;
  autoContinueCount: number;
}

/** What `runtime/team` makes for a new agent. The transition adds the rest. */
export type AgentTeam = Pick<
  AgentRuntime,
  'supervisor' | 'inbox' | 'escalationQueue' | 'selfAgentId' | 'parentSupervisor' | 'currentDepth'
>;
