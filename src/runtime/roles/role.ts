import { stringify } from 'yaml';
import { z } from 'zod';
import { onFirstUse } from '../../base/lazily.ts';
import {
  type ConfigWarning,
  checkedBy,
  configInvalid,
  isProblem,
  isRecord,
  parseSource,
} from '../config/settings-file.ts';
import type { Message, UserPart } from '../models/message.ts';

const headSchema = onFirstUse(() => {
  const text = z.string().nullable().default(null);
  const share = z.number().min(0).max(2).nullable().default(null);
  return z.strictObject({
    model: text,
    temperature: share,
    top_p: share,
    enabled_tools: text,
    enabled_mcp_servers: text,
  });
});
type Head = z.output<ReturnType<typeof headSchema>>;

/** A prompt with its settings. It never changes: `.set` replaces it by another. */
export type Role = Readonly<
  Head & {
    name: string;
    prompt: string;
    /** Set only by `.set`; no file holds it. */
    max_output_tokens: number | null;
  }
>;

const KEYS = ['model', 'temperature', 'top_p', 'enabled_tools', 'enabled_mcp_servers'] as const;
const OBSOLETE = {
  name: 'name has no effect: the file gives the role its name',
  prompt: 'prompt has no effect: the prompt is the text below the head',
  use_tools: 'use_tools is now called enabled_tools',
};
const HEAD = /(?<![\s\S])---\r?\n([\s\S]*?)^---[^\S\n]*(?:\n|(?![\s\S]))/m;

export const emptyRole = (name: string, prompt = ''): Role => ({
  ...headSchema().parse({}),
  name,
  prompt,
  max_output_tokens: null,
});

interface RoleFile {
  name: string;
  file: string;
  text: string;
}

/** A file that does not begin with YAML between `---` lines is all prompt. */
export function parseRole(role: RoleFile, warn: (warning: ConfigWarning) => void = () => {}): Role {
  const { name, text } = role;
  const head = HEAD.exec(text);
  const prompt = (head ? text.slice(head[0].length) : text).trim();
  return { ...emptyRole(name, prompt), ...(head && readHead(role, head[1] ?? '', warn)) };
}

function readHead({ name, file }: RoleFile, head: string, warn: (warning: ConfigWarning) => void): Head {
  const source = parseSource(file, `\n${head}`); // the head begins in the second line of the file
  if (isProblem(source)) throw configInvalid([source]);
  const { value } = source;
  for (const [key, message] of Object.entries(OBSOLETE)) {
    if (!isRecord(value) || !Object.hasOwn(value, key)) continue;
    if (key === 'use_tools') value.enabled_tools ??= value.use_tools;
    // A role that only says what is so anyway needs no word about it.
    if (value[key] !== null && value[key] !== name) warn({ file, line: source.lineOf([key]), message });
    delete value[key];
  }
  return checkedBy(source, headSchema(), { warn, what: 'key of a role', known: KEYS });
}

/** The text of a role's file. */
export function exportRole(role: Role): string {
  const head = Object.fromEntries(KEYS.filter((key) => role[key] !== null).map((key) => [key, role[key]]));
  const yaml = Object.keys(head).length === 0 ? '' : `---\n${stringify(head)}---\n\n`;
  return `${yaml}${role.prompt}\n`;
}

const INPUT = '__INPUT__';

/** The user's text goes into the prompt, which is then one user message and no system prompt. */
export const isEmbedded = (prompt: string) => prompt.includes(INPUT);

/** The messages of one question under a role's prompt. */
export function roleMessages(prompt: string, input: readonly UserPart[]): Message[] {
  if (isEmbedded(prompt)) return [{ role: 'user', content: embed(prompt, input) }];
  return [...systemMessages(prompt), { role: 'user', content: [...input] }];
}

/** The system prompt, and its examples as turns if every `### INPUT:` has one `### OUTPUT:`. */
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

/** Fills every place once: a mark inside the user's text stays. */
function embed(prompt: string, input: readonly UserPart[]): UserPart[] {
  const text = input.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
  const files = input.filter((part) => part.type !== 'text');
  return [{ type: 'text', text: prompt.split(INPUT).join(text) }, ...files];
}
