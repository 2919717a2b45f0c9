import { ReefError } from '../../../protocol/errors.ts';
import type { Question } from '../../../protocol/jobs.ts';
import type { OperationInput } from '../../../protocol/operations.ts';
import type { Client } from '../../client/client.ts';
import { type Command, textArgument } from '../cli.ts';

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

export const send: Command<SendOptions> = async (cli, [id = '', given], options) => {
  const text = await textArgument(cli, given);
  checkUsage(text, options);
  const client = cli.client();
  const sent = await client.call('send', await sendInput(client, id, text, options));
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

async function sendInput(
  client: Client,
  id: string,
  text: string | undefined,
  options: SendOptions,
): Promise<OperationInput<'send'>> {
  const { key, option } = options;
  const isDecision = options.allow || options.deny;
  const question = isDecision || options.question ? await findQuestion(client, id, options) : undefined;
  const named = { id, key, questionId: question?.questionId, fingerprint: question?.fingerprint };
  return isDecision ? { ...named, decision: decisionOf(options), reason: text } : { ...named, text, option };
}

function decisionOf({ deny, session, always }: SendOptions) {
  if (deny) return 'deny' as const;
  if (always) return 'allow_always' as const;
  return session ? ('allow_session' as const) : ('allow_once' as const);
}

/** The open question that is meant. A decision names the fingerprint of what was seen. */
async function findQuestion(client: Client, id: string, options: SendOptions): Promise<Question> {
  const { jobs } = await client.call('status', { id });
  const open = (jobs[0]?.questions ?? []).filter(
    ({ kind }) => !(options.allow || options.deny) || kind === 'permission',
  );
  const wanted = options.question;
  const meant = wanted === undefined ? open : open.filter((question) => isNamed(question, wanted));
  const [first, second] = meant;
  if (!first) throw notFound(id, options, open);
  if (second && wanted === undefined)
    throw new ReefError('which_question', `${id} has ${open.length} open questions`, listed(open));
  return first;
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
      questions: open.map(({ fingerprint, question }) => `--question ${fingerprint.slice(0, 10)}  ${question}`),
    },
  };
}
