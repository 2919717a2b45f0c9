import type { Answer as ProtocolAnswer } from '../agents/adapter.ts';
import type { ReefConnection } from '../agents/reef-protocol/connection.ts';
import { unlessAborted } from '../base/wait.ts';
import type { EventBody } from '../protocol/events.ts';
import type { Emitter, EngineEvent } from '../runtime/engine/emitter.ts';
import type { AskChannel } from '../runtime/team/escalation.ts';
import type { Answer, AskFn, Question } from '../runtime/tools/tool.ts';

type ToolKind = Extract<EventBody, { type: 'tool_call' }>['payload']['tool'];

/** The kind of work of a tool, by its name. */
const TOOL_KINDS: readonly (readonly [RegExp, ToolKind])[] = [
  [/^(execute_|run_command)/, 'shell'],
  [/^(fs_cat|fs_read|fs_ls|read_file|list_files|artifact_read|repo_state)$/, 'read'],
  [/^(fs_write|fs_patch|fs_rm|fs_mkdir|write_file|edit_file)$/, 'edit'],
  [/^(fs_glob|fs_grep|code_search|get_symbol|get_symbol_references|get_file_outline)$/, 'search'],
  [/^fetch_/, 'fetch'],
  [/^mcp_/, 'mcp'],
  [/^agent__/, 'agent'],
];
const LONGEST_SUBJECT = 200;

/** Translates the engine's events and questions into the reef protocol, so that the daemon sees a job like any other. */
export class ProtocolTalk implements Emitter, AskChannel {
  readonly #connection: ReefConnection;
  #message = 0;
  #questions = 0;

  constructor(connection: ReefConnection) {
    this.#connection = connection;
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
        this.#connection.write({
          type: 'progress',
          payload: { kind: 'tool_result', id: event.id, ok: !event.is_error, text: event.output },
        });
        break;
      case 'warning':
      case 'info':
        this.#connection.write({ type: 'progress', payload: { kind: 'warning', message: event.message } });
        break;
      default:
    }
  };

  open(question: Question, signal: AbortSignal): ReturnType<AskChannel['open']> {
    const id = `q${++this.#questions}`;
    const answered = unlessAborted(this.#connection.ask(id, [toProtocol(question)]), signal);
    return {
      id,
      answer: answered.then(([answer]) => toAnswer(question, answer)),
      withdraw: (by) => this.#connection.write({ do: 'withdraw', requestId: id, by }),
    };
  }

  readonly ask: AskFn = (question, signal) => this.open(question, signal).answer;

  #text(kind: 'text' | 'thinking', text: string, final: boolean): void {
    this.#connection.write({ do: 'text', kind, id: `${kind}${this.#message}`, text, final });
  }

  #messageEnd({ text, usage, cost }: Extract<EngineEvent, { type: 'assistant_message_end' }>): void {
    if (text !== '') this.#text('text', '', true);
    this.#message += 1;
    this.#connection.write({ do: 'answer' });
    const { input, output, cached, reasoning } = usage;
    const counted = { input: input - cached, output, cacheRead: cached, cacheWrite: 0, reasoning };
    const price = cost !== null && { cost: { usd: cost, scope: 'more' as const } };
    this.#connection.write({
      do: 'usage',
      report: { tokens: { ...counted, scope: 'more' }, ...price, partial: false },
    });
  }

  #toolCall({ id, name, arguments: input }: Extract<EngineEvent, { type: 'tool_call' }>): void {
    const [, tool = 'other' as const] = TOOL_KINDS.find(([pattern]) => pattern.test(name)) ?? [];
    const given = (typeof input === 'object' && input !== null ? input : {}) as Record<string, unknown>;
    const subjects = [given.command, given.path, given.query, given.name, ...Object.values(given)];
    const subject = subjects.find((each) => typeof each === 'string');
    const title =
      subject === undefined ? name : tool === 'shell' ? subject : `${name} ${subject.slice(0, LONGEST_SUBJECT)}`;
    this.#connection.write({ type: 'tool_call', payload: { id, name, tool, title, input } });
  }
}

type ProtocolQuestion = Parameters<ReefConnection['ask']>[1][number];

function toProtocol(question: Question): ProtocolQuestion {
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

function toAnswer(question: Question, answer: ProtocolAnswer | undefined): Answer {
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
