import { z } from 'zod';
import type { Answer, AskedQuestion, Json } from '../adapter.ts';
import type { RequestParams } from './schema.ts';

type Params = RequestParams<'mcpServer/elicitation/request'>;

const option = z.object({ const: z.string(), title: z.string() });
const property = z.object({
  type: z.enum(['string', 'number', 'integer', 'boolean', 'array']),
  title: z.string().optional(),
  description: z.string().optional(),
  enum: z.array(z.string()).optional(),
  enumNames: z.array(z.string()).optional(),
  oneOf: z.array(option).optional(),
  items: z.object({ enum: z.array(z.string()).optional(), anyOf: z.array(option).optional() }).optional(),
});
type Property = z.infer<typeof property>;

const FORMS = ['form', 'openai/form', 'openaiForm'];
const YES_NO = [
  { id: 'true', label: 'Yes' },
  { id: 'false', label: 'No' },
];

/** What an MCP server asks through Codex. Undefined for what Reef cannot show. */
export function elicitedQuestions(params: Params): AskedQuestion[] | undefined {
  const { mode, message, url } = params;
  // The address is shown and never opened: whoever answers has been there.
  if (mode === 'url' && url != null) return [{ kind: 'text', question: `${message}\n${url}`, freeText: true }];
  const fields = formFields(params);
  if (!fields) return undefined;
  return fields.length === 0 ? [approval(params)] : fields.map((field) => fieldQuestion(message, field));
}

/** A form without fields asks for a yes: so Codex asks whether a tool of a server may run. */
function approval({ serverName: server, message, _meta }: Params): AskedQuestion {
  const input = { server, message, ...(_meta?.tool_params === undefined ? {} : { arguments: _meta.tool_params }) };
  return { kind: 'permission', question: message, tool: 'mcp', input };
}

type Field = [name: string, property: Property];

function formFields({ mode, requestedSchema }: Params): Field[] | undefined {
  if (!FORMS.includes(mode) || !requestedSchema) return undefined;
  const fields = Object.entries(requestedSchema.properties).map(([name, raw]) => [name, property.safeParse(raw).data]);
  return fields.every((field): field is Field => field[1] !== undefined) ? fields : undefined;
}

function fieldQuestion(message: string, [name, shape]: Field): AskedQuestion {
  const question = shape.description === undefined ? message : `${message}\n${shape.description}`;
  const header = shape.title ?? name;
  const choices = choicesOf(shape);
  if (!choices) return { kind: 'text', question, header, freeText: true };
  return { kind: 'choice', question, header, choices, multi: shape.type === 'array' };
}

function choicesOf(shape: Property): { id: string; label: string }[] | undefined {
  if (shape.type === 'boolean') return YES_NO;
  const titled = shape.oneOf ?? shape.items?.anyOf;
  if (titled) return titled.map(({ const: id, title: label }) => ({ id, label }));
  const names = shape.enum ?? shape.items?.enum;
  return names?.map((id, index) => ({ id, label: shape.enumNames?.[index] ?? id }));
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

/** Null for an answer that is empty, or no number where one is wanted. */
function fieldValue(shape: Property, answer: Answer | undefined): Json {
  if (answer?.kind === 'choice') return chosen(shape, answer.ids);
  const text = answer?.kind === 'text' ? answer.text.trim() : '';
  if (text === '' || shape.type === 'string') return text || null;
  return Number.isNaN(Number(text)) ? null : Number(text);
}

function chosen(shape: Property, ids: string[]): Json {
  if (shape.type === 'array') return ids;
  return shape.type === 'boolean' ? ids[0] === 'true' : (ids[0] ?? '');
}

const ALLOWING: readonly string[] = ['allow_once', 'allow_session', 'allow_always'];

/**
 * Whether Codex hears a yes. Any word that is not exactly an allowance is a no. What is allowed for longer than
 * once lives in Reef: the wire gets a single yes.
 */
export function isAllowed(answer: Answer | undefined): boolean {
  return answer?.kind === 'permission' && ALLOWING.includes(answer.decision);
}
