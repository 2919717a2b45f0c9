import { findJob } from '../agents/find-job.ts';
import { isOfHost } from '../agents/hosts.ts';
import type { AdapterRegistry } from '../agents/registry.ts';
import { ReefError } from '../protocol/errors.ts';
import type { Job, Question } from '../protocol/jobs.ts';
import type { Caller, Core, OperationName, OperationRequest } from '../protocol/operations.ts';
import type { ReefBlock } from '../runtime/config/reef-block.ts';
import type { Store } from '../store/store.ts';
import { findRun } from '../workflow/runs/spec.ts';

interface ClientRulesDeps {
  store: Store;
  registry: Pick<AdapterRegistry, 'isConfigured'>;
  settings(): Pick<ReefBlock, 'mcp'>;
}

/** What a client asks for that only a person may, and what the person types instead. */
interface Refusal {
  what: string;
  type: string;
}

type Rule<N extends OperationName> = (
  deps: ClientRulesDeps,
  request: OperationRequest<N>,
  caller: Caller,
) => Refusal | undefined;

const RULES: { [N in OperationName]?: Rule<N> } = {
  spawn: (deps, request) => refuseStart(deps, request, `reef spawn ${request.agent}`),
  run: (deps, request) =>
    refuseStart(deps, request, 'reef run') ??
    (request.accept && !mayDo(deps, 'accept')
      ? { what: 'merge without asking', type: 'reef run --accept' }
      : undefined),
  accept: (deps, { id, yes }) => {
    if (mayDo(deps, 'accept') && !yes) return undefined;
    return { what: yes ? 'merge what needs a yes' : 'merge', type: `reef accept ${id}${yes ? ' --yes' : ''}` };
  },
  send: (deps, request, caller) => {
    const job = jobOf(deps, request.id, caller);
    if (!job || request.decision === 'deny') return undefined;
    return request.decision === undefined ? refuseText(deps, job, caller) : refuseAllow(deps, { job, request, caller });
  },
  // What a client is given is cut again on its way.
  inbox: (_, { whole }) =>
    whole === undefined ? undefined : { what: 'be shown a question of that size', type: `reef inbox --whole ${whole}` },
  resume: (deps, { id }, caller) => {
    const job = jobOf(deps, id, caller);
    return job && refuseText(deps, job, caller);
  },
};

/**
 * The same core, but an MCP client is refused what only a person may decide. It answers choices and texts, and allows once
 * what a job in a sandbox asks that it started itself: there the sandbox, not the answer, is the wall.
 */
export function withClientRules(core: Core, deps: ClientRulesDeps): Core {
  const guarded = (Object.keys(RULES) as (keyof typeof RULES)[]).map((name) => [
    name,
    async (request: never, caller: Caller, signal: AbortSignal) => {
      const refusal = caller.isClient && (RULES[name] as Rule<typeof name>)(deps, request, caller);
      if (refusal) {
        const message = `An MCP client may not ${refusal.what}. The user can, by typing: ${refusal.type}`;
        throw new ReefError('person_needed', message, { details: { type: refusal.type } });
      }
      return core[name](request, caller, signal);
    },
  ]);
  return { ...core, ...Object.fromEntries(guarded) };
}

function mayDo({ settings }: ClientRulesDeps, what: 'allow' | 'accept'): boolean {
  return settings().mcp.may.includes(what);
}

/** A script runs commands as it likes, and `unsafe` means that nothing contains an agent that is allowed everything. */
function refuseStart(
  { registry }: ClientRulesDeps,
  { agent, unsafe, sandbox }: Pick<OperationRequest<'run'>, 'agent' | 'unsafe' | 'sandbox'>,
  type: string,
): Refusal | undefined {
  if (sandbox === false) return { what: 'do without a sandbox', type: `${type} … --no-sandbox` };
  if (unsafe) return { what: 'use "unsafe"', type: `${type} … --yes --unsafe` };
  const isScript = agent?.startsWith('scripted:') && !registry.isConfigured(agent);
  return isScript ? { what: 'start a script that the configuration does not name', type } : undefined;
}

function refuseAllow(
  deps: ClientRulesDeps,
  { job, request, caller }: { job: Job; request: OperationRequest<'send'>; caller: Caller },
): Refusal | undefined {
  const { decision, fingerprint = 'ID' } = request;
  const allow = `reef send ${job.id} --question ${fingerprint.slice(0, 10)} --allow`;
  if (decision === 'allow_always') return { what: 'allow anything for good', type: `${allow} --always` };
  const open = deps.store.questions.unclosedOf(job.id).map(({ question }) => question);
  const asked = open.find((question) => question.fingerprint === request.fingerprint);
  if (asked && isTooLong(asked)) return { what: 'allow what is too long to be shown to it', type: allow };
  if (mayDo(deps, 'allow')) return undefined;
  // The sandbox is no wall against what the answer lets out of it.
  if (asked && isOfHost(asked)) return { what: 'let a sandbox connect to another host', type: allow };
  if (decision === 'allow_session') return { what: 'allow anything for longer than once', type: `${allow} --session` };
  if (starterOf(deps.store, job.by) !== caller.by)
    return { what: 'allow what a job asks that it did not start', type: allow };
  // An agent with a sandbox of its own asks when it wants to act outside it.
  return job.sandbox !== 'bubblewrap'
    ? { what: 'allow what a job asks that is in no sandbox of Reef', type: allow }
    : undefined;
}

/** A tool's result is cut at 20,000 bytes: nobody at the client has seen the rest of a longer question. */
const SHOWN_TO_CLIENTS = 16_000;

function isTooLong(question: Question): boolean {
  return Buffer.byteLength(JSON.stringify(question)) > SHOWN_TO_CLIENTS;
}

/** What is typed into a terminal may answer its dialogs, and an agent that is allowed everything does what it is told. */
function refuseText(deps: ClientRulesDeps, job: Job, caller: Caller): Refusal | undefined {
  const isAskedFirst = !job.yes && job.mode === 'headless';
  const isOwn = starterOf(deps.store, job.by) === caller.by;
  const isHarmless = isOwn && (job.sandbox === 'bubblewrap' || job.mode === 'headless');
  if (isAskedFirst || isHarmless || mayDo(deps, 'allow')) return undefined;
  return { what: 'direct a job that acts without asking', type: `reef send ${job.id} "…"` };
}

function jobOf({ store }: ClientRulesDeps, id: string, caller: Caller): Job | undefined {
  try {
    return findJob(store, id, caller).job;
  } catch (error) {
    // A run, or nothing: the operation itself knows.
    if (error instanceof ReefError && error.code === 'job_not_found') return undefined;
    throw error;
  }
}

/** Who started the tree that a job belongs to: what a job or a run starts counts as started by whoever started that. */
function starterOf(store: Store, by = ''): string {
  const [kind, id = ''] = by.split(':');
  const above = kind === 'job' ? store.jobs.get(id)?.job.by : kind === 'run' ? findRun(store, id).doc.by : undefined;
  return above === undefined ? by : starterOf(store, above);
}
