import type { IncomingMessage, ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context, Hono } from 'hono';
import type { BareRepositories } from '../../../fleet/hub/bare-repositories.ts';
import type { FleetAccess } from '../../../fleet/hub/fleet-tokens.ts';
import { serveGit } from '../../../fleet/hub/git-backend.ts';
import type { PushGuard } from '../../../fleet/hub/push-guard.ts';
import { refuseForeignRepository } from '../../../fleet/hub/rights.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { type Env, untilOut } from '../door/routes.ts';

interface Deps {
  bare: BareRepositories;
  guard: PushGuard;
  env: Readonly<Record<string, string>>;
}

const PATH = /^\/git\/([^/]{1,64})\.git(\/[\w/-]{1,100})$/;

/** The hub's repositories over smart HTTP. Hosts push to those of their runs; a person of the repository may fetch. */
export function addGitRoute(app: Hono<Env>, deps: Deps, closing: AbortSignal): void {
  app.all('/git/*', async (c) => {
    const [, repository = '', path = ''] = PATH.exec(c.req.path) ?? [];
    if (!deps.bare.has(repository))
      throw new ReefError('repository_not_found', `The hub has no ${c.req.path.slice(0, 100)}`);
    const access = c.var.access as FleetAccess;
    if (access.host === undefined) refuseForeignRepository(access, repository);
    await answerGit(c, { ...deps, access, repository, path, closing });
    return RESPONSE_ALREADY_SENT;
  });
}

async function answerGit(
  c: Context<Env>,
  {
    bare,
    guard,
    env,
    access,
    repository,
    path,
    closing,
  }: Deps & {
    access: FleetAccess;
    repository: string;
    path: string;
    closing: AbortSignal;
  },
): Promise<void> {
  const incoming = c.env.incoming as IncomingMessage;
  const response = c.env.outgoing as ServerResponse;
  const headers = Object.fromEntries(
    Object.entries(incoming.headers).filter((each): each is [string, string] => typeof each[1] === 'string'),
  );
  const query = new URL(c.req.url).search.slice(1);
  const answer = await serveGit(
    {
      folder: bare.path(repository),
      repository,
      host: access.host,
      method: c.req.method,
      path,
      query,
      headers,
      body: incoming,
    },
    { guard, env, signal: untilOut(c, closing) },
  );
  for (const [name, value] of answer.headers) response.setHeader(name, value);
  response.writeHead(answer.status);
  answer.body.pipe(response);
  await answer.done;
}
