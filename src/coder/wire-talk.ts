import type { Answer as WireAnswer } from '../agents/adapter.ts';
import type { Conversation } from '../agents/wire/conversation.ts';
import { ReefError } from '../protocol/errors.ts';
import type { EngineEvent } from '../runtime/engine/emitter.ts';
import type { Answer, Question } from '../runtime/tools/tool.ts';

type ToolKind = 'shell' | 'read' | 'edit' | 'search' | 'fetch' | 'mcp' | 'agent' | 'other';
const TOOL_KINDS: Record<string, ToolKind> = {
  run_command: 'shell',
  ...{ read_file: 'read', list_files: 'read', artifact_read: 'read', repo_state: 'read' },
  ...{ write_file: 'edit', edit_file: 'edit' },
  ...{ code_search: 'search', get_symbol: 'search', get_symbol_references: 'search', get_file_outline: 'search' },
};

/** How the engine's events and questions are said on the reef wire, so that the daemon sees a job like any other (S-54). */
export class WireTalk {
  readonly #talk: Conversation;
  #message = 0;
  #questions = 0;

  constructor(talk: Conversation) {
    this.#talk = talk;
  }

  readonly emit = (event: EngineEvent): void => {
    switch (event.type) {
      case 'assistant_delta':
        this.#text(event.kind === 'text' ? 'text' : 'thinking', event.text, false);
        break;
      case 'assistant_message_end':
        this.#messageEnd(event);
        break;
      case 'tool_call':
        this.#toolCall(event);
        break;
      case 'tool_result':
        this.#talk.write({
          type: 'progress',
          payload: { kind: 'tool_result', id: event.id, ok: !event.is_error, text: event.output },
        });
        break;
      case 'warning':
      case 'info':
        this.#talk.write({ type: 'progress', payload: { kind: 'warning', message: event.message } });
        break;
      default:
    }
  };

  readonly ask = async (question: Question, signal: AbortSignal): Promise<Answer> => {
    const answered = this.#talk.ask(`q${++this.#questions}`, [toWire(question)]);
    const [answer] = await untilAborted(answered, signal);
    return toAnswer(question, answer);
  };

  #text(kind: 'text' | 'thinking', text: string, final: boolean): void {
    this.#talk.write({ do: 'text', kind, id: `${kind}${this.#message}`, text, final });
  }

  #messageEnd({ text, usage, cost }: Extract<EngineEvent, { type: 'assistant_message_end' }>): void {
    if (text !== '') this.#text('text', '', true);
    this.#message += 1;
    this.#talk.write({ do: 'answer' });
    const { input, output, cached, reasoning } = usage;
    const tokens = {
      input: input - cached,
      output,
      cacheRead: cached,
      cacheWrite: 0,
      reasoning,
      scope: 'more' as const,
    };
    this.#talk.write({
      do: 'usage',
      report: { tokens, ...(cost !== null && { cost: { usd: cost, scope: 'more' } }), partial: false },
    });
  }

  #toolCall({ id, name, arguments: input }: Extract<EngineEvent, { type: 'tool_call' }>): void {
    const tool = TOOL_KINDS[name] ?? 'other';
    const named = (input ?? {}) as { path?: unknown; command?: unknown; query?: unknown; name?: unknown };
    const subject = [named.command, named.path, named.query, named.name].find((each) => typeof each === 'string');
    const title = subject === undefined ? name : tool === 'shell' ? String(subject) : `${name} ${String(subject)}`;
    this.#talk.write({ type: 'tool_call', payload: { id, name, tool, title, input } });
  }
}

type WireQuestion = Parameters<Conversation['ask']>[1][number];

function toWire(question: Question): WireQuestion {
  switch (question.kind) {
    case 'permission':
      return {
        kind: 'permission',
        question: question.question,
        tool: question.tool,
        input: (question.arguments ?? {}) as never,
      };
    case 'confirm':
      return { kind: 'choice', question: question.question, choices: choices(['yes', 'no']), multi: false };
    case 'input':
      return { kind: 'text', question: question.question, freeText: true };
    default:
      return {
        kind: 'choice',
        question: question.question,
        choices: choices(question.options),
        multi: question.kind === 'choices',
        freeText: true,
      };
  }
}

function choices(labels: readonly string[]) {
  return labels.map((label) => ({ id: label, label }));
}

function toAnswer(question: Question, answer: WireAnswer | undefined): Answer {
  if (answer === undefined) return { kind: 'needs_human' };
  if (answer.kind === 'permission') return { kind: 'permission', decision: answer.decision };
  const text =
    answer.kind === 'choice' ? [...answer.labels, ...(answer.text === undefined ? [] : [answer.text])] : [answer.text];
  const [first = ''] = text;
  switch (question.kind) {
    case 'choices':
      return { kind: 'choices', choices: text };
    case 'confirm':
      return { kind: 'confirm', confirmed: first === 'yes' };
    case 'input':
      return { kind: 'input', text: first };
    case 'permission':
      return { kind: 'permission', decision: 'deny' }; // a word is no decision
    default:
      return { kind: 'choice', choice: first };
  }
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = () => reject(new ReefError('cancelled', 'The turn was interrupted'));
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
    promise.then(resolve, reject);
  });
}
