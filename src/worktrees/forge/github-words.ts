import { z } from 'zod';
import { parseJson } from '../../base/safe-json.ts';
import type { PullRequest } from '../../protocol/worktrees.ts';
import type { ForgeRepository } from './remote.ts';

/** What somebody wrote about a pull request. */
export interface Remark {
  by: string;
  at: string;
  /** The file and line it is about. */
  place?: string;
  text: string;
}

export interface Words {
  remarks: Remark[];
  /** So many are of people who have no rights in the repository: they are not told to an agent. */
  ofStrangers: number;
}

/** Standard output of the program, or undefined if it ended with an error. */
export type Ask = (args: readonly string[]) => Promise<string | undefined>;

const text = z.string();
const RIGHTS = new Set(['OWNER', 'MEMBER', 'COLLABORATOR']);
/** Praise is no work to be done. */
const ASKS = new Set(['CHANGES_REQUESTED', 'COMMENTED']);

const login = z.looseObject({ login: text }).nullish();
const talkSchema = z.looseObject({
  reviews: z
    .array(
      z.looseObject({
        author: login,
        authorAssociation: text.nullish(),
        body: text,
        state: text,
        submittedAt: text.nullish(),
      }),
    )
    .nullish(),
  comments: z
    .array(z.looseObject({ author: login, authorAssociation: text.nullish(), body: text, createdAt: text }))
    .nullish(),
});
const lineSchema = z.array(
  z.looseObject({
    user: login,
    author_association: text.nullish(),
    body: text,
    created_at: text,
    path: text,
    line: z.number().nullish(),
    original_line: z.number().nullish(),
  }),
);

type Said = Remark & { rights: string | null | undefined };

/** Reviews, comments, and comments on lines. Undefined: the forge did not say. */
export async function githubWords(ask: Ask, at: ForgeRepository, number: number): Promise<Words | undefined> {
  const [talk, lines] = await Promise.all([
    ask(['pr', 'view', String(number), '--repo', `${at.host}/${at.path}`, '--json', 'reviews,comments']),
    ask(['api', `repos/${at.path}/pulls/${number}/comments?per_page=100&direction=desc`, '--hostname', at.host]),
  ]);
  const { reviews, comments } = read(talkSchema, talk) ?? {};
  const onLines = read(lineSchema, lines);
  if (!reviews && !comments && !onLines) return undefined;
  const said: Said[] = [
    ...(reviews ?? []).flatMap(({ state, body, submittedAt, author, authorAssociation: rights }) => {
      const words = body.trim() === '' && state === 'CHANGES_REQUESTED' ? 'Asks for changes.' : body;
      return ASKS.has(state) ? [{ by: author?.login ?? '', at: submittedAt ?? '', text: words, rights }] : [];
    }),
    ...(comments ?? []).map(({ author, body, createdAt, authorAssociation: rights }) => {
      return { by: author?.login ?? '', at: createdAt, text: body, rights };
    }),
    ...(onLines ?? []).map(({ user, body, created_at, path, line, original_line, author_association: rights }) => {
      const place = `${path}, line ${line ?? original_line ?? '?'}`;
      return { by: user?.login ?? '', at: created_at, text: body, place, rights };
    }),
  ].filter((each) => each.text.trim() !== '');
  const known = said.filter(({ rights }) => RIGHTS.has(rights ?? ''));
  const remarks = known.map(({ rights: _, ...remark }) => remark).sort((a, b) => (a.at < b.at ? -1 : 1));
  return { remarks, ofStrangers: said.length - known.length };
}

/** The log of the steps that failed, where the check is a job of the forge itself. */
export async function githubLog(
  ask: Ask,
  at: ForgeRepository,
  { url }: PullRequest['checks'][number],
): Promise<string | undefined> {
  const { host, pathname } = new URL(url ?? 'none:');
  const job = /^\/actions\/runs\/\d+\/job\/(\d+)$/.exec(pathname.slice(at.path.length + 1))?.[1];
  if (host !== at.host || !pathname.startsWith(`/${at.path}/`) || job === undefined) return undefined;
  return ask(['run', 'view', '--job', job, '--log-failed', '--repo', `${at.host}/${at.path}`]);
}

function read<T>(schema: z.ZodType<T>, said: string | undefined): T | undefined {
  const parsed = parseJson(said ?? '');
  return parsed.ok ? schema.safeParse(parsed.value).data : undefined;
}
