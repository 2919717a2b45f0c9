import { defined } from '../../base/defined.ts';
import type { AskedQuestion } from '../adapter.ts';
import { warning } from '../adapter-effects.ts';
import { elicitedQuestions } from './elicitation.ts';
import { refusalLine, replyLine } from './rpc.ts';
import { type RequestMethod, type RequestParams, requests, type WireId } from './schema.ts';
import type { CodexState } from './state.ts';
import { type Step, step } from './step.ts';

interface Request {
  id: WireId;
  method: string;
  params: unknown;
}

const isServed = (method: string): method is RequestMethod => Object.hasOwn(requests, method);

/** Refuses at once what Reef does not serve. Undefined when a request that Reef serves does not fit its schema. */
export function onRequest(state: CodexState, { id, method, params }: Request): Step<CodexState> | undefined {
  const refused = step(state, { do: 'unknown', name: method }, { do: 'write', line: refusalLine(id, method) });
  if (!isServed(method)) return refused;
  const { data } = requests[method].safeParse(params);
  if (!data) return undefined;
  const questions = questionsOf[method](state, data as never);
  if (questions === 'unseen') return declineUnseen(state, id);
  if (!questions) return refused;
  const requestId = JSON.stringify(id);
  return step({ ...state, asked: { ...state.asked, [requestId]: 'open' } }, { do: 'ask', requestId, questions });
}

type Questions = AskedQuestion[] | 'unseen' | undefined;

const questionsOf: { [M in RequestMethod]: (state: CodexState, params: RequestParams<M>) => Questions } = {
  'item/commandExecution/requestApproval': (_, params) => [commandQuestion(params)],
  'item/fileChange/requestApproval': editQuestion,
  'item/tool/requestUserInput': (_, { questions }) => questions.map(userQuestion),
  'item/permissions/requestApproval': (_, params) => [permissionsQuestion(params)],
  'mcpServer/elicitation/request': (_, params) => elicitedQuestions(params),
};

/** What would be run comes first; the reason is the agent's own words and comes last. */
const withReason = (question: string, reason: string | null | undefined) =>
  reason ? `${question}\n${reason}` : question;

function commandQuestion(params: RequestParams<'item/commandExecution/requestApproval'>): AskedQuestion {
  const { kind, command, cwd, reason, networkApprovalContext: network, additionalPermissions } = params;
  const isInput = kind === 'writeStdin';
  const what = network
    ? `Connect to ${network.host} (${network.protocol})?`
    : `${isInput ? 'Type into a running command' : 'Run'}: ${command ?? 'a command it does not name'}`;
  const input = defined({ command, cwd, kind: isInput ? kind : null, network, additionalPermissions });
  const asked = { kind: 'permission', question: withReason(what, reason), tool: 'shell', input } as const;
  // Input for a running command, more permissions and the network are not what a command line is allowed for.
  const isPlain = command != null && !isInput && !network && !additionalPermissions;
  return isPlain ? { ...asked, wants: { command: { command, cwd: cwd ?? null } } } : asked;
}

function editQuestion(
  { edits }: CodexState,
  { itemId, reason, grantRoot }: RequestParams<'item/fileChange/requestApproval'>,
): AskedQuestion[] | 'unseen' {
  const edit = edits.find((candidate) => candidate.itemId === itemId);
  if (!edit) return 'unseen';
  const { changes, digest, diff, isCut } = edit;
  const question = withReason(`Change ${changes.map((change) => change.path).join(', ')}?`, reason);
  const input = { changes, digest, ...defined({ grantRoot }) };
  const paths = changes.flatMap(({ path, from }) => (from === undefined ? [path] : [path, from]));
  const wants = grantRoot == null ? { wants: { edits: paths } } : {};
  return [{ kind: 'permission', question, tool: 'edit', input, diff, ...wants, ...defined({ isCut }) }];
}

/** Nobody may be asked to approve a change that cannot be shown. */
function declineUnseen(state: CodexState, id: WireId): Step<CodexState> {
  const told = warning('Codex asked to approve a change it never showed: declined');
  return step(state, told, { do: 'write', line: replyLine(id, { decision: 'decline' }) });
}

type UserQuestion = RequestParams<'item/tool/requestUserInput'>['questions'][number];

function userQuestion({ header, question, isOther, isSecret, options }: UserQuestion): AskedQuestion {
  const heading = header ? { header } : {};
  if (!options?.length) return { kind: 'text', question, ...heading, freeText: true, secret: isSecret };
  const choices = options.map(({ label, description }) => ({ id: label, label, ...(description && { description }) }));
  return { kind: 'choice', question, ...heading, choices, freeText: isOther, secret: isSecret };
}

function permissionsQuestion(params: RequestParams<'item/permissions/requestApproval'>): AskedQuestion {
  const { permissions, cwd, reason } = params;
  const question = withReason('Give Codex more permissions for this turn?', reason);
  const input = { permissions, ...defined({ cwd }) };
  return { kind: 'permission', question, tool: 'permissions', input };
}
