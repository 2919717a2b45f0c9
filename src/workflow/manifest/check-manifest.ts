import { LineIndex } from '../../base/line-index.ts';
import { type ErrorCode, errorRow } from '../../protocol/error-table.ts';
import { ReefError } from '../../protocol/errors.ts';
import { type Finding, type Json, manifestSchema, type WorkflowManifest } from '../../protocol/workflow.ts';
import { parseBlockId } from '../language/names.ts';
import { checkBlock, checkSchemas, checkTarget, type KnownAgents } from './check-block.ts';
import { checkGraph, checkUsd } from './check-graph.ts';
import {
  type Draft,
  type FindingCode,
  isObject,
  isSuperset,
  type Report,
  readDraft,
  withoutSynonyms,
} from './draft.ts';
import { readJson } from './read-json.ts';
import { readYaml } from './read-yaml.ts';
import { offsetOf, type Position, pointerOf, positionAt, SourceFault, type SourceTree } from './source.ts';

export interface CheckOptions {
  strict?: boolean;
  agents: KnownAgents;
  /** Other files that hold a manifest too. */
  ignored?: string[];
}

export interface Checked {
  findings: Finding[];
  manifest?: WorkflowManifest;
}

const MOST_BLOCKS = 5_000;
const WARNINGS: ReadonlySet<FindingCode> = new Set<FindingCode>([
  ...(['wf_no_default', 'wf_unreachable', 'wf_uncapped_loop', 'wf_no_exit', 'wf_reentry', 'wf_recursion'] as const),
  ...(['wf_usd_unreported', 'wf_unknown_key', 'wf_agent_default', 'wf_other_file'] as const),
]);

/** Every finding in one pass, in the order of the file. Throws only if it is no document or too large. */
export function checkManifest(file: { text: string; path: string }, options: CheckOptions): Checked {
  const source = readSource(file.text, file.path);
  const findings: Finding[] = [];
  const report: Report = (code, path, message) => {
    const pointer = pointerOf(path);
    const severity = WARNINGS.has(code) && options.strict !== true ? 'warning' : 'error';
    findings.push({ code, severity, pointer, ...source.place(pointer), message, hint: errorRow(code).hint });
  };
  const draft = readDraft(source.value, report);
  if (draft.blocks.size > MOST_BLOCKS) {
    throw new ReefError(
      'manifest_too_large',
      `${file.path} has ${draft.blocks.size} blocks; ${MOST_BLOCKS} are allowed.`,
    );
  }
  for (const other of options.ignored ?? [])
    report('wf_other_file', [], `${other} is ignored: ${file.path} comes first`);
  checkEntries(draft, report);
  if (draft.start !== undefined && !draft.nodes.has(draft.start)) {
    checkTarget(draft.start, ['start'], draft, report);
  }
  for (const block of draft.blocks.values()) checkBlock(block, { draft, agents: options.agents, report });
  checkSchemas(draft, report);
  checkGraph(draft, report);
  checkUsd(draft, options.agents, report);
  findings.sort((a, b) => a.line - b.line || a.column - b.column);
  if (findings.some(({ severity }) => severity === 'error')) return { findings };
  return { findings, manifest: manifestSchema.parse(normalise(source.value)) };
}

/** For a run, which starts only without errors. */
export function runnableManifest(file: { text: string; path: string }, options: CheckOptions): Required<Checked> {
  const { findings, manifest } = checkManifest(file, options);
  if (manifest) return { findings, manifest };
  const errors = findings.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  const code: ErrorCode = errors.some((finding) => finding.code === 'schema_validation')
    ? 'schema_validation'
    : 'workflow_invalid';
  const place = first && `${file.path}:${first.line}:${first.column}: ${first.message}`;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  throw new ReefError(code, `${place}${more}`, { details: { path: file.path, findings: errors } });
}

function checkEntries(draft: Draft, report: Report): void {
  for (const { id, path, fields, blocks } of draft.nodes.values()) {
    const entry = fields.entry_block;
    if (entry === undefined) continue;
    const at = [...path, 'entry_block'];
    const address = parseBlockId(entry);
    if (!address) report('wf_entry', at, `"${entry}" is not of the form ${id}__<block>`);
    else if (address.node !== id) report('wf_entry', at, `${entry} is a block of another node`);
    else if (!blocks.includes(entry)) report('wf_entry', at, `${id} has no block "${address.name}"`);
  }
}

function normalise(value: Json): Json {
  const whole: { [key: string]: Json } = isSuperset(value) && isObject(value) ? value : { nodes: value };
  const nodes = isObject(whole.nodes) ? whole.nodes : {};
  return { ...whole, nodes: mapValues(nodes, (node) => (isObject(node) ? normaliseNode(node) : node)) };
}

function normaliseNode(node: { [key: string]: Json }): Json {
  return { ...node, blocks: isObject(node.blocks) ? mapValues(node.blocks, withoutSynonyms) : {} };
}

function mapValues(object: { [key: string]: Json }, map: (value: Json) => Json): { [key: string]: Json } {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
}

const LARGEST_BYTES = 1024 * 1024;

export interface Source {
  value: Json;
  place(pointer: string): Position;
}

/** The text of a manifest with the place of every value. Refuses what is no document, by line and column. */
export function readSource(text: string, path: string): Source {
  if (Buffer.byteLength(text) > LARGEST_BYTES) {
    throw new ReefError('manifest_too_large', `${path} is larger than 1 MiB.`, { details: { path } });
  }
  const lines = new LineIndex(text);
  const { value, offsets } = parse(text, path, lines);
  return { value, place: (pointer) => positionAt(lines, offsetOf(offsets, pointer)) };
}

function parse(text: string, path: string, lines: LineIndex): SourceTree {
  try {
    return /\.ya?ml$/i.test(path) ? readYaml(text) : readJson(text);
  } catch (error) {
    if (!(error instanceof SourceFault)) throw error;
    const place = positionAt(lines, error.offset);
    throw new ReefError('invalid_json', `${path}:${place.line}:${place.column}: ${error.message}.`, {
      cause: error,
      details: { path, ...place },
    });
  }
}
