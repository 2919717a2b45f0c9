import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { type Piped, startPiped } from '../../process/piped.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { PushGuard } from './push-guard.ts';

export interface GitRequest {
  /** The bare repository, and its name. */
  folder: string;
  repository: string;
  /** Who shows the token, if it is a host; nobody else pushes. */
  host: string | undefined;
  method: string;
  /** Behind the repository, such as `/info/refs`. */
  path: string;
  query: string;
  headers: Readonly<Record<string, string | undefined>>;
  body: Readable;
}

export interface GitAnswer {
  status: number;
  headers: [name: string, value: string][];
  body: Readable;
  /** When git has ended and what was pushed has landed. */
  done: Promise<void>;
}

const ROUTES = /^(GET \/info\/refs|POST \/git-(?:upload|receive)-pack)$/;
const MOST_HEADERS = 65_536;

/** Serves one request by git's own `http-backend`. Each change of a ref is decided by the guard, from within git's hook. */
export async function serveGit(
  request: GitRequest,
  deps: { guard: PushGuard; env: Readonly<Record<string, string>>; signal: AbortSignal },
): Promise<GitAnswer> {
  const { method, path, query } = request;
  if (!ROUTES.test(`${method} ${path}`)) throw new ReefError('not_found', `Git has no ${method} ${path.slice(0, 100)}`);
  const isPush = `${path}?${query}`.includes('git-receive-pack');
  if (isPush && request.host === undefined) throw new ReefError('role_forbidden', 'Only hosts push to the hub');
  const git = await startPiped({ file: 'git', args: ['http-backend'], cwd: '/', env: cgiEnv(request, deps.env) });
  deps.signal.addEventListener('abort', git.kill, { once: true });
  request.body.on('error', git.kill).pipe(git.stdin);
  const decided = decide(git, request, deps.guard);
  const done = git.ended.then(async () => {
    deps.signal.removeEventListener('abort', git.kill);
    await decided;
  });
  return { ...(await readHead(git)), body: git.stdout, done };
}

function cgiEnv(request: GitRequest, env: Readonly<Record<string, string>>): Record<string, string> {
  const { headers } = request;
  const optional: Record<string, string | undefined> = {
    CONTENT_TYPE: headers['content-type'],
    CONTENT_LENGTH: headers['content-length'],
    HTTP_CONTENT_ENCODING: headers['content-encoding'],
    GIT_PROTOCOL: headers['git-protocol']?.replaceAll(/[^\w=:.]/g, ''),
  };
  const given = Object.entries(optional).filter((each): each is [string, string] => each[1] !== undefined);
  return {
    ...env,
    ...Object.fromEntries(given),
    GIT_PROJECT_ROOT: request.folder,
    GIT_HTTP_EXPORT_ALL: '1',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    PATH_INFO: request.path,
    QUERY_STRING: request.query,
    REQUEST_METHOD: request.method,
    REMOTE_USER: request.host ?? 'person',
    REMOTE_ADDR: '127.0.0.1',
  };
}

/** Hears the hook, which speaks at most once. */
async function decide(git: Piped, { host, repository }: GitRequest, guard: PushGuard): Promise<void> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: git.says })) {
    if (line !== 'end') {
      lines.push(line);
      continue;
    }
    const answer = (words: string) => void git.hears.end(`${words}\n`);
    await guard.decide({ host: host ?? '', repository }, lines, { answer, landed: git.ended });
    return;
  }
  git.hears.end();
}

/** The head of a CGI answer. */
async function readHead({ stdout, ended }: Piped): Promise<Pick<GitAnswer, 'status' | 'headers'>> {
  let head = Buffer.alloc(0);
  for (;;) {
    const chunk = (await nextChunk(stdout)) as Buffer | undefined;
    if (chunk) head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end !== -1) {
      stdout.unshift(head.subarray(end + 4));
      return parseHead(head.toString('latin1', 0, end));
    }
    if (!chunk || head.length > MOST_HEADERS) {
      const { stderr } = await ended;
      throw new ReefError('git_failed', `git http-backend gave no answer: ${stderr.trim().slice(-500)}`);
    }
  }
}

async function nextChunk(stream: Readable): Promise<unknown> {
  for (;;) {
    const chunk: unknown = stream.read();
    if (chunk !== null) return chunk;
    if (stream.readableEnded || stream.destroyed) return undefined;
    await new Promise<void>((resolve) => {
      const go = () => {
        for (const event of ['readable', 'end', 'close']) stream.off(event, go);
        resolve();
      };
      for (const event of ['readable', 'end', 'close']) stream.once(event, go);
    });
  }
}

function parseHead(text: string): Pick<GitAnswer, 'status' | 'headers'> {
  const lines = text.split('\r\n').map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  const status = lines.find(([name]) => name === 'status')?.[1];
  return {
    status: status === undefined ? 200 : Number.parseInt(status, 10),
    headers: lines.filter(([name]) => name !== 'status'),
  };
}
