import { withoutColours } from '../../base/printable.ts';
import type { PromptPart } from '../../protocol/workflow.ts';
import { artifactId, cutMiddle } from '../../repostate/prompt/caps.ts';
import type { StoredSegment } from '../memory/segment.ts';
import type { WorkerInput } from '../workers/worker.ts';

/** How much a prompt may hold, in the unit of `measure`. */
export interface PromptBudget {
  limit: number;
  measure(text: string): number | Promise<number>;
  /** An outline of a file under a line that says so; shown when the whole file does not fit. */
  outline(file: OutlinedFile): string | Promise<string>;
  /** Keeps a text where `artifact_read` finds it for the agents of the run. */
  keep?(runId: string, text: string): Promise<void>;
}

interface OutlinedFile {
  worktreePath: string;
  path: string;
  content: string;
}

interface Rendered {
  text: string;
  /** Texts that it shows only in part. They are kept before anybody sees the prompt. */
  leftOut: string[];
  /** What it was made of, in its order. */
  parts: PromptPart[];
}

interface Form {
  /** Under which people find it again. */
  name: string;
  text: string;
  /** Absent: whole. */
  shown?: NonNullable<PromptPart['shown']>;
  leftOut?: string;
}
/** The fullest form first. A shorter one is made only when needed, because an outline asks another process. */
type Forms = [Form, ...(() => Form | Promise<Form>)[]];

interface Parts<T> {
  files: T[];
  segments: T[];
  inherited: T[];
}

const POINTER_CHARACTERS = 80;
const SHOWN_CHARACTERS = 4_096;
/** What shrinks, in this order, the oldest first, and to which form. */
const SHRINKING: readonly [keyof Parts<never>, number][] = [
  ['files', 1],
  ['segments', 1],
  ['segments', 2],
  ['inherited', 1],
];

/**
 * The five layers as one text, the most important first. Over budget, files shrink to outlines, then segments to head and
 * tail, then the oldest to pointers, then inherited context. Contract and place never shrink.
 */
export function renderPrompt(
  input: WorkerInput,
  stored: ReadonlyMap<string, StoredSegment>,
  budget: PromptBudget,
): Promise<Rendered> {
  const { worktree_path: worktreePath } = input.system_metadata;
  const forms: Parts<Forms> = {
    files: input.primary_artifacts.map(({ path, content }): Forms => {
      const title = `### ${path}\n\n`;
      const outlined = async (): Promise<Form> => {
        const text = `${title}${await budget.outline({ worktreePath, path, content })}`;
        return { name: path, text, shown: 'outline' };
      };
      return [{ name: path, text: `${title}${content}` }, outlined];
    }),
    segments: input.execution_payload.map((segment) => segmentForms(segment, stored.get(segment.id))),
    inherited: Object.entries(input.inherited_context).map(([key, value]): Forms => {
      const title = `### INHERITED_CONTEXT ${key}\n\n`;
      const content = typeof value === 'string' ? value : JSON.stringify(value);
      const pointed = (): Form => {
        const text = `${title}${pointer(content)}`;
        return { name: key, text, shown: 'pointer', leftOut: content };
      };
      return [{ name: key, text: `${title}${content}` }, pointed];
    }),
  };
  return shrink(input, forms, budget);
}

async function shrink(input: WorkerInput, forms: Parts<Forms>, { limit, measure }: PromptBudget): Promise<Rendered> {
  const fullest = (parts: Forms[]) => parts.map(([first]) => first);
  const shown: Parts<Form> = {
    files: fullest(forms.files),
    segments: fullest(forms.segments),
    inherited: fullest(forms.inherited),
  };
  const done = async (text: string): Promise<Rendered> => ({
    text,
    leftOut: Object.values(shown).flatMap((parts: Form[]) => parts.flatMap(({ leftOut }) => leftOut ?? [])),
    parts: await partsOf(sectionsOf(input, shown), measure),
  });
  const render = () => sectionsOf(input, shown).map(sectionText).join('\n\n');
  let rendered = render();
  for (const [layer, level] of SHRINKING) {
    for (const [index, [, ...shorterForms]] of forms[layer].entries()) {
      if ((await measure(rendered)) <= limit) return done(rendered);
      const shorter = await shorterForms[level - 1]?.();
      const isShorter = shorter !== undefined && shorter.text.length < (shown[layer][index]?.text.length ?? 0);
      if (!isShorter) continue;
      shown[layer][index] = shorter;
      rendered = render();
    }
  }
  return done(rendered);
}

