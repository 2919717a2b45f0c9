import { activeRag, activeRole, type ContextData } from './context-data.ts';
import { settingsOf } from './resolve.ts';
import { usedTokens } from './turns.ts';

export type PromptVariables = Readonly<Record<string, string | number | boolean | null | undefined>>;

const FALSE: ReadonlySet<string> = new Set(['', '0', 'false']);

/**
 * `{var}` is the value, `{?var text}` the text if the value is true, `{!var text}` the text if it is not. Texts nest. A
 * brace that is not closed is text.
 */
export function renderPrompt(template: string, variables: PromptVariables): string {
  let out = '';
  for (let at = 0; at < template.length; ) {
    const end = template[at] === '{' ? closing(template, at) : -1;
    if (end === -1) {
      out += template[at];
      at += 1;
    } else {
      out += renderGroup(template.slice(at + 1, end), variables);
      at = end + 1;
    }
  }
  return out;
}

function renderGroup(group: string, variables: PromptVariables): string {
  const mark = group[0];
  if (mark !== '?' && mark !== '!') return textOf(variables[group]);
  const blank = group.indexOf(' ');
  if (blank === -1) return '';
  const isTrue = !FALSE.has(textOf(variables[group.slice(1, blank)]));
  return isTrue === (mark === '?') ? renderPrompt(group.slice(blank + 1), variables) : '';
}

const textOf = (value: PromptVariables[string]) => (value === undefined || value === null ? '' : String(value));

function closing(template: string, from: number): number {
  let depth = 0;
  for (let at = from; at < template.length; at++) {
    if (template[at] === '{') depth++;
    else if (template[at] === '}' && --depth === 0) return at;
  }
  return -1;
}

const COLORS: Readonly<Record<string, string>> = {
  reset: '0',
  black: '30',
  dark_gray: '90',
  red: '31',
  light_red: '91',
  green: '32',
  light_green: '92',
  yellow: '33',
  light_yellow: '93',
  blue: '34',
  light_blue: '94',
  purple: '35',
  light_purple: '95',
  magenta: '35',
  light_magenta: '95',
  cyan: '36',
  light_cyan: '96',
  white: '37',
  light_gray: '97',
};

const LEFT = '{color.green}{?agent {agent}}{?role {role}}{?session /{session}}{?rag @{rag}}{color.cyan}>{color.reset} ';
const RIGHT = '{color.purple}{?session {?consume_tokens {consume_tokens}({consume_percent}%)}}{color.reset}';

export const renderPromptLeft = (ctx: ContextData, isColored = true) =>
  renderPrompt(ctx.app.config.left_prompt ?? LEFT, generatePromptContext(ctx, isColored));

export const renderPromptRight = (ctx: ContextData, isColored = true) =>
  renderPrompt(ctx.app.config.right_prompt ?? RIGHT, generatePromptContext(ctx, isColored));

export function generatePromptContext(ctx: ContextData, isColored = true): PromptVariables {
  const settings = settingsOf(ctx);
  const { session, agent, model } = ctx;
  const { wrap } = ctx.app.config;
  const used = usedTokens(ctx);
  const window = model.data.max_input_tokens;
  const colors = Object.entries(COLORS).map(([name, code]) => [`color.${name}`, isColored ? `\u001b[${code}m` : '']);
  return {
    ...Object.fromEntries(colors),
    model: model.id,
    client_name: model.client,
    model_name: model.name,
    max_input_tokens: window,
    temperature: settings.temperature,
    top_p: settings.top_p,
    dry_run: settings.dry_run,
    stream: settings.stream,
    save: settings.save,
    wrap: wrap === 'no' ? null : wrap,
    role: activeRole(ctx)?.name,
    session: session?.name,
    session_autoname: session?.title,
    dirty: session?.isDirty,
    consume_tokens: used,
    consume_percent: window === undefined ? 0 : Math.round((used * 100) / window),
    user_messages_len: session?.userMessages,
    rag: activeRag(ctx)?.key.name,
    agent: agent?.name,
  };
}
