import { z } from 'zod';
import { parseJson } from '../../base/safe-json.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { PullRequest } from '../../protocol/worktrees.ts';
import type { AsUser } from '../deps.ts';
import { type Ask, githubLog, githubWords, type Words } from './github-words.ts';
import type { ForgeRepository } from './remote.ts';

export interface NewPullRequest {
  branch: string;
  target: string;
  title: string;
  body: string;
  isDraft: boolean;
}

type Found = Omit<PullRequest, 'at' | 'program'>;

/** What the command line of a forge is asked, and how its answers are read. */
interface ForgeProgram {
  name: PullRequest['program'];
  /** Whether hosts of this name are its own. Of others it is asked whether it is logged in there. */
  isOwn(host: string): boolean;
  view(repository: ForgeRepository, branch: string): string[];
  answer: z.ZodType<Found>;
  create(repository: ForgeRepository, wanted: NewPullRequest): string[];
  /** Where a person opens one on the page. */
  page(repository: ForgeRepository, wanted: Pick<NewPullRequest, 'branch' | 'target'>): string;
  /** Absent: of this forge only the checks are read. */
  words?(ask: Ask, repository: ForgeRepository, number: number): Promise<Words | undefined>;
  failedLog?(ask: Ask, repository: ForgeRepository, check: Check): Promise<string | undefined>;
}

const text = z.string().max(10_000);
const githubCheck = z.looseObject({
  name: text.optional(),
  context: text.optional(),
  status: text.optional(),
  conclusion: text.nullish(),
  state: text.optional(),
  detailsUrl: text.nullish(),
  targetUrl: text.nullish(),
});
const githubView = z.looseObject({
  number: z.number().int(),
  url: z.url().max(2_000),
  state: z.enum(['OPEN', 'CLOSED', 'MERGED']),
  reviewDecision: text.nullish(),
  statusCheckRollup: z.array(githubCheck).max(2_000).nullish(),
});
const gitlabView = z.looseObject({
  iid: z.number().int(),
  web_url: z.url().max(2_000),
  state: text,
  head_pipeline: z.looseObject({ status: text, web_url: text.nullish() }).nullish(),
});

type Check = PullRequest['checks'][number];

const BAD = /^(failure|error|timed_out|action_required|startup_failure|cancelled|canceled|failed)$/i;
const GOOD = /^(success|neutral|skipped)$/i;

/** A state that nobody has heard of is one that is not over. */
function resultOf(said: string): Check['result'] {
  return BAD.test(said) ? 'failed' : GOOD.test(said) ? 'passed' : 'pending';
}

const link = (address: string | null | undefined) => (address && URL.canParse(address) ? { url: address } : {});

const github: ForgeProgram = {
  name: 'gh',
  isOwn: (host) => /(^|[.-])github([.-]|$)/.test(host),
  view: ({ host, path }, branch) => {
    const fields = 'number,url,state,reviewDecision,statusCheckRollup';
    return ['pr', 'view', branch, '--repo', `${host}/${path}`, '--json', fields];
  },
  answer: githubView.transform(({ number, url, state, reviewDecision, statusCheckRollup }): Found => {
    const checks = (statusCheckRollup ?? []).map((each): Check => {
      const said = each.conclusion || each.state || 'pending';
      return {
        name: each.name ?? each.context ?? 'check',
        result: resultOf(said),
        ...link(each.detailsUrl ?? each.targetUrl),
      };
    });
    const review = REVIEWS[reviewDecision ?? ''];
    const now = ({ OPEN: 'open', CLOSED: 'closed', MERGED: 'merged' } as const)[state];
    return { number, url, state: now, checks, ...(review && { review }) };
  }),
  create: ({ host, path }, { branch, target, title, isDraft }) => [
    ...['pr', 'create', '--repo', `${host}/${path}`, '--head', branch, '--base', target],
    ...['--title', title, '--body-file', '-', ...(isDraft ? ['--draft'] : [])],
  ],
  page: ({ host, path }, { branch, target }) =>
    `https://${host}/${path}/compare/${encodeRef(target)}...${encodeRef(branch)}?expand=1`,
  words: githubWords,
  failedLog: githubLog,
};

const REVIEWS: Record<string, PullRequest['review']> = {
  APPROVED: 'approved',
  CHANGES_REQUESTED: 'changes_requested',
};

