import type { Field } from '../../protocol/jobs.ts';
import type { Answer, AskedQuestion, Json } from '../adapter.ts';
import { choicesOf, type FormField, fieldOf, fieldValue, formField } from '../form-field.ts';
import type { RequestParams } from './schema.ts';

type Params = RequestParams<'mcpServer/elicitation/request'>;

const FORMS = ['form', 'openai/form', 'openaiForm'];

/** What an MCP server asks through Codex. Undefined for what Reef cannot show. */
export function elicitedQuestions(params: Params): AskedQuestion[] | undefined {
  const { mode, message, url } = params;
  // Reef shows the address and never opens it: whoever answers has been there.
  if (mode === 'url' && url != null) return [{ kind: 'text', question: `${message}\n${url}`, freeText: true }];
  const fields = formFields(params);
  if (!fields) return undefined;
  return fields.length === 0 ? [approval(params)] : fields.map((entry) => fieldQuestion(message, entry));
}

/** A form without fields asks for a yes. This is how Codex asks whether a tool of a server may run. */
function approval({ serverName: server, message, _meta }: Params): AskedQuestion {
  const input = { server, message, ...(_meta?.tool_params !== undefined && { arguments: _meta.tool_params }) };
  return { kind: 'permission', question: message, tool: 'mcp', input };
}

interface FormEntry {
  shape: FormField;
  field: Field;
}

function formFields({ mode, requestedSchema }: Params): FormEntry[] | undefined {
  if (!FORMS.includes(mode) || !requestedSchema) return undefined;
  const entries = Object.entries(requestedSchema.properties).map(([name, raw]) => {
    const { data: shape } = formField.safeParse(raw);
    const field = shape && fieldOf(name, shape, requestedSchema.required);
    return field && { shape, field };
  });
  return entries.every((entry) => entry !== undefined) ? entries : undefined;
}

function fieldQuestion(message: string, { shape, field }: FormEntry): AskedQuestion {
  const question = shape.description == null ? message : `${message}\n${shape.description}`;
  const header = shape.title ?? field.name;
  const choices = choicesOf(shape);
  if (!choices) return { kind: 'text', question, header, field, freeText: true };
  return { kind: 'choice', question, header, field, choices, multi: shape.type === 'array' };
}

/** A string says why the answers cannot be sent. */
export function elicitedReply(params: Params, answers: Answer[]): { [key: string]: Json } | string {
  const reply = (action: string, content: Json) => ({ action, content, _meta: null });
  const [first] = answers;
  if (first?.kind === 'permission') return isAllowed(first) ? reply('accept', {}) : reply('decline', null);
  if (params.mode === 'url') return reply('accept', null);
  const content: { [key: string]: Json } = {};
  for (const [index, { field }] of (formFields(params) ?? []).entries()) {
    const filled = fieldValue(field, answers[index]);
    if ('bad' in filled) return `${field.name}: ${filled.bad}`;
    if (filled.value !== undefined) content[field.name] = filled.value;
  }
  return reply('accept', content);
}

const ALLOWING: readonly string[] = ['allow_once', 'allow_session', 'allow_always'];

/** Any word that is not exactly an allowance is a no. Reef remembers what is allowed for longer: Codex hears a single yes. */
export function isAllowed(answer: Answer | undefined): boolean {
  return answer?.kind === 'permission' && ALLOWING.includes(answer.decision);
}
