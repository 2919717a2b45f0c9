import { capText } from '../../../base/cap.ts';
import { ReefError } from '../../../protocol/errors.ts';
import type { Decision, Question } from '../../../protocol/jobs.ts';
import type { OperationInput } from '../../../protocol/operations.ts';
import type { Client } from '../../client/client.ts';
import { type Asked, questionsOf, renderQuestion } from '../../render/question.ts';
import { type Cli, type Command, textArgument } from '../cli.ts';
import { agrees } from '../prompt/line-person.ts';

interface SendOptions {
  option?: string[];
  allow?: true;
  deny?: true;
  session?: true;
  always?: true;
  question?: string;
  key?: string;
}

const SHORTEST_FINGERPRINT = 6;
const LISTED_BYTES = 500;

export const send: Command<SendOptions> = async (cli, [id = '', given], options) => {
  const text = await textArgument(cli, given);
  checkUsage(text, options);
  const client = cli.client();
  const isDecision = options.allow || options.deny;
  const found = isDecision || options.question ? await findQuestion(client, id, options) : undefined;
  const isShown = found?.cut?.isKept && options.allow && options.question === undefined && cli.isInteractive;
  const question = isShown ? await wholeOf(client, found) : found;
  if (isDecision && question && options.question === undefined && !(await isMeant(cli, id, question, options))) {
    cli.talk('Nothing was sent: the question is still open.');
    return 3;
  }
  const sent = await client.call('send', sendInput(id, text, options, question));
  cli.print(sent, () => `${sent.agentId}  ${sent.status}`);
  if (!cli.json)
    cli.talk(sent.delivered ? 'The agent has received it.' : 'Sent, but the agent has not confirmed it yet.');
  return 0;
};

function checkUsage(text: string | undefined, { option, allow, deny, session, always }: SendOptions): void {
  const wrong = (message: string) => new ReefError('bad_request', message);
  if (allow && deny) throw wrong('--allow and --deny: choose one');
  if ((allow || deny) && option) throw wrong('--option: answer a permission with --allow or --deny alone');
  if ((session || always) && !allow) throw wrong('--session and --always: use them with --allow');
  if (session && always) throw wrong('--session and --always: choose one');
  if (text === undefined && !option && !allow && !deny)
    throw wrong('Nothing to send: give a text, --option, --allow or --deny');
}

function sendInput(
  id: string,
  text: string | undefined,
  options: SendOptions,
  question: Question | undefined,
): OperationInput<'send'> {
  const { key, option } = options;
  const named = { id, key, questionId: question?.questionId, fingerprint: question?.fingerprint };
  const isDecision = options.allow || options.deny;
  return isDecision ? { ...named, decision: decisionOf(options), reason: text } : { ...named, text, option };
}

/** A decision without `--question`: nobody may allow what they have not seen, so it is shown and asked about. */
async function isMeant(cli: Cli, id: string, question: Asked, options: SendOptions): Promise<boolean> {
  if (cli.json || !cli.isInteractive)
    throw new ReefError('which_question', `${id} asks, and the decision does not say about what`, listed([question]));
  const decision = decisionOf(options);
  cli.talk(renderQuestion(question, cli.style, []));
  return agrees(cli, ASKS[decision]);
}

const ASKS: Readonly<Record<Decision, string>> = {
  allow_once: 'Allow this, once?',
  allow_session: 'Allow this for the rest of the job?',
  allow_always: 'Allow this in all jobs from now on?',
  deny: 'Deny this?',
};

function decisionOf({ deny, session, always }: SendOptions): Decision {
  if (deny) return 'deny';
  if (always) return 'allow_always';
  return session ? 'allow_session' : 'allow_once';
}

/** The open question that is meant. A decision names the fingerprint of what was seen. */
async function findQuestion(client: Client, id: string, options: SendOptions): Promise<Asked> {
  const { jobs } = await client.call('status', { id });
  const open = jobs
    .flatMap(questionsOf)
    .filter((question) => !(options.allow || options.deny) || isDecided(question, options));
  const wanted = options.question;
  const meant = wanted === undefined ? open : open.filter((question) => isNamed(question, wanted));
  const [first, second] = meant;
  const cut = first ? undefined : await seenWhole(client, open, wanted);
  if (cut) return cut;
  if (!first) throw notFound(id, options, open);
  if (second && wanted === undefined)
    throw new ReefError('which_question', `${id} has ${open.length} open questions`, listed(open));
  return first;
}

/** A question that is cut is listed by the fingerprint of its part; who has seen it whole names that of the whole. */
async function seenWhole(client: Client, open: Asked[], wanted = ''): Promise<Asked | undefined> {
  for (const question of open.filter(({ cut }) => cut?.isKept)) {
    const whole = await wholeOf(client, question);
    if (isNamed(whole, wanted)) return whole;
  }
  return undefined;
}

async function wholeOf(client: Client, { fingerprint }: Asked): Promise<Asked> {
  const { questions } = await client.call('inbox', { whole: fingerprint });
  const [whole] = questions;
  if (!whole) throw new ReefError('question_not_found', `no open question has the fingerprint ${fingerprint}`);
  return whole;
}

/** A form cannot be allowed, only answered; it can be declined. */
function isDecided({ kind, field }: Question, { deny }: SendOptions): boolean {
  return kind === 'permission' || (deny === true && field !== undefined);
}

function isNamed({ questionId, fingerprint }: Question, name: string): boolean {
  return questionId === name || (name.length >= SHORTEST_FINGERPRINT && fingerprint.startsWith(name));
}

function notFound(id: string, { question }: SendOptions, open: Question[]): ReefError {
  const what = question === undefined ? 'permission request' : `question ${question}`;
  return new ReefError('question_not_found', `${id} has no open ${what}`, open.length > 0 ? listed(open) : {});
}

function listed(open: Question[]) {
  return {
    details: {
      questions: open.map(
        ({ fingerprint, question }) => `--question ${fingerprint.slice(0, 10)}  ${capText(question, LISTED_BYTES)}`,
      ),
    },
  };
}
