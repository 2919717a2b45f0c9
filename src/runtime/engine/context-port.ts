import { setTimeout as sleep } from 'node:timers/promises';
import { type Message, textOf, type UserMessage } from '../models/message.ts';
import type { PermissionGate } from '../permissions/gate.ts';
import { fillTemplate, type RagHit } from '../rag/rag.ts';
import type { RequestContext } from '../state/request-context.ts';
import { settingsOf } from '../state/resolve.ts';
import { turnMessages } from '../state/turns.ts';
import type { OutputCap } from '../tools/output.ts';
import type { AskFn } from '../tools/tool.ts';
import type { EnginePort, FollowUp, RunIo } from './engine.ts';
import type { TurnDeps, TurnResult } from './turn-deps.ts';

export interface ContextPortDeps {
  gate: PermissionGate;
  outputs: OutputCap;
  /** Asks at the surface. An agent asks through its own inbox instead. */
  ask: AskFn;
  /** Receives what the RAG found for the last question, for `.sources rag`. */
  onSources?: (hits: readonly RagHit[]) => void;
  /** True when the RAG is not asked. */
  isBare?: () => boolean;
  /** Changes how the context runs a turn. */
  adjust?: (turn: TurnDeps) => TurnDeps;
}

const CONTINUE =
  'There are things left to do on your list. Go on with the next one; if it cannot be done, say why and clear the list.';
const POLL_MS = 20;

/** The only way from `ask`, `chat`, the API and agents to a model. */
export function contextPort(ctx: RequestContext, deps: ContextPortDeps): EnginePort {
  /** Turns of this run that no session stores: an agent that continues must remember them. */
  let said: Message[] = [];
  return {
    sessionId: () => ctx.session?.id,
    modelId: () => ctx.model.id,
    applyPrelude: (signal) => ctx.applyPrelude(signal),
    beginTurn: () => ctx.beginTurn(),
    async prepare(input, io) {
      while (ctx.isCompressingSession()) await sleep(POLL_MS, undefined, { signal: io.signal });
      said = [];
      if (ctx.agentRuntime) ctx.agentRuntime.autoContinueCount = 0;
      ctx.beforeChatCompletion(input);
      return deps.isBare?.() ? input : retrieved(ctx, input, { io, onSources: deps.onSources });
    },
    turn: (question, io) => turnDeps(ctx, deps, { question, io, said }),
    dryRun: async (question) => {
      if (!settingsOf(ctx).dry_run) return undefined;
      return turnMessages(ctx, question.content).map(textOf).join('\n\n');
    },
    async keep(turn) {
      if (!ctx.session) said.push(...turn.messages);
      await ctx.afterChatCompletion({ messages: turn.messages, output: turn.text });
    },
    followUp: (turn) => followUp(ctx, turn),
    async compress(io) {
      if (!ctx.maybeCompressSession()) return false;
      return compressing(ctx, io, () => ctx.compressSession({ signal: io.signal }));
    },
    autoname: async (io) => (ctx.maybeAutonameSession() ? ctx.autonameSession(io.signal) : undefined),
  };
}

interface Occasion {
  question: UserMessage;
  io: RunIo & { stream: boolean };
  said: readonly Message[];
}

function turnDeps(ctx: RequestContext, deps: ContextPortDeps, { question, io, said }: Occasion): TurnDeps {
  const { app, model, toolScope, agentRuntime } = ctx;
  const settings = settingsOf(ctx);
  const { temperature, top_p, max_output_tokens } = settings;
  const turn: TurnDeps = {
    client: app.models.client(model),
    model,
    settings: { temperature, top_p, max_output_tokens, stream: io.stream && settings.stream },
    prompt: {
      build([, ...since]) {
        const base = turnMessages(ctx, question.content);
        return [...base.slice(0, -1), ...said, ...base.slice(-1), ...since];
      },
    },
    functions: toolScope.functions,
    tracker: toolScope.toolTracker,
    gate: deps.gate,
    outputs: deps.outputs,
    ask: agentRuntime?.escalationQueue.ask ?? deps.ask,
    cwd: app.cwd,
    agent: ctx.agent?.name,
    signal: io.signal,
    emit: io.emit,
    async beforeStep({ messages, steps }) {
      if (steps === 0 || !ctx.needsCompressionMidTurn(messages)) return;
      await compressing(ctx, io, () => ctx.compressSession({ turn: { messages }, signal: io.signal }));
    },
  };
  return deps.adjust?.(turn) ?? turn;
}

/** If compression fails, the session stays as it was and the turn goes on. */
async function compressing(
  ctx: RequestContext,
  io: RunIo,
  compress: () => ReturnType<RequestContext['compressSession']>,
): Promise<boolean> {
  io.emit({ type: 'session_compressing' });
  try {
    const result = await compress();
    if (!result) return false;
    io.emit({ type: 'session_compressed' });
    if (result.tooBig !== undefined) io.emit({ type: 'warning', message: `Compression pauses: ${result.tooBig}` });
    return true;
  } catch (error) {
    if (io.signal.aborted) throw error;
    io.emit({ type: 'warning', message: `${ctx.session?.name ?? ''} was not compressed: ${String(error)}` });
    return false;
  }
}

/** An agent's own RAG comes before one the user chose. */
async function retrieved(
  ctx: RequestContext,
  input: UserMessage,
  { io, onSources }: { io: RunIo; onSources: ContextPortDeps['onSources'] },
): Promise<UserMessage> {
  const rag = (ctx.agentRuntime?.rag ?? ctx.rag)?.value;
  const text = textOf(input);
  if (!rag || text === '') return input;
  const { rag_top_k, rag_reranker_model, dry_run: isDry } = settingsOf(ctx);
  const options = { top_k: rag_top_k, reranker_model: rag_reranker_model, isDry, signal: io.signal };
  const hits = await rag.search(text, options);
  onSources?.(hits);
  const context = hits.map((hit) => hit.text).join('\n\n');
  const sources = [...new Set(hits.map((hit) => `- ${hit.source}`))].join('\n');
  const filled = fillTemplate(ctx.app.config.rag_template, { context, sources, input: text });
  const files = input.content.filter((part) => part.type === 'file');
  return { role: 'user', content: [{ type: 'text', text: filled }, ...files] };
}

/** Tells an agent to go on while its list has open entries and the count allows it. */
function followUp({ agentRuntime }: RequestContext, turn: TurnResult): FollowUp | undefined {
  const { spec, todoList } = agentRuntime ?? {};
  if (!agentRuntime || !spec?.auto_continue || !todoList?.hasOpen || turn.error) return undefined;
  if (agentRuntime.autoContinueCount >= spec.max_auto_continues) return undefined;
  agentRuntime.autoContinueCount += 1;
  return {
    text: `${spec.continuation_prompt ?? CONTINUE}\n\n${todoList.render()}`,
    count: agentRuntime.autoContinueCount,
    max: spec.max_auto_continues,
  };
}
