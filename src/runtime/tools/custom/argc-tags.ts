import { type Declared, objectSchema } from './tool-file.ts';

interface Parameter {
  name: string;
  schema: Record<string, unknown>;
  isRequired: boolean;
  isList: boolean;
}

interface Block {
  description: string[];
  parameters: Parameter[];
  env: Declared['env'][number][];
  programs: string[];
}

const TAG = /^\s*#\s*@(\w+)\s*(.*)$/;
const FUNCTION = /^\s*(?:function\s+)?([A-Za-z_][\w:-]*)\s*(?:\(\s*\))?\s*\{/;
/** `--name`, then `!` for required, `*` for a list, `+` for both, a default or choices, `<INT>`, and a description. */
const OPTION =
  /^(?:-\w\s+)?(?:--)?([A-Za-z][\w-]*)([!*+]?),?(?:\[(=?)([^\]]*)\]|=("[^"]*"|'[^']*'|\S+))?((?:\s+<[^>]+>)*)\s*(.*)$/;
const ENV = /^([A-Za-z_]\w*)(!?)(?:\[=?[^\]]*\]|=("[^"]*"|'[^']*'|\S*))?\s*(.*)$/;

const emptyBlock = (): Block => ({ description: [], parameters: [], env: [], programs: [] });

/** Parses the comment tags of a shell script. `main` is the file itself; each `@cmd` belongs to the function after it. */
export function parseArgcTags(text: string): { main: Declared; commands: Declared[] } {
  const main = emptyBlock();
  const commands: Declared[] = [];
  let block = main;
  let isInTags = false;
  for (const line of text.split('\n')) {
    const [, tag, rest = ''] = TAG.exec(line) ?? [];
    if (tag === 'cmd') block = { ...emptyBlock(), env: [...main.env], programs: [...main.programs] };
    if (tag !== undefined) {
      addTag(block, tag, rest.trim());
      isInTags = tag === 'describe' || tag === 'cmd';
      continue;
    }
    const [, comment] = /^\s*#(?!!)\s?(.*)$/.exec(line) ?? [];
    if (comment !== undefined && isInTags) block.description.push(comment.trim());
    else isInTags = false;
    const [, name] = FUNCTION.exec(line) ?? [];
    if (name === undefined || block === main) continue;
    commands.push({ ...declared(name, block), isCommand: true });
    block = main;
  }
  return { main: declared('main', main), commands };
}

function addTag(block: Block, tag: string, rest: string): void {
  if (tag === 'describe' || tag === 'cmd') block.description.push(rest);
  const option = tag === 'option' || tag === 'arg' || tag === 'flag' ? parseOption(rest) : undefined;
  if (option && tag === 'flag') {
    block.parameters.push({ ...option, isList: false, schema: { ...option.schema, type: 'boolean' } });
  } else if (option) block.parameters.push(option);
  const [, programs] = tag === 'meta' ? (/^require-tools\s+(.+)$/.exec(rest) ?? []) : [];
  if (programs !== undefined) block.programs.push(...programs.split(/[\s,]+/).filter((name) => name !== ''));
  if (tag === 'env') {
    const [, name, bang, preset] = ENV.exec(rest) ?? [];
    if (name === undefined) return;
    block.env.push({ name, isRequired: bang === '!', ...(preset !== undefined && { preset: unquoted(preset) }) });
  }
}

function parseOption(rest: string): Parameter | undefined {
  const [, name, mark = '', hasDefault, choices, preset, notation = '', words = ''] = OPTION.exec(rest) ?? [];
  if (name === undefined) return undefined;
  const isList = mark === '*' || mark === '+';
  const item = { type: typeOf(notation), ...choicesOf(choices) };
  const fallback = preset ?? (hasDefault === '=' ? choices?.split('|')[0] : undefined);
  return {
    name: name.replaceAll('-', '_'),
    isRequired: mark === '!' || mark === '+',
    isList,
    schema: {
      ...(isList ? { type: 'array', items: item } : item),
      ...(words !== '' && { description: words }),
      ...(fallback !== undefined && { default: unquoted(fallback) }),
    },
  };
}

function typeOf(notation: string): string {
  if (/<INT(EGER)?>/i.test(notation)) return 'integer';
  return /<(NUM(BER)?|FLOAT)>/i.test(notation) ? 'number' : 'string';
}

/** Choices that a function of the script computes are unknown here. */
function choicesOf(choices: string | undefined): { enum?: string[] } {
  return choices === undefined || choices.startsWith('`') ? {} : { enum: choices.split('|') };
}

const unquoted = (text: string) => text.replace(/^(["'])(.*)\1$/, '$2');

function declared(name: string, { description, parameters, env, programs }: Block): Declared {
  const required = parameters.filter((parameter) => parameter.isRequired).map((parameter) => parameter.name);
  return {
    name,
    description: description.join('\n').trim(),
    parameters: objectSchema(Object.fromEntries(parameters.map((each) => [each.name, each.schema])), required),
    env,
    programs,
    lists: parameters.filter(({ isList }) => isList).map((parameter) => parameter.name),
  };
}
