import { Readable, Writable } from 'node:stream';
import {
  type AgentContext,
  agent,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  RequestError,
} from '@agentclientprotocol/sdk';
import { version } from '../../base/version.ts';
import type { Client } from '../client/client.ts';
import { errorBody } from '../client/request.ts';
import { EditorSession, type Wanted } from './session.ts';

interface Served {
  stdin: Readable;
  stdout: Writable;
  /** A client of the daemon of the repository around a folder. */
  open(folder: string): Pick<Client, 'call'>;
  wanted: Wanted;
}

/** Serves one editor until it disconnects. No agent starts before the first prompt. */
export async function serveEditor({ stdin, stdout, open, wanted }: Served): Promise<void> {
  const sessions = new Map<string, EditorSession>();
  const turns = new Map<string, AbortController>();
  const begin = (folder: string, editor: AgentContext, id?: string) => {
    const session = new EditorSession({ client: open(folder), editor, wanted, folder }, id);
    sessions.set(session.id, session);
    return session;
  };
  const connection = agent({ name: 'reef' })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: 'reef', title: 'Reef', version },
      agentCapabilities: { loadSession: true, promptCapabilities: { embeddedContext: true } },
      authMethods: [],
    }))
    .onRequest(methods.agent.session.new, ({ params, client }) =>
      told(async () => {
        // Refuses what is no repository now, and not at the first prompt.
        await open(params.cwd).call('inbox', {});
        return { sessionId: begin(params.cwd, client).id };
      }),
    )
    .onRequest(methods.agent.session.load, ({ params, client }) =>
      told(async () => {
        await begin(params.cwd, client, params.sessionId).replay();
        return {};
      }),
    )
    .onRequest(methods.agent.session.prompt, ({ params: { sessionId, prompt } }) =>
      told(async () => {
        const session = sessions.get(sessionId);
        if (!session) throw RequestError.resourceNotFound(sessionId);
        const turn = new AbortController();
        turns.set(sessionId, turn);
        return { stopReason: await session.prompt(prompt, turn.signal) };
      }),
    )
    .onNotification(methods.agent.session.cancel, ({ params }) => turns.get(params.sessionId)?.abort())
    .connect(ndJsonStream(Writable.toWeb(stdout) as never, Readable.toWeb(stdin) as never));
  await connection.closed;
}

/** An error of Reef as one of the protocol: what happened, and what to do next. */
async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof RequestError ? error : asRequestError(error);
  }
}

function asRequestError(error: unknown): RequestError {
  const { code, message, hint } = errorBody(error).error;
  return new RequestError(-32_603, `${message.replace(/\.$/, '')}. ${hint}`, { code });
}
