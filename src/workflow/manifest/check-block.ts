import { z } from 'zod';
import { olderName } from '../../agents/plain-name.ts';
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
import type { Draft, DraftBlock, Path, Report } from './draft.ts';
import { nearestTarget } from './graph.ts';

interface KnownAgent {
  /** False: the agent reports no cost, so a budget in dollars never ends it. */
  reportsCost: boolean;
}
export type KnownAgents = Readonly<Record<string, KnownAgent>>;

/** Of the known agents only Claude Code reports what a turn costs. */
const TELL_COST = new Set(['claude']);

export function knownAgents(names: readonly string[]): KnownAgents {
  const all = [...names, ...names.flatMap((name) => olderName(name) ?? [])];
  return Object.fromEntries(all.map((name) => [name, { reportsCost: TELL_COST.has(name) }]));
}

interface Checked {
  draft: Draft;
  agents: KnownAgents;
  report: Report;
}

export function checkBlock(block: DraftBlock, checked: Checked): void {
  const { draft, report } = checked;
  const worker = checkWorker(block, checked);
  for (const index of block.transitions.keys()) checkTransition(block, index, draft, report);
  checkRest(block, draft, report);
  checkContext(block, report);
  if (!hasDefault(block, worker)) {
    const message = `${block.id} says nothing about other signals: they would halt the run`;
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
  const tell = ({ message, hint }: SliceProblem, at: Path) =>
    report('wf_context', [...path, ...at], hint === undefined ? message : `${message}. ${hint}`);
  fields.context?.forEach((item, index) => {
    const parsed = parseSlice(item);
    if (isProblem(parsed)) tell(parsed, ['context', index]);
  });
  const budget = fields.context_budget === undefined ? undefined : checkContextBudget(fields.context_budget);
  if (budget) tell(budget, ['context_budget']);
}

function checkTransition(block: DraftBlock, index: number, draft: Draft, report: Report): void {
  const { path = [], fields = {} } = block.transitions[index] ?? {};
  const { on_signal, action: text, guard, bind_args = [] } = fields;
  const before = block.transitions.slice(0, index).map((each) => each.fields);
  if (on_signal !== undefined && !isSignal(on_signal)) {
    report('wf_signal', [...path, 'on_signal'], `"${on_signal}" is not SIGNAL: and a word in capitals`);
  }
  if (on_signal !== undefined && before.some((each) => each.on_signal === on_signal && each.guard === undefined)) {
    report('wf_duplicate', path, `an earlier transition takes every ${on_signal}`);
  }
  const action = text === undefined ? undefined : parseAction(text);
  if (action && 'error' in action) report('wf_action', [...path, 'action'], `"${text}" ${action.error}`);
  else if (action) checkAction(action, block, [...path, 'action'], { draft, report });
  const parsed = guard === undefined ? undefined : parseGuard(guard);
  if (parsed?.ok === false) report('wf_guard', [...path, 'guard'], `${parsed.error}, at character ${parsed.at + 1}`);
  checkBinds(bind_args, [...path, 'bind_args'], report);
  if (text === 'HALT_AND_FLAG' && bind_args.length > 0) {
    report('wf_bind', [...path, 'bind_args'], 'HALT_AND_FLAG enters no frame, so nothing takes the arguments');
  }
}

function checkAction(action: Action, block: DraftBlock, path: Path, { draft, report }: Omit<Checked, 'agents'>): void {
  for (const target of actionTargets(action)) checkTarget(target, path, draft, report);
  const joins = block.transitions.some(({ fields }) => fields.on_signal === 'SIGNAL:JOINED');
  if (action.do === 'fork' && action.joinTo === undefined && !joins) {
    report('wf_target', path, 'FORK leads nowhere: add a third field or a SIGNAL:JOINED transition');
  }
}

export function checkTarget(target: string, path: Path, draft: Draft, report: Report): void {
  if (draft.blocks.has(target) || draft.nodes.has(target)) return;
  const near = nearestTarget(draft, target);
  report('wf_target', path, `there is no "${target}"${near === undefined ? '' : `; did you mean "${near}"?`}`);
}

function checkBinds(binds: NonNullable<Transition['bind_args']>, path: Path, report: Report): void {
  binds.forEach(({ to, from }, index) => {
    const parsed = parseValue(from);
    if (!isName(to)) report('wf_bind', [...path, index, 'to'], `"${to}" is not a valid argument name`);
    if (!parsed.ok) report('wf_bind', [...path, index, 'from'], `${parsed.error}, at character ${parsed.at + 1}`);
  });
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
  if (returns_to !== undefined) checkTarget(returns_to, [...block.path, 'returns_to'], draft, report);
}

function hasSchema(draft: Draft, name: string): boolean {
  return Object.hasOwn(BUILT_IN_SCHEMAS, name) || (draft.schemas !== undefined && Object.hasOwn(draft.schemas, name));
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
