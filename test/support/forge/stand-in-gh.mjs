import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Stands in for `gh` as its manual describes it: the flags it takes, the fields it knows, what it prints and how it ends.
 * What the forge holds is `forge.json` in the folder that STAND_IN_FORGE names; every call is noted in `calls.jsonl`.
 */

const FLAGS = {
  'pr view': { values: ['--repo', '--json'], bare: [] },
  'pr create': { values: ['--repo', '--head', '--base', '--title', '--body-file'], bare: ['--draft'] },
  'auth status': { values: ['--hostname'], bare: [] },
  'run view': { values: ['--job', '--repo'], bare: ['--log-failed'] },
  api: { values: ['--hostname'], bare: [] },
};
const FIELDS = ['number', 'url', 'state', 'reviewDecision', 'statusCheckRollup', 'reviews', 'comments', 'headRefOid'];

const folder = process.env.STAND_IN_FORGE ?? fail('To get started with GitHub CLI, please run:  gh auth login', 4);
const file = join(folder, 'forge.json');
const forge = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { pulls: [] };
const words = process.argv.slice(2);
const input = words.includes('-') ? readFileSync(0, 'utf8') : undefined;
appendFileSync(join(folder, 'calls.jsonl'), `${JSON.stringify({ words, input })}\n`);

function fail(message, code = 1) {
  process.stderr.write(`${message}\n`);
  process.exit(code);
}

if (words[0] === '--version') {
  process.stdout.write('gh version 2.76.0 (2025-07-17)\n');
  process.exit(0);
}
const name = words[0] === 'api' ? 'api' : words.slice(0, 2).join(' ');
const known = FLAGS[name] ?? fail(`unknown command "${name}" for "gh"`);
const [flags, rest] = [{}, []];
for (const left = words.slice(name.split(' ').length); left.length > 0; ) {
  const word = left.shift();
  if (known.values.includes(word)) flags[word] = left.shift();
  else if (known.bare.includes(word)) flags[word] = true;
  else if (word.startsWith('--')) fail(`unknown flag: ${word}`);
  else rest.push(word);
}
const pullOf = (name) => forge.pulls.findLast((each) => each.head === name || String(each.number) === name);

if (name === 'pr view') {
  const pull = pullOf(rest[0]) ?? fail(`no pull requests found for branch "${rest[0]}"`);
  const wanted = flags['--json'].split(',');
  for (const field of wanted) if (!FIELDS.includes(field)) fail(`Unknown JSON field: "${field}"`);
  process.stdout.write(JSON.stringify(Object.fromEntries(wanted.map((field) => [field, pull[field] ?? null]))));
}
if (name === 'pr create') {
  const [host, owner, repository] = flags['--repo'].split('/');
  const [head, base, title] = [flags['--head'], flags['--base'], flags['--title']];
  const before = pullOf(head);
  if (before?.state === 'OPEN')
    fail(`a pull request for branch "${head}" into branch "${base}" already exists:\n${before.url}`);
  const number = forge.pulls.length + 7;
  const url = `https://${host}/${owner}/${repository}/pull/${number}`;
  const states = { state: 'OPEN', reviewDecision: '', statusCheckRollup: [], reviews: [], comments: [] };
  forge.pulls.push({ number, url, head, base, title, body: input, isDraft: flags['--draft'] === true, ...states });
  writeFileSync(file, JSON.stringify(forge, null, 2));
  process.stderr.write(`\nCreating pull request for ${head} into ${base} in ${owner}/${repository}\n\n`);
  process.stdout.write(`${url}\n`);
}
if (name === 'run view')
  process.stdout.write(forge.logs?.[flags['--job']] ?? fail('failed to get run log: log not found'));
if (name === 'auth status') process.exit(forge.hosts?.includes(flags['--hostname']) ? 0 : 1);
if (name === 'api') process.stdout.write(JSON.stringify(forge.api?.[rest[0].split('?')[0]] ?? []));
