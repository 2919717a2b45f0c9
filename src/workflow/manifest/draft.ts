import type { z } from 'zod';
import {
  type BlockDef,
  blockSchema,
  type Json,
  manifestSchema,
  type NodeDef,
  nodeSchema,
  type Transition,
  transitionSchema,
  type WorkflowManifest,
  workerSchema,
} from '../../protocol/workflow.ts';
import { blockIdOf, isName } from '../language/names.ts';

/** A manifest as far as it can be read: one wrong field does not hide the next. */
export interface Draft {
  nodes: Map<string, DraftNode>;
  blocks: Map<string, DraftBlock>;
  workers: WorkflowManifest['workers'];
  schemas: WorkflowManifest['schemas'];
  budget: WorkflowManifest['budget'];
  start: string | undefined;
}
export interface DraftNode {
  id: string;
  path: Path;
  fields: Partial<NodeDef>;
  blocks: string[];
}
export interface DraftBlock {
  id: string;
  node: string;
  path: Path;
  fields: Partial<BlockDef>;
  transitions: { path: Path; fields: Partial<Transition> }[];
}
export type Path = (string | number)[];
export type Report = (code: FindingCode, path: Path, message: string) => void;

export type FindingCode =
  | 'schema_validation'
  | `wf_${'entry' | 'action' | 'target' | 'worker' | 'signal' | 'duplicate' | 'guard' | 'bind' | 'strategy' | 'schema_ref' | 'context'}`
  | `wf_${'fork_writers' | 'no_default' | 'unreachable' | 'uncapped_loop' | 'no_exit' | 'reentry' | 'recursion'}`
  | `wf_${'usd_unreported' | 'unknown_key' | 'agent_default' | 'other_file'}`;

/** A wrong value in these fields is a finding of their own kind. */
const CODES: Record<string, FindingCode> = {
  entry_block: 'wf_entry',
  worker: 'wf_worker',
  on_signal: 'wf_signal',
  action: 'wf_action',
  guard: 'wf_guard',
  bind_args: 'wf_bind',
  payload_merge_strategy: 'wf_strategy',
  validationSchema: 'wf_schema_ref',
  context: 'wf_context',
  context_budget: 'wf_context',
};

type JsonObject = { [key: string]: Json };

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A top-level `nodes` whose value has no `blocks` means Reef's format; anything else is a map of nodes. */
export function isSuperset(value: Json): boolean {
  return isObject(value) && isObject(value.nodes) && !Object.hasOwn(value.nodes, 'blocks');
}

export function readDraft(value: Json, report: Report): Draft {
  const isWhole = isSuperset(value);
  const { nodes: _, ...topShape } = manifestSchema.shape;
  const top = isWhole ? readFields(topShape, { value, path: [], skip: ['nodes'] }, report) : {};
  const draft: Draft = {
    nodes: new Map(),
    blocks: new Map(),
    workers: top.workers,
    schemas: top.schemas,
    budget: top.budget,
    start: top.start,
  };
  const nodes = isWhole && isObject(value) ? value.nodes : value;
  const path = isWhole ? ['nodes'] : [];
  if (!isObject(nodes)) report('schema_validation', path, 'is not a map of nodes');
  else for (const [id, node] of Object.entries(nodes)) readNode(draft, { id, node, path: [...path, id] }, report);
  if (isWhole) reportUnknownWorkerKeys(value, report);
  return draft;
}

function readNode(draft: Draft, { id, node, path }: { id: string; node: Json; path: Path }, report: Report): void {
  if (!isName(id)) report('schema_validation', path, `"${id}" is not a valid node name`);
  const { blocks: _, ...shape } = nodeSchema.shape;
  const fields = readFields(shape, { value: node, path, skip: ['blocks'] }, report);
  const blocks = isObject(node) ? node.blocks : undefined;
  const entry: DraftNode = { id, path, fields, blocks: [] };
  draft.nodes.set(id, entry);
  if (!isObject(blocks)) report('schema_validation', [...path, 'blocks'], 'is not a map of blocks');
  for (const [name, block] of Object.entries(isObject(blocks) ? blocks : {})) {
    if (!isName(name)) report('schema_validation', [...path, 'blocks', name], `"${name}" is not a valid block name`);
    const read = readBlock({ node: id, name, block, path: [...path, 'blocks', name] }, report);
    entry.blocks.push(read.id);
    draft.blocks.set(read.id, read);
  }
}

function readBlock(at: { node: string; name: string; block: Json; path: Path }, report: Report): DraftBlock {
  const { transitions: _, ...shape } = blockSchema.shape;
  const value = withoutSynonyms(at.block);
  const fields = readFields(shape, { value, path: at.path, skip: ['transitions'] }, report);
  const list = isObject(value) ? value.transitions : undefined;
  const path = [...at.path, 'transitions'];
  if (!Array.isArray(list)) report('schema_validation', path, 'is not a list of transitions');
  const transitions = (Array.isArray(list) ? list : []).map((transition, index) => ({
    path: [...path, index],
    fields: readFields(transitionSchema.shape, { value: transition, path: [...path, index], skip: [] }, report),
  }));
  return { id: blockIdOf(at.node, at.name), node: at.node, path: at.path, fields, transitions };
}

/** `context_slice` is RoboSmith's word for `context`. */
export function withoutSynonyms(block: Json): Json {
  if (!isObject(block) || !('context_slice' in block)) return block;
  const { context_slice, ...rest } = block;
  return { context: context_slice ?? null, ...rest };
}

type Shape = Record<string, z.ZodType>;
type Fields<S extends Shape> = { -readonly [K in keyof S]?: z.infer<S[K]> };

function readFields<S extends Shape>(
  shape: S,
  at: { value: Json; path: Path; skip: string[] },
  report: Report,
): Fields<S> {
  const fields: Fields<S> = {};
  if (!isObject(at.value)) {
    report('schema_validation', at.path, 'is not an object');
    return fields;
  }
  for (const [key, schema] of Object.entries(shape)) {
    const parsed = schema.safeParse(at.value[key]);
    if (parsed.success) Object.assign(fields, parsed.data === undefined ? {} : { [key]: parsed.data });
    else {
      for (const issue of parsed.error.issues) {
        const below = issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step));
        report(CODES[key] ?? 'schema_validation', [...at.path, key, ...below], describe(issue));
      }
    }
  }
  reportUnknown(Object.keys(shape), at, report);
  return fields;
}

function reportUnknown(known: string[], at: { value: Json; path: Path; skip: string[] }, report: Report): void {
  if (!isObject(at.value)) return;
  const names = new Set([...known, ...at.skip]);
  for (const key of Object.keys(at.value)) {
    if (!names.has(key)) report('wf_unknown_key', [...at.path, key], `"${key}" means nothing here`);
  }
}

function reportUnknownWorkerKeys(value: Json, report: Report): void {
  const workers = isObject(value) ? value.workers : undefined;
  if (!isObject(workers)) return;
  for (const [name, worker] of Object.entries(workers)) {
    if (isObject(worker)) {
      reportUnknown(Object.keys(workerSchema.shape), { value: worker, path: ['workers', name], skip: [] }, report);
    }
  }
}

function describe(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_type' || !issue.message.endsWith('received undefined')) return issue.message;
  return `is missing (${issue.expected})`;
}