async function partsOf(sections: Section[], measure: PromptBudget['measure']): Promise<PromptPart[]> {
  const parts: PromptPart[] = [];
  for (const { title, body } of sections) {
    for (const { name, text, shown } of typeof body === 'string' ? [{ name: undefined, text: body }] : body) {
      const about = { ...(name !== undefined && { name }), ...(shown && { shown }) };
      parts.push({ section: title, ...about, tokens: await measure(text) });
    }
  }
  return parts;
}

/** Content that is kept as a blob is never shown whole. */
function segmentForms(segment: WorkerInput['execution_payload'][number], stored: StoredSegment | undefined): Forms {
  const { type, block, visit, outcome, filePath } = segment;
  const name = [type, `${block}#${visit}`, outcome, filePath].filter((word) => word !== undefined).join(' · ');
  const content = plain(segment.content);
  const form = (text: string) => ({ name, text: `### ${name}\n\n${text}` });
  const whole = form(content);
  const { text, id } = cutMiddle(content, SHOWN_CHARACTERS);
  const cut: Form = id === undefined ? whole : { ...form(text), shown: 'cut', leftOut: content };
  const pointed = (): Form => ({ ...form(pointer(content)), shown: 'pointer', leftOut: content });
  return [stored?.blob ? cut : whole, () => cut, pointed];
}

function pointer(content: string): string {
  const beginning = content.slice(0, POINTER_CHARACTERS).replaceAll('\n', ' ');
  return `(${Buffer.byteLength(content)} bytes, left out: artifact_read "${artifactId(content)}": ${beginning}…)`;
}

function plain(content: WorkerInput['execution_payload'][number]['content']): string {
  return typeof content === 'string' ? withoutColours(content) : JSON.stringify(content, null, 2);
}

interface Section {
  title: string;
  body: string | Form[];
}

function sectionsOf({ block_contract, system_metadata }: WorkerInput, shown: Parts<Form>): Section[] {
  const { task, instructions, persona, signals, args, returned } = block_contract;
  const bound = Object.keys(args).length + Object.keys(returned).length > 0;
  const { block_id, run_id, visit, branch, worktree_path } = system_metadata;
  const here = `${block_id}, visit ${visit}, branch ${branch} of run ${run_id}, in ${worktree_path}`;
  return [
    { title: 'Task', body: task },
    ...(persona === undefined ? [] : [{ title: 'Who you are', body: persona }]),
    ...(instructions === undefined ? [] : [{ title: 'What to do in this block', body: instructions }]),
    ...(bound ? [{ title: 'Arguments', body: JSON.stringify({ args, returned }, null, 2) }] : []),
    ...list('What happened so far', shown.segments),
    ...list('Rules that hold here', shown.inherited),
    ...list('Files', shown.files),
    { title: 'Where you are', body: here },
    { title: 'How to answer', body: howToAnswer(signals) },
  ];
}

function list(title: string, body: Form[]): Section[] {
  return body.length === 0 ? [] : [{ title, body }];
}

function sectionText({ title, body }: Section): string {
  return `## ${title}\n\n${typeof body === 'string' ? body : body.map(({ text }) => text).join('\n\n')}`;
}

function howToAnswer(signals: string[]): string {
  const example = { signal: signals[0] ?? 'SIGNAL:FAILURE', summary: 'what was done', newFiles: ['path/of/a/file.ts'] };
  return `End with one of ${signals.join(', ')}. Call the tool block_result if you have it; else end your message with

\`\`\`reef-result
${JSON.stringify(example)}
\`\`\`

\`segments\` ([{type, content, filePath}]) and \`newFiles\` may be left out. Code decides what happens next; whether the tests pass is
found out by running them.`;
}
