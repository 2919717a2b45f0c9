import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { errorTable } from '../src/protocol/error-table.ts';
import type { Operation } from '../src/protocol/operation.ts';
import { operations } from '../src/protocol/operations.ts';
import { lokiTable } from '../src/runtime/loki/loki-table.ts';
import { TASK_STATES } from '../src/surfaces/render/next-steps.ts';
import { citations } from '../test/requirements/citations.ts';
import { requirementRows } from '../test/requirements.ts';

const ledgerPages = [...new Set(requirementRows.map(([, { page }]) => page))];

/** Pages that are tables of the code, or hold one, written from the code: `node scripts/generate-docs.ts`. */
export const pages: Record<string, () => string> = {
  'docs/errors.md': errorsPage,
  'docs/tools.md': toolsPage,
  'docs/status.md': statusPage,
  'docs/states.md': statesPage,
  'docs/runtime.md': runtimePage,
  ...Object.fromEntries(ledgerPages.map((name) => [`docs/status/${name}.md`, () => ledgerPage(name)])),
};

const NOTE = '<!-- Written by scripts/generate-docs.ts; do not edit. -->';

function errorsPage(): string {
  const rows = Object.entries(errorTable).map(
    ([code, { exit, status, retryable, hint }]) =>
      `| \`${code}\` | ${exit} | ${status} | ${retryable ? 'yes' : 'no'} | ${cell(hint)} |`,
  );
  return `# Errors

${NOTE}

Every refusal has one of these codes. The command line prints \`code: message\`, then what to do next; with \`--json\` the
same error is a document on stdout. *Retry* says that the same call may succeed later without a change.

| code | exit | HTTP | retry | what to do |
|---|--:|--:|---|---|
${rows.join('\n')}

Exit codes: 0 done · 1 the thing failed · 2 wrong usage · 3 needs input and nobody to ask · 4 not found · 5 budget exhausted ·
69 daemon or agent unavailable · 130 interrupted.
`;
}

/** Every state of a task with what moves it on: no state is a dead end. */
function statesPage(): string {
  const rows = Object.entries(TASK_STATES).map(([state, { means, steps }]) => {
    const commands = steps.map(({ type, to }) => `\`${cell(type)}\` ${to}`).join('<br>');
    return `| ${state.replaceAll('_', ' ')} | ${cell(means)} | ${commands} |`;
  });
  return `# States of a task

${NOTE}

A task is a run (\`reef run\`) or a single job (\`reef spawn\`). Whatever has become of it, a command moves it on, and the message that
shows the state names it. \`ID\` is the id of its run, worktree or job, a unique beginning of one, the beginning of its title, or \`@last\`.
A daemon that was killed, and a machine that was restarted, change no state: any command starts the daemon again, which finds the
agents that live; a job that was lost is shown as failed.

| state | what it means | what to type |
|---|---|---|
${rows.join('\n')}
`;
}

const LOKI = /(<!-- loki: [^\n]*-->\n)[\s\S]*(\n<!-- \/loki -->)/;

/** Written by people but for one table. */
function runtimePage(): string {
  const page = readFileSync(new URL('../docs/runtime.md', import.meta.url), 'utf8');
  const rows = lokiTable.map(({ file, keys = [], loads, works, differs = '' }) => {
    const what = [`\`${file}\``, ...(keys.length === 0 ? [] : [keys.map((key) => `\`${key}\``).join(' ')])].join(': ');
    return `| ${cell(what)} | ${loads ? 'yes' : 'no'} | ${works ? 'yes' : 'no'} | ${cell(differs)} |`;
  });
  const table = `| file, and keys in it | loads | works | differs |\n|---|---|---|---|\n${rows.join('\n')}`;
  return page.replace(LOKI, (_, begin: string, end: string) => `${begin}\n${table}\n${end}`);
}

