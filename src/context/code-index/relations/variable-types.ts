import type { Language } from '../../lang/contract.ts';
import type { Step } from './receiver.ts';

/** What a variable holds, as far as the text says it: an instance of a type, or what an expression gives. */
export type Held = { type: string } | { steps: readonly Step[] };

const NAME = '[A-Za-z_$][\\w$]*(?:\\.[A-Za-z_$][\\w$]*)*';
/** They wrap the type that matters. */
const WRAPPERS =
  /^(Optional|Promise|Readonly|Final|ClassVar|Annotated|Awaitable|Partial|Required|Box|Rc|Arc|Ref|RefCell|Mutex)[[<](.*)$/;
const MOST_TEXT = 60_000;

type Patterns = (variable: string) => { types: RegExp[]; values: RegExp[] };

const escaped = (variable: string) =>
  variable.replaceAll(/[^\w]/g, (mark) => (/[\x21-\x7e]/.test(mark) ? `\\${mark}` : mark));
const typed = (variable: string, mark: string) => new RegExp(`(?<![\\w$.])${variable}${mark}`, 'g');

const assigned: Patterns = (variable) => ({
  types: [typed(variable, `[?!]?[ \\t]*:[ \\t]*(?:readonly\\s+)?["']?(${NAME}(?:[[<][\\w.$]+)?)`)],
  values: [
    new RegExp(
      `(?<![\\w$])(?:self\\.|this\\.)?${variable}\\s*(?::[^=\\n]{1,80})?=(?!=)\\s*(?:await\\s+|new\\s+)*(${NAME})\\s*(\\()?`,
      'g',
    ),
    new RegExp(`(?:with|,)\\s+(${NAME})\\s*(\\()[^\\n]*?\\)\\s+as\\s+${variable}\\b`, 'g'),
  ],
});

const declaredBefore: Patterns = (variable) => ({
  types: [new RegExp(`(?<![\\w$.])(${NAME})(?:<[^<>;(){}]*>)?[&*]*\\s+[&*]*${variable}\\b`, 'g')],
  values: [new RegExp(`(?<![\\w$.])(?:this[.>-]+)?\\$?${variable}\\s*=(?!=)\\s*(?:new\\s+)?(${NAME})\\s*(\\()`, 'g')],
});

const go: Patterns = (variable) => ({
  types: [
    typed(variable, `(?:\\s*,\\s*\\w+)*[ \\t]+(?:\\.\\.\\.)?\\*?(${NAME})`),
    typed(variable, `(?:\\s*,\\s*\\w+)*\\s*:?=\\s*&?(${NAME})\\{`),
  ],
  values: [typed(variable, `(?:\\s*,\\s*\\w+)*\\s*:?=\\s*(${NAME})(\\()`)],
});

const PATTERNS: Partial<Record<Language, Patterns>> = { go };
for (const language of [
  'typescript',
  'tsx',
  'javascript',
  'python',
  'rust',
  'kotlin',
  'scala',
  'swift',
  'ruby',
] as const)
  PATTERNS[language] = assigned;
for (const language of ['java', 'csharp', 'c', 'cpp', 'objc', 'php'] as const) PATTERNS[language] = declaredBefore;

/** The last that a text says of a variable. */
export function heldBy(text: string, language: Language, variable: string): Held | undefined {
  const patterns = PATTERNS[language]?.(escaped(variable));
  if (!patterns) return undefined;
  const searched = text.slice(-MOST_TEXT);
  const type = patterns.types.map((pattern) => lastOf(searched, pattern)).findLast((found) => found !== undefined);
  const value = patterns.values.map((pattern) => lastOf(searched, pattern)).findLast((found) => found !== undefined);
  const isTyped = type && (!value || type.index >= value.index || language !== 'go');
  if (isTyped && type[1]) return { type: bareType(type[1]) };
  if (!value?.[1]) return undefined;
  const names = value[1].split('.');
  return { steps: names.map((name, at) => ({ name, isCalled: at === names.length - 1 && value[2] !== undefined })) };
}

function lastOf(text: string, pattern: RegExp): RegExpExecArray | undefined {
  let last: RegExpExecArray | undefined;
  for (const match of text.matchAll(pattern)) last = match;
  return last;
}

function bareType(type: string): string {
  const [, , inner] = WRAPPERS.exec(type) ?? [];
  return (inner ?? type).split(/[[<]/, 1)[0] ?? '';
}

/** The type that a function of this signature gives back. */
export function returnedBy(signature: string, language: Language): string | undefined {
  const after = signature.slice(signature.lastIndexOf(')') + 1);
  const whole = language === 'go' ? /\) ?\(? ?\*?([\w.]+)(?![\w.])[^()]*\)?$/.exec(signature) : undefined;
  const [, type] = whole ?? /^\s*(?:->|:)\s*["']?(.+?)["']?:?$/.exec(after) ?? [];
  const bare = type && bareType(type.trim());
  return bare && /^[A-Za-z_$][\w$.]*$/.test(bare) ? bare : undefined;
}

/** The types that a class extends, from its signature and, for Go's embedded structs, its body. */
export function basesOf(signature: string, body: string, language: Language): string[] {
  if (language === 'go')
    return [...body.matchAll(/^[ \t]+\*?([A-Za-z_][\w.]*)[ \t]*(?:`[^`\n]*`[ \t]*)?\r?$/gm)].map(
      ([, type = '']) => type,
    );
  if (language === 'python') {
    const listed = /^[^(]*\((.*)\)/s.exec(signature)?.[1] ?? '';
    return listed
      .split(',')
      .filter((each) => !each.includes('='))
      .map((each) => bareType(each.trim()))
      .filter(Boolean);
  }
  const [, listed = ''] = /(?:\bextends\b|(?<!:):(?!:)|(?<!<)<(?=\s))([^{]*)/.exec(signature) ?? [];
  const plain = listed
    .replace(/<[^<>]*>/g, '')
    .replace(/\b(implements|with|public|private|protected|virtual|extends)\b/g, ',');
  return plain
    .split(',')
    .map((each) => /[\w$.]+/.exec(each)?.[0] ?? '')
    .filter(Boolean);
}
