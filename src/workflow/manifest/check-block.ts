import { z } from 'zod';
import { checkContextBudget, isProblem, parseSlice } from '../../context/slices/parse-slice.ts';
import type { SliceProblem } from '../../context/slices/slice.ts';
import type { Transition } from '../../protocol/workflow.ts';
import { BUILT_IN_SCHEMAS } from '../agent/read-result.ts';
import { type Action, actionTargets, parseAction } from '../language/action.ts';
import { parseGuard, parseValue } from '../language/guard.ts';
import {
  FAIL_DEFAULT,
  FAILURE,
  isByName,
  isName,
  isSignal,
  parseWorker,
  rosterEntry,
  SUCCESS,
  type WorkerName,
} from '../language/names.ts';
import { parseStrategy } from '../memory/shape-view.ts';
import type { Draft, DraftBlock, Report } from './draft.ts';
import { nearestTarget } from './graph.ts';

interface KnownAgent {
  /** False: the agent reports no cost, so a budget in dollars never ends it. */
  reportsCost: boolean;
}
export type KnownAgents = Readonly<Record<string, KnownAgent>>;

/** Of the known agents only Claude Code reports what a turn costs. */
const TELL_COST = new Set(['claude']);

export function knownAgents(names: readonly string[]): KnownAgents {
  return Object.fromEntries(names.map((name) => [name, { reportsCost: TELL_COST.has(name) }]));
}

interface Checked {
  draft: Draft;
  agents: KnownAgents;
  report: Report;
}

export function checkBlock(block: DraftBlock, { draft, agents, report }: Checked): void {
  const worker = checkWorker(block, { draft, agents, report });
  block.transitions.forEach(({ path, fields }, index) => {
    checkSignal(fields, path, report);
    checkShadow(block, index, report);
    const action = checkAction(fields, path, report);
    if (action) checkTargets(action, { block, path, draft, report });
    checkGuard(fields, path, report);
    checkBinds(fields, action, { path, report });
  });
  checkRest(block, draft, report);
  checkContext(block, report);
  if (!hasDefault(block, worker)) {
    const message = `${block.id} says nothing of other signals: they would halt the run`;
    report('wf_no_default', [...block.path, 'transitions'], message);
  }
}

function checkWorker(block: DraftBlock, { draft, agents, report }: Checked): WorkerName | undefined {
  const text = block.fields.worker;
  if (text === undefined) return undefined;
  const path = [...block.path, 'worker'];
  const worker = parseWorker(text);
  if (!worker) report('wf_worker', path, `"${text}" is not a worker`);
  else if (worker.kind === 'agent' && !rosterEntry(draft.workers, worker) && !isKnown(worker.name, agents)) {
    report('wf_agent_default', path, `"${worker.name}" is in no roster and no agent: the default agent does it`);
  }
  return worker;
}

function isKnown(agent: string, agents: KnownAgents): boolean {
  return Object.hasOwn(agents, agent) || isByName(agent);
}

/** Parsed here, so that a run never meets a slice that it cannot read. */
function checkContext({ fields, path }: DraftBlock, report: Report): void {
  const tell = (problem: SliceProblem, at: (string | number)[]) =>
    report(
      'wf_context',
      [...path, ...at],
      problem.hint === undefined ? problem.message : `${problem.message}. ${problem.hint}`,
    );
  fields.context?.forEach((item, index) => {
    const parsed = parseSlice(item);
    if (isProblem(parsed)) tell(parsed, ['context', index]);
  });
  const budget = fields.context_budget === undefined ? undefined : checkContextBudget(fields.context_budget);
  if (budget) tell(budget, ['context_budget']);
}

function checkSignal({ on_signal }: Partial<Transition>, path: (string | number)[], report: Report): void {
  if (on_signal !== undefined && !isSignal(on_signal)) {
    report('wf_signal', [...path, 'on_signal'], `"${on_signal}" is not SIGNAL: and a word in capitals`);
  }
}

function checkShadow(block: DraftBlock, index: number, report: Report): void {
  const here = block.transitions[index];
  const twin = block.transitions
    .slice(0, index)
    .some(({ fields }) => fields.on_signal === here?.fields.on_signal && fields.guard === undefined);
  if (here?.fields.on_signal !== undefined && twin) {
    report('wf_duplicate', here.path, `an earlier transition takes every ${here.fields.on_signal}`);
  }
}