const gitlab: ForgeProgram = {
  name: 'glab',
  isOwn: (host) => /(^|[.-])gitlab([.-]|$)/.test(host),
  view: (repository, branch) => ['mr', 'view', branch, '--repo', addressOf(repository), '--output', 'json'],
  answer: gitlabView.transform(({ iid: number, web_url: url, state, head_pipeline: pipeline }): Found => {
    const checks = pipeline ? [{ name: 'pipeline', result: resultOf(pipeline.status), ...link(pipeline.web_url) }] : [];
    const now = state === 'merged' ? 'merged' : state === 'opened' ? 'open' : 'closed';
    return { number, url, state: now, checks };
  }),
  create: (repository, { branch, target, title, body, isDraft }) => [
    ...['mr', 'create', '--repo', addressOf(repository), '--source-branch', branch, '--target-branch', target],
    ...['--title', title, '--description', body, '--yes', ...(isDraft ? ['--draft'] : [])],
  ],
  page(repository, { branch, target }) {
    const named = { 'merge_request[source_branch]': branch, 'merge_request[target_branch]': target };
    return `${addressOf(repository)}/-/merge_requests/new?${new URLSearchParams(named)}`;
  },
};

const PROGRAMS = [github, gitlab];

const addressOf = ({ host, path }: ForgeRepository) => `https://${host}/${path}`;
const encodeRef = (name: string) => name.split('/').map(encodeURIComponent).join('/');

const ASK_MS = 60_000;
/** Of a question that a list of worktrees waits for. */
const LOOK_MS = 15_000;

/** The forge that a repository lies at, through the command line of that forge if the user has it. */
export class Forge {
  readonly #asUser: AsUser;
  readonly #repository: ForgeRepository;
  readonly #program: ForgeProgram;
  readonly isInstalled: boolean;

  /** Undefined: nobody knows what kind of forge this host is. */
  static async at(asUser: AsUser, repository: ForgeRepository): Promise<Forge | undefined> {
    const status = (program: ForgeProgram) =>
      asUser(program.name, ['auth', 'status', '--hostname', repository.host], { timeoutMs: ASK_MS });
    const own = PROGRAMS.find((each) => each.isOwn(repository.host));
    if (own)
      return new Forge(
        asUser,
        repository,
        own,
        (await asUser(own.name, ['--version'], { timeoutMs: ASK_MS })) !== undefined,
      );
    for (const program of PROGRAMS)
      if ((await status(program))?.code === 0) return new Forge(asUser, repository, program, true);
    return undefined;
  }

  private constructor(asUser: AsUser, repository: ForgeRepository, program: ForgeProgram, isInstalled: boolean) {
    this.#asUser = asUser;
    this.#repository = repository;
    this.#program = program;
    this.isInstalled = isInstalled;
  }

  get program(): PullRequest['program'] {
    return this.#program.name;
  }

  page(wanted: Pick<NewPullRequest, 'branch' | 'target'>): string {
    return this.#program.page(this.#repository, wanted);
  }

  /** The newest pull request of a branch; undefined if there is none, or the forge did not say. */
  async find(branch: string): Promise<Found | undefined> {
    const said = await this.#asUser(this.program, this.#program.view(this.#repository, branch), { timeoutMs: LOOK_MS });
    if (said?.code !== 0) return undefined;
    return this.#read(said.stdout);
  }

  /** What people wrote about it. */
  async words(number: number): Promise<Words> {
    const { words } = this.#program;
    if (!words) return { remarks: [], ofStrangers: 0 };
    const said = await words(this.#ask, this.#repository, number);
    if (said) return said;
    throw new ReefError('forge_refused', `${this.program} does not say what was written about #${number}.`);
  }

  async failedLog(check: Check): Promise<string | undefined> {
    return this.#program.failedLog?.(this.#ask, this.#repository, check);
  }

  #ask: Ask = async (args) => {
    const said = await this.#asUser(this.program, args, { timeoutMs: ASK_MS });
    return said?.code === 0 ? said.stdout : undefined;
  };

  async create(wanted: NewPullRequest): Promise<void> {
    const args = this.#program.create(this.#repository, wanted);
    const said = await this.#asUser(this.program, args, { timeoutMs: ASK_MS, input: wanted.body });
    if (said?.code === 0) return;
    const why = said?.stderr.trim() || 'it said nothing';
    throw new ReefError(
      'forge_refused',
      `${this.program} opened no pull request: ${why}\nBy hand: ${this.page(wanted)}`,
    );
  }

  #read(stdout: string): Found {
    const parsed = parseJson(stdout);
    const read = this.#program.answer.safeParse(parsed.ok ? parsed.value : undefined);
    if (read.success) return read.data;
    throw new ReefError('forge_refused', `The answer of ${this.program} was not understood: ${stdout.slice(0, 200)}`);
  }
}
