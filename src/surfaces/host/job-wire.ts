import { Conversation } from '../../agents/wire/conversation.ts';
import type { Clock } from '../../base/clock.ts';
import { WireTalk } from '../../coder/wire-talk.ts';
import type { Emitter } from '../../runtime/engine/emitter.ts';
import { jobEmitter } from '../../runtime/engine/job-emitter.ts';
import type { AskChannel } from '../../runtime/team/escalation.ts';

/** An agent's own line to the daemon: what it says, what it is told, and what it asks. */
export class JobWire extends Conversation {
  #asked = '';

  override ask(...asking: Parameters<Conversation['ask']>): ReturnType<Conversation['ask']> {
    [this.#asked] = asking;
    return super.ask(...asking);
  }

  /** Both over one numbering of messages and questions. */
  open(clock: Clock): { channel: AskChannel; emitter: Emitter } {
    const talk = new WireTalk(this);
    const tools = jobEmitter((event) => {
      if (event.type === 'tool_call') this.write(event);
    }, clock);
    return {
      emitter: { emit: (event) => (event.type === 'tool_call' ? tools.emit(event) : talk.emit(event)) },
      channel: {
        open: (question, signal) => {
          const answer = talk.ask(question, signal); // asks at once, so the name is this one's
          const id = this.#asked;
          return { id, answer, withdraw: (by) => this.write({ do: 'withdraw', requestId: id, by }) };
        },
      },
    };
  }
}