function toolsPage(): string {
  const rows: Record<string, Operation> = operations;
  const sections = Object.entries(rows).map(([name, { summary, rest, noRest, input, output }]) =>
    [
      `## ${name}`,
      summary,
      rest ? `\`${rest.method} ${rest.path}\`` : `No address of its own: ${noRest}.`,
      fields('Input', z.toJSONSchema(input, { io: 'input' })),
      fields('Output', z.toJSONSchema(output, { io: 'output' })),
    ].join('\n\n'),
  );
  return `# Operations

${NOTE}

One table of operations, three faces: \`reef <operation> --json\`, the MCP tool of the same name, and \`POST /v1/op/<operation>\`
on the socket of the home and at the address of \`reef serve\` take this input and give this output. There most have an address of their
own as well, with the fields that its path names taken out of the query (\`GET\`, \`DELETE\`) or the body; \`/v1/openapi.json\` describes them. Unknown fields are refused. A tool
returns less of it where records are long: lists, events and views of runs have what a model needs to go on.

${sections.join('\n\n')}
`;
}

/** The ledger as people read it: which pages it has. Totals stand on each page, so that two changes to two pages never meet here. */
function statusPage(): string {
  const list = ledgerPages.map((name) => `- [${name}](status/${name}.md)`).join('\n');
  return `# Status

${NOTE}

What Reef promises, requirement by requirement: what is proved and by which tests, what is not and why. \`npm run requirements\` counts
them.

${list}
`;
}

/** One page of the ledger: what is proved and by which tests, what is not and why. */
function ledgerPage(name: string): string {
  const rows = requirementRows.filter(([, { page }]) => page === name);
  const proved = rows.filter(([, { status }]) => status === 'done').length;
  const cited = citations();
  const lines = rows.map(([id, row]) => {
    const proof = row.status === 'done' ? tests(cited.get(id) ?? []) : row.because;
    return `| ${id} | ${row.status === 'done' ? '✓' : ''} | ${cell(row.says)} | ${cell(proof)} |`;
  });
  return `# Status of ${name}

${NOTE}

${proved} of ${rows.length} requirements are proved: a test that cites the id passed in a full run. The others say why not; some of them work
and merely lack their proof.

| id | | what | proved by, or why not |
|---|---|---|---|
${lines.join('\n')}
`;
}

function tests(files: readonly string[]): string {
  const shown = files.slice(0, 2).map((path) => `\`${path.replace(/^(src|test)\//, '')}\``);
  return [...shown, ...(files.length > 2 ? [`and ${files.length - 2} more`] : [])].join(', ');
}

interface Schema {
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  default?: unknown;
  description?: string;
}

function fields(title: string, schema: object): string {
  const { properties = {}, required = [] } = schema as Schema;
  const rows = Object.entries(properties).map(([name, field]) => {
    const need =
      'default' in field ? `default \`${JSON.stringify(field.default)}\`` : required.includes(name) ? 'yes' : 'no';
    return `| \`${name}\` | ${cell(typeOf(field))} | ${need} | ${cell(field.description ?? '')} |`;
  });
  if (rows.length === 0) return `${title}: nothing.`;
  return `| ${title} | type | required | |\n|---|---|---|---|\n${rows.join('\n')}`;
}

function typeOf({ enum: values, const: value, anyOf, items, properties, type }: Schema): string {
  if (values) return values.map((each) => `\`${each}\``).join(', ');
  if (value !== undefined) return `\`${value}\``;
  if (anyOf) return anyOf.map(typeOf).join(' or ');
  if (items)
    return items.properties ? `list of {${Object.keys(items.properties).join(', ')}}` : `list of ${typeOf(items)}`;
  if (properties) return `{${Object.keys(properties).join(', ')}}`;
  return String(type ?? 'any');
}

function cell(text: string): string {
  // Outside code spans `<name>` would be taken for HTML.
  const plain = text.replaceAll('|', '\\|').replaceAll('\n', ' ');
  return plain.replace(/`[^`]*`|</g, (match) => (match === '<' ? '&lt;' : match));
}

if (process.argv[1] === import.meta.filename) {
  for (const [path, page] of Object.entries(pages)) writeFileSync(new URL(`../${path}`, import.meta.url), page());
}
