/** npm run requirements: the ledger per page. --cited lists todo ids that tests cite, --flip sets the proved ones to done. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { citations } from '../test/requirements/citations.ts';
import { isProved, LAST_RUN_FILE, type LastRun, pageTable, provedTodo } from '../test/requirements/evidence.ts';
import { requirementRows as rows } from '../test/requirements.ts';

const PAGES = new URL('../test/requirements/', import.meta.url);
const say = (lines: string[]) => process.stdout.write(`${lines.join('\n')}\n`);

function lastRun(): LastRun | undefined {
  return existsSync(LAST_RUN_FILE) ? JSON.parse(readFileSync(LAST_RUN_FILE, 'utf8')) : undefined;
}

function cited(run: LastRun | undefined): string[] {
  const found = citations();
  return rows.flatMap(([id, row]) => {
    const files = found.get(id);
    if (row.status !== 'todo' || files === undefined) return [];
    const proof = run === undefined ? 'not run' : isProved(run, id) ? 'proved' : 'unproved';
    return [`${id.padEnd(7)}${proof.padEnd(10)}${row.says}  (${files.join(', ')})`];
  });
}

function flip(run: LastRun): string[] {
  const proved = new Set<string>(provedTodo(rows, run));
  for (const name of readdirSync(PAGES)) {
    const file = new URL(name, PAGES);
    const before = readFileSync(file, 'utf8');
    const after = before.replace(/^( {2}'?([A-Z]-?\d+)'?: .*)status: 'todo', because: .* \},$/gm, (line, head, id) =>
      proved.has(id) ? `${head}status: 'done' },` : line,
    );
    if (after !== before) writeFileSync(file, after);
  }
  return [`${proved.size} ids are done now: ${[...proved].join(', ')}`];
}

const run = lastRun();
if (process.argv.includes('--cited')) {
  say(cited(run));
} else if (process.argv.includes('--flip')) {
  if (run === undefined) throw new Error('No full run is recorded: npm test first.');
  say(flip(run));
} else {
  say(pageTable(rows, run));
}
