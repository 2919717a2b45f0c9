import { stringify } from 'yaml';
import { z } from 'zod';
import { onFirstUse } from '../../base/lazily.ts';
import { type ConfigWarning, checkedBy, configInvalid, isProblem, parseSource } from '../config/settings-file.ts';
import type { Message, UserPart } from '../models/message.ts';

const headSchema = onFirstUse(() => {
  const text = z.string().nullable().default(null);
  const share = z.number().min(0).max(2).nullable().default(null);
  return z.looseObject({
    model: text,
    temperature: share,
    top_p: share,
    enabled_tools: text,
    enabled_mcp_servers: text,
  });
});

/** A prompt and what goes with it. Never changed: `.set` puts another in its place. */
export interface Role {
  readonly name: string;
  readonly prompt: string;
  readonly model: string | null;
  readonly temperature: number | null;
  readonly top_p: number | null;
  readonly enabled_tools: string | null;
  readonly enabled_mcp_servers: string | null;
  /** Only ever set by `.set`; no file holds it. */
  readonly max_output_tokens: number | null;
}

const KEYS: readonly string[] = ['model', 'temperature', 'top_p', 'enabled_tools', 'enabled_mcp_servers'];
/** `use_tools` is aichat's spelling. */
const OLD_KEYS: Readonly<Record<string, string>> = { use_tools: 'enabled_tools' };
const HEAD = /(?<![\s\S])---\r?\n([\s\S]*?)^---[^\S\n]*(?:\n|(?![\s\S]))/m;

export const emptyRole = (name: string, prompt = ''): Role => ({
  name,
  prompt,
  model: null,
  temperature: null,
  top_p: null,
  enabled_tools: null,
  enabled_mcp_servers: null,
  max_output_tokens: null,
});

interface RoleFile {
  name: string;
  file: string;
  text: string;
}

/** A text without a head of YAML between `---` lines is all prompt. */
export function parseRole(source: RoleFile, warn: (warning: ConfigWarning) => void = () => {}): Role {
  const { name, file, text } = source;
  const head = HEAD.exec(text);
  const prompt = (head ? text.slice(head[0].length) : text).trim();
  if (!head) return emptyRole(name, prompt);
  const { model, temperature, top_p, enabled_tools, enabled_mcp_servers } = readHead(file, head[1] ?? '', warn);
  return { ...emptyRole(name, prompt), model, temperature, top_p, enabled_tools, enabled_mcp_servers };
}

function readHead(file: string, head: string, warn: (warning: ConfigWarning) => void) {
  // The head begins in the second line of the file.
  const source = parseSource(file, `\n${head}`);
  if (isProblem(source)) throw configInvalid([source]);
  const isMap = typeof source.value === 'object' && !Array.isArray(source.value);
  const raw: Record<string, unknown> = isMap ? { ...(source.value as object) } : {};
  for (const key of Object.keys(raw)) {
    const known = OLD_KEYS[key];
    const message = known === undefined ? unusedKey(key) : `${key} is now called ${known}`;
    if (known !== undefined) raw[known] ??= raw[key];
    if (!KEYS.includes(key)) warn({ file, line: source.lineOf([key]), message });
  }
  return checkedBy({ ...source, value: isMap ? raw : source.value }, headSchema(), { warn });
}

/** The ancestor documents `name` and `prompt` but never reads them. */
function unusedKey(key: string): string {
  if (key === 'name') return 'name has no effect: a role is called as its file';
  if (key === 'prompt') return 'prompt has no effect: the prompt is what follows the head';
  return `${key} is no key of a role (${KEYS.join(', ')}) and has no effect`;
}

/** The file of a role: only what it defines. */
export function exportRole(role: Role): string {
  const head = Object.fromEntries(
    KEYS.flatMap((key) => {
      const value = role[key as keyof Role];
      return value === null ? [] : [[key, value]];
    }),
  );
  const yaml = Object.keys(head).length === 0 ? '' : `---\n${stringify(head)}---\n\n`;
  return `${yaml}${role.prompt}\n`;
}

const INPUT = '__INPUT__';

/** The prompt holds the place of the user's text: there is then one user message and no system prompt. */
export const isEmbedded = (role: Role) => role.prompt.includes(INPUT);

/** What the model is given for one question under a role. */
export function roleMessages(prompt: string, input: readonly UserPart[]): Message[] {
  if (prompt === '') return [{ role: 'user', content: [...input] }];
  if (prompt.includes(INPUT)) return [{ role: 'user', content: embed(prompt, input) }];
  return [...systemMessages(prompt), { role: 'user', content: [...input] }];
}

/** The system prompt, and the few-shot pairs after it when inputs and outputs alternate evenly. */
export function systemMessages(prompt: string): Message[] {
  if (prompt === '') return [];
  const [system = '', ...rest] = prompt.split(/^### INPUT:[^\S\n]*$\n?/m);
  const pairs = rest.map((part) => part.split(/^### OUTPUT:[^\S\n]*$\n?/m));
  if (pairs.length === 0 || pairs.some((pair) => pair.length !== 2)) return [{ role: 'system', content: prompt }];
  const examples = pairs.flatMap(([input = '', output = '']): Message[] => [
    { role: 'user', content: [{ type: 'text', text: input.trim() }] },
    { role: 'assistant', content: [{ type: 'text', text: output.trim() }] },
  ]);
  return [...(system.trim() === '' ? [] : [{ role: 'system' as const, content: system.trim() }]), ...examples];
}

/** Every place is filled, and what is filled in is not searched again. */
function embed(prompt: string, input: readonly UserPart[]): UserPart[] {
  const text = input.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
  const files = input.filter((part) => part.type !== 'text');
  return [{ type: 'text', text: prompt.split(INPUT).join(text) }, ...files];
}
