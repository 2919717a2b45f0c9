import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FleetRig } from '../test/e2e/fleet-rig.ts';
import { ADDS, byBlock, done, SUBTRACTS, WRITES_IT_RIGHT, writes } from '../test/e2e/runs-rig.ts';
import { hasPostgres, NO_POSTGRES, startPostgres } from '../test/support/postgres.ts';
import { pidsNaming, textOf } from '../test/support/programs.ts';
import { knock } from '../test/support/surfaces/door.ts';
import { until } from '../test/support/wait.ts';

/** `npm run demo:fleet`: three hosts on this machine, two repositories, one page. No key, no network: agents play scripts. */

const say = (text: string) => void process.stdout.write(`${text}\n`);
const WRITE = 'Feature_Implement__GenerateCode';
const MEND = 'Feature_Troubleshoot__FixCode';
const HOSTS = ['anna', 'bert', 'cleo'];

if (!hasPostgres) {
  process.stderr.write(`${NO_POSTGRES}\n`);
  process.exit(1);
}
const quits = process.argv.includes('--quit');
const interrupted = once(process, 'SIGINT');
await using server = await startPostgres();
const rig = await FleetRig.open(server);
try {
  const page = await show(rig);
  say(`\nThe page of this fleet: ${page}`);
  if (!quits) {
    say('It stays until you press Ctrl-C.');
    await interrupted;
  }
} finally {
  await rig.close();
}

async function show(fleet: FleetRig): Promise<string> {
  const address = await fleet.openHub();
  for (const repository of ['shop', 'blog']) await fleet.addToHub(repository);
  const tokens: string[] = [];
  for (const person of ['ada', 'ben']) {
    await fleet.reef('fleet', 'person', 'add', person, '--role', 'operator');
    tokens.push((await fleet.reef('fleet', 'token', 'add', person, '--device', 'demo')).token);
  }
  await Promise.all(HOSTS.map((host) => fleet.worker(host, { args: ['--slots', '1'] })));
  say(`A hub with two repositories, shop and blog, and three hosts with a slot each: ${HOSTS.join(', ')}.`);
  await moveOne(fleet);
  await answerTwice(fleet, { port: Number(new URL(address).port), tokens });
  return `${address}/#code=${tokens[0]}`;
}

/** The machine of a run is lost in the middle of its second agent. */
async function moveOne(fleet: FleetRig): Promise<void> {
  const [wrote, mended, gate] = ['wrote', 'mended', 'go'].map((name) => join(fleet.root, name)) as [
    string,
    string,
    string,
  ];
  const notes = (file: string) => ({ shell: ['sh', '-c', `echo x >> ${file}`] });
  const agent = fleet.script(
    'moves',
    byBlock({
      [WRITE]: [notes(wrote), writes('sum.mjs', SUBTRACTS), done('Written.')],
      [MEND]: [
        notes(mended),
        { shell: ['sh', '-c', `while [ ! -e ${gate} ]; do sleep 0.1; done`] },
        writes('sum.mjs', ADDS),
        done('Mended.'),
      ],
    }),
  );
  const count = (file: string) => textOf(file).split('\n').filter(Boolean).length;
  const id = await fleet.queue('shop', { workflow: 'test-fix', agent });
  say('\nA run of shop: one agent writes sum.mjs, the tests fail, a second agent mends it.');
  await fleet.until('the second agent is at work', () => count(mended) === 1, id);
  const { host: first } = await fleet.run(id);
  say(`${first} has it. Its first agent is done, and the second one is at work. Now ${first} loses its power.`);
  await fleet.crash(first ?? '', ...pidsNaming(agent.replace('scripted:', '')));
  const { host: next } = await fleet.runWhen(id, ({ host }) => host !== null && host !== first);
  await fleet.until('the second agent begins once more', () => count(mended) === 2, id);
  say(`${next} has taken the run over: a new worktree, from what the first agent left at the hub.`);
  writeFileSync(gate, '');
  const { outcome } = await fleet.runWhen(id, ({ status }) => status === 'ended');
  const times = [count(wrote), count(mended)].join(' and ');
  if (times !== '1 and 2') throw new Error(`The agents ran ${times} times, not 1 and 2 times`);
  say(`It ended with ${outcome?.value?.outcome} on ${next}. The first agent ran once, the second one twice:`);
  say('the block under way was begun once more, and no finished one was repeated or lost.');
}

/** Two people answer one question of an agent. */
async function answerTwice(fleet: FleetRig, { port, tokens }: { port: number; tokens: string[] }): Promise<void> {
  const ask = { ask: { question: 'Which shelf?', options: ['upper', 'lower'] } };
  const agent = fleet.script('asks', byBlock({ [WRITE]: [ask, ...WRITES_IT_RIGHT] }));
  const id = await fleet.queue('blog', { workflow: 'test-fix', agent });
  const question = await until('the question is in the inbox', async () => {
    const { questions } = await fleet.reef('fleet', 'inbox');
    return questions[0] as { host: string; job: string; doc: { questionId: string } } | undefined;
  });
  say(`\nA run of blog on ${question.host} asks everybody: Which shelf? Two people answer at once.`);
  const { job, doc } = question;
  const answers = await Promise.all(
    ['upper', 'lower'].map((option, person) => {
      const body = { id: job, questionId: doc.questionId, option: [option] };
      return knock(port, { path: '/v1/op/send', body, token: tokens[person] ?? '' });
    }),
  );
  for (const [person, { json }] of answers.entries()) {
    const { error } = json as { error?: { message: string } };
    say(
      `  ${['ada says upper', 'ben says lower'][person]}: ${error ? error.message : 'it counts, and the agent has it.'}`,
    );
  }
  const { outcome } = await fleet.runWhen(id, ({ status }) => status === 'ended');
  say(`The run went on with the first answer and ended with ${outcome?.value?.outcome}.`);
}
