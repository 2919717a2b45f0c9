import { type Emitter, type RunOutcome, safeSink } from '../engine/emitter.ts';
import { type EnginePort, type FollowUp, type RunRequest, run } from '../engine/engine.ts';
import type { TurnResult } from '../engine/turn-deps.ts';
import { type Message, userText } from '../models/message.ts';
import { renderMessages, type TeamInbox } from './inbox.ts';
import type { TeamSupervisor } from './supervisor.ts';

interface Team {
  supervisor: TeamSupervisor;
  inbox: TeamInbox;
}

/** A turn is not asked more often than this to take what it started. */
const ASKS = 3;
/** Agents that answer each other without end are left at it so often, then their letters wait for the next turn. */
const LETTERS = 25;

/**
 * The same engine for an agent with others around it: what they write comes in at its next step, and its turn does
 * not end over children it forgot.
 */
function teamPort<Command>(host: EnginePort<Command>, { supervisor, inbox }: Team): EnginePort<Command> {
  let heard: { at: number; message: Message }[] = [];
  let asks = 0;
  let letters = 0;
  return {
    ...host,
    async turn(question, io) {
      heard = [];
      const parts = await host.turn(question, io);
      return {
        ...parts,
        prompt: {
          build(turn) {
            if (!inbox.isEmpty) heard.push({ at: turn.length, message: userText(renderMessages(inbox.drain())) });
            return parts.prompt.build(withHeard(turn, heard));
          },
        },
      };
    },
    keep: (turn, question) => host.keep({ ...turn, messages: withHeard(turn.messages, heard) }, question),
    followUp(turn: TurnResult): FollowUp | undefined {
      if (turn.error) return undefined;
      const left = supervisor.uncollected();
      if (left.length > 0 && asks < ASKS) {
        asks += 1;
        return { text: reminder(left), count: asks, max: ASKS };
      }
      if (!inbox.isEmpty && letters < LETTERS) {
        letters += 1;
        return { text: renderMessages(inbox.drain()), count: letters, max: LETTERS };
      }
      return host.followUp?.(turn);
    },
  };
}

/** Where they came in, so that the history reads as the turn went. */
function withHeard(turn: readonly Message[], heard: readonly { at: number; message: Message }[]): Message[] {
  return [...turn.entries()]
    .flatMap(([n, message]) => [...heard.filter(({ at }) => at === n).map((each) => each.message), message])
    .concat(heard.filter(({ at }) => at >= turn.length).map((each) => each.message));
}

function reminder(left: readonly { id: string; agent: string; status: string }[]): string {
  const list = left.map(({ id, agent, status }) => `- ${id} (${agent}): ${status}`).join('\n');
  return `You started agents and have not taken their results:\n${list}\nCall agent__collect or agent__cancel for each of them, then finish.`;
}

/** One request of an agent with a team. What it left running is ended and named in its answer. */
export async function runWithTeam<Command>(
  host: EnginePort<Command>,
  request: RunRequest<Command>,
  { emitter, ...team }: Team & { emitter: Emitter | readonly Emitter[] },
): Promise<RunOutcome> {
  const outcome = await run(teamPort(host, team), request, emitter);
  const left = await team.supervisor.giveUp();
  if (left.length === 0) return outcome;
  const names = left.map(({ id, agent, status }) => `${agent} ${id} (${status})`).join(', ');
  const message = `Not collected: ${names}.`;
  // Those who have shown the answer as it came have not shown this.
  const late = safeSink(Array.isArray(emitter) ? emitter : [emitter as Emitter]);
  late.emit({ type: 'warning', message });
  await late.flush();
  return { ...outcome, final_message: `${outcome.final_message ?? ''}\n\n${message}`.trimStart() };
}
