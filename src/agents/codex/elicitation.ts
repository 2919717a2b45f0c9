import type { Answer, AskedQuestion, Json } from '../adapter.ts';
import { choicesOf, type FormField, formField } from '../form-field.ts';
import type { RequestParams } from './schema.ts';

type Params = RequestParams<'mcpServer/elicitation/request'>;

const FORMS = ['form', 'openai/form', 'openaiForm'];
const TYPES = ['string', 'number', 'integer', 'boolean', 'array'];

/** What an MCP server asks through Codex. Undefined for what Reef cannot show. */
export function elicitedQuestions(params: Params): AskedQuestion[] | undefined {
  const { mode, message, url } = params;
  // Reef shows the address and never opens it: whoever answers has been there.
  if (mode === 'url' && url != null) return [{ kind: 'text', question: `${message}\n${url}`, freeText: true }];
  const fields = formFields(params);
  if (!fields) return undefined;
  return fields.length === 0 ? [approval(params)] : fields.map((field) => fieldQuestion(message, field));
}

/** A form without fields asks for a yes. This is how Codex asks whether a tool of a server may run. */
function approval({ serverName: server, message, _meta }: Params): AskedQuestion {
  const input = { server, message, ...(_meta?.tool_params !== undefined && { arguments: _meta.tool_params }) };
  return { kind: 'permission', question: message, tool: 'mcp', input };
}

type Field = [name: string, shape: FormField];

function formFields({ mode, requestedSchema }: Params): Field[] | undefined {
  if (!FORMS.includes(mode) || !requestedSchema) return undefined;
  const fields = Object.entries(requestedSchema.properties).map(([name, raw]) => [name, formField.safeParse(raw).data]);
  const isKnown = (field: unknown[]): field is Field => TYPES.includes((field as Field)[1]?.type);
  return fields.every(isKnown) ? fields : undefined;
}

function fieldQuestion(message: string, [name, shape]: Field): AskedQuestion {
  const question = shape.description == null ? message : `${message}\n${shape.description}`;
  const header = shape.title ?? name;
  const choices = choicesOf(shape);
  if (!choices) return { kind: 'text', question, header, freeText: true };
  return { kind: 'choice', question, header, choices, multi: shape.type === 'array' };
}

/** A string says why the answers cannot be sent. */
export function elicitedReply(params: Params, answers: Answer[]): { [key: string]: Json } | string {
  const reply = (action: string, content: Json) => ({ action, content, _meta: null });
  const [first] = answers;
  if (first?.kind === 'permission') return isAllowed(first) ? reply('accept', {}) : reply('decline', null);
  if (params.mode === 'url') return reply('accept', null);
  const content: { [key: string]: Json } = {};
  for (const [index, [name, shape]] of (formFields(params) ?? []).entries()) {
    const value = fieldValue(shape, answers[index]);
    if (value === null && !params.requestedSchema?.required.includes(name)) continue;
    if (value === null) return `${shape.title ?? name} must be ${shape.type === 'string' ? 'given' : 'a number'}`;
    content[name] = value;
  }
  return reply('accept', content);
}

/** Null for an empty answer, or one that is no number where a number is wanted. */
function fieldValue(shape: FormField, answer: Answer | undefined): Json {
  if (answer?.kind === 'choice') return chosen(shape, answer.ids);
  const text = answer?.kind === 'text' ? answer.text.trim() : '';
  if (text === '' || shape.type === 'string') return text || null;
  return Number.isNaN(Number(text)) ? null : Number(text);
}

function chosen(shape: FormField, ids: string[]): Json {
  if (shape.type === 'array') return ids;
  return shape.type === 'boolean' ? ids[0] === 'true' : (ids[0] ?? '');
}

const ALLOWING: readonly string[] = ['allow_once', 'allow_session', 'allow_always'];

/** Any word that is not exactly an allowance is a no. Reef remembers what is allowed for longer: Codex hears a single yes. */
export function isAllowed(answer: Answer | undefined): boolean {
  return answer?.kind === 'permission' && ALLOWING.includes(answer.decision);
}