function checkAction({ action }: Partial<Transition>, path: (string | number)[], report: Report): Action | undefined {
  if (action === undefined) return undefined;
  const parsed = parseAction(action);
  if (!('error' in parsed)) return parsed;
  report('wf_action', [...path, 'action'], `"${action}" ${parsed.error}`);
  return undefined;
}

function checkTargets(
  action: Action,
  { block, path, draft, report }: { block: DraftBlock; path: (string | number)[]; draft: Draft; report: Report },
): void {
  for (const target of actionTargets(action)) checkTarget(target, { path: [...path, 'action'], draft, report });
  const joins = block.transitions.some(({ fields }) => fields.on_signal === 'SIGNAL:JOINED');
  if (action.do === 'fork' && action.joinTo === undefined && !joins) {
    report('wf_target', [...path, 'action'], 'FORK leads nowhere: add a third field or a SIGNAL:JOINED transition');
  }
}

export function checkTarget(
  target: string,
  { path, draft, report }: { path: (string | number)[]; draft: Draft; report: Report },
): void {
  if (draft.blocks.has(target) || draft.nodes.has(target)) return;
  const near = nearestTarget(draft, target);
  report('wf_target', path, `there is no "${target}"${near === undefined ? '' : `; did you mean "${near}"?`}`);
}

function checkGuard({ guard }: Partial<Transition>, path: (string | number)[], report: Report): void {
  const parsed = guard === undefined ? undefined : parseGuard(guard);
  if (parsed?.ok === false) report('wf_guard', [...path, 'guard'], `${parsed.error}, at character ${parsed.at + 1}`);
}

function checkBinds(
  { bind_args = [] }: Partial<Transition>,
  action: Action | undefined,
  { path, report }: { path: (string | number)[]; report: Report },
): void {
  bind_args.forEach(({ to, from }, index) => {
    const at = [...path, 'bind_args', index];
    const parsed = parseValue(from);
    if (!isName(to)) report('wf_bind', [...at, 'to'], `"${to}" is not a valid argument name`);
    if (!parsed.ok) report('wf_bind', [...at, 'from'], `${parsed.error}, at character ${parsed.at + 1}`);
  });
  if (action?.do === 'halt' && bind_args.length > 0) {
    report('wf_bind', [...path, 'bind_args'], 'HALT_AND_FLAG enters no frame, so nothing takes the arguments');
  }
}

function checkRest(block: DraftBlock, draft: Draft, report: Report): void {
  const { payload_merge_strategy = [], validationSchema, returns_to } = block.fields;
  payload_merge_strategy.forEach((strategy, index) => {
    const parsed = parseStrategy(strategy);
    if ('error' in parsed) {
      report('wf_strategy', [...block.path, 'payload_merge_strategy', index], `"${strategy}" ${parsed.error}`);
    }
  });
  if (validationSchema !== undefined && !hasSchema(draft, validationSchema)) {
    report('wf_schema_ref', [...block.path, 'validationSchema'], `there is no schema "${validationSchema}"`);
  }
  if (returns_to !== undefined) checkTarget(returns_to, { path: [...block.path, 'returns_to'], draft, report });
}

function hasSchema(draft: Draft, name: string): boolean {
  return name in BUILT_IN_SCHEMAS || (draft.schemas !== undefined && Object.hasOwn(draft.schemas, name));
}

/** Internal workers have few signals: a block that handles them all needs no default. */
function hasDefault(block: DraftBlock, worker: WorkerName | undefined): boolean {
  const takes = (signal: string) =>
    block.transitions.some(({ fields }) => fields.on_signal === signal && fields.guard === undefined);
  if (takes(FAIL_DEFAULT) || worker === undefined) return true;
  if (worker.kind === 'agent') return false;
  return takes(SUCCESS) && (worker.name === 'UpdateChangePlan' || takes(FAILURE));
}

export function checkSchemas(draft: Draft, report: Report): void {
  for (const [name, schema] of Object.entries(draft.schemas ?? {})) {
    try {
      z.fromJSONSchema(schema);
    } catch (error) {
      report('wf_schema_ref', ['schemas', name], error instanceof Error ? error.message : String(error));
    }
  }
}
