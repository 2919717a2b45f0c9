import { type Emitter, type RunOutcome, safeSink } from '../engine/emitter.ts';
import { type EnginePort, type FollowUp, type RunRequest, run } from '../engine/engine.ts';
import type { TurnResult } from '../engine/turn-deps.ts';
import { type Message, userText } from '../models/message.ts';
import { renderMessages, type TeamInbox } from './inbox.ts';
import type { TeamSupervisor } from './supervisor.ts';

export interface Team {
  supervisor: TeamSupervisor;
  inbox: TeamInbox;
}

/** How often an agent is reminded to collect its children. */
const ASKS = 3;
/** How many messages one request answers, so that two agents cannot answer each other without end. */
const MESSAGES = 25;

/** Adds messages of other agents at the next step, and keeps a turn from ending with uncollected children. */
function teamPort<Command>(port: EnginePort<Command>, { supervisor, inbox }: Team): EnginePort<Command> {
  let heard: { at: number; message: Message }[] = [];
  let asks = 0;
  let answered = 0;
  return {
    ...port,
    async turn(question, io) {
      heard = [];
      const deps = await port.turn(question, io);
      return {
        ...deps,
        prompt: {
          build(turn) {
            if (!inbox.isEmpty) heard.push({ at: turn.length, message: userText(renderMessages(inbox.drain())) });
            return deps.prompt.build(withHeard(turn, heard));
          },
        },
      };
    },
    keep: (turn, question) => port.keep({ ...turn, messages: withHeard(turn.messages, heard) }, question),
    followUp(turn: TurnResult): FollowUp | undefined {
      if (turn.error) return undefined;
      const left = supervisor.uncollected();
      if (left.length > 0 && asks < ASKS) {
        asks += 1;
        return { text: reminder(left), count: asks, max: ASKS };
      }
      if (!inbox.isEmpty && answered < MESSAGES) {
        answered += 1;
        return { text: renderMessages(inbox.drain()), count: answered, max: MESSAGES };
      }
      return port.followUp?.(turn);
    },
  };
}

/** Puts each message where it arrived, so that the history shows the real order. */
function withHeard(turn: readonly Message[], heard: readonly { at: number; message: Message }[]): Message[] {
  return [...turn.entries()]
    .flatMap(([n, message]) => [...heard.filter(({ at }) => at === n).map((each) => each.message), message])
    .concat(heard.filter(({ at }) => at >= turn.length).map((each) => each.message));
}

function reminder(left: readonly { id: string; agent: string; status: string }[]): string {
  const list = left.map(({ id, agent, status }) => `- ${id} (${agent}): ${status}`).join('\n');
  return `You started agents and have not collected their results:\n${list}\nCall agent__collect or agent__cancel for each of them, then finish.`;
}

/** Serves one request of an agent with a team. Children it did not collect are ended and named in the answer. */
export async function runWithTeam<Command>(
  port: EnginePort<Command>,
  request: RunRequest<Command>,
  { emitters, ...team }: Team & { emitters: readonly Emitter[] },
): Promise<RunOutcome> {
  const outcome = await run(teamPort(port, team), request, ...emitters);
  const left = await team.supervisor.giveUp();
  if (left.length === 0) return outcome;
  const names = left.map(({ id, agent, status }) => `${agent} ${id} (${status})`).join(', ');
  const message = `Not collected: ${names}.`;
  // Emitters have shown the answer already.
  const late = safeSink(emitters);
  late.emit({ type: 'warning', message });
  await late.flush();
  return { ...outcome, final_message: `${outcome.final_message ?? ''}\n\n${message}`.trimStart() };
}
