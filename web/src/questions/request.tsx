import type { InboxEntry } from '../../../src/protocol/job-operations.ts';
import { plain } from '../format.ts';
import { Diff } from '../widgets/diff.tsx';

/** Exactly what would be done: never cut, and nothing left out but what the difference shows line by line. */
export function Request({ entry }: { entry: InboxEntry }) {
  const { input, diff } = entry;
  const fields = entry.kind === 'permission' && input !== undefined ? fieldsOf(input, diff ?? '') : [];
  const command = fields.find(([name]) => name === 'command');
  const others = fields.filter((field) => field !== command);
  return (
    <div class="request">
      {command && (
        <pre class="shell">
          <code>{plain(command[1])}</code>
        </pre>
      )}
      {others.length > 0 && (
        <dl class="fields">
          {others.map(([name, value]) => (
            <div key={name}>
              <dt>{plain(name)}</dt>
              <dd>
                <pre>{plain(value)}</pre>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {diff && <Diff patch={diff} />}
    </div>
  );
}

type Field = readonly [name: string, value: string];

function fieldsOf(input: unknown, diff: string): Field[] {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return [['input', asText(input)]];
  return Object.entries(input)
    .map(([name, value]): Field => [name, name === 'command' ? commandText(value) : asText(value)])
    .filter(([name, value]) => !(EDITED.test(name) && isShownBy(diff, value)));
}

const asText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

function commandText(command: unknown): string {
  return Array.isArray(command) ? command.map((word) => quoted(String(word))).join(' ') : asText(command);
}

/** As a shell would read the word again. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The names that agents give to the text of an edit. */
const EDITED = /^(?:old|new)_?string$|^content$/i;

function isShownBy(diff: string, value: string): boolean {
  if (diff === '') return false;
  const lines = new Set(diff.split('\n').map((line) => line.slice(1)));
  return value
    .trimEnd()
    .split('\n')
    .every((line) => lines.has(line));
}
