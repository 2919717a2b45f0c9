import { z } from 'zod';

const count = z.number().int().nonnegative();
const line = z.number().int().positive();
const path = z.string().min(1).max(4_096);
const name = z.string().min(1).max(1_000);
const atMost = (most: number) => z.number().int().positive().max(most);

/** What an answer is based on. A partial answer says so. */
export const basisSchema = z.strictObject({
  worktree: z.string(),
  /** The commit HEAD stands on; empty before the first one. */
  head: z.string(),
  /** The lowest stage of analysis behind any part of the answer. */
  stage: z.union([z.literal(1), z.literal(2)]),
  /** Pending and skipped files could not add to the answer. */
  complete: z.boolean(),
  /** Files of this question that are not analysed yet. */
  pending: count,
  skipped: count,
  dirtyFiles: count,
  /** When the last look at the files began. */
  freshAsOf: z.iso.datetime(),
  watch: z.enum(['on', 'partial', 'off']),
  /** `foreign` when another server than ours answers. */
  engine: z.string(),
});
export type Basis = z.infer<typeof basisSchema>;

const symbolTypeSchema = z.enum([
  'module',
  'class',
  'interface',
  'method',
  'function',
  'constant',
  'variable',
  'enum',
  'struct',
  'type',
  'macro',
  'import',
]);
export type SymbolType = z.infer<typeof symbolTypeSchema>;

const locationSchema = z.strictObject({
  file: z.string(),
  start_line: line,
  start_column: count,
  end_line: line,
  end_column: count,
});

const codeSymbolSchema = z.strictObject({
  /** `path#Container.name:line`. */
  id: z.string(),
  name: z.string(),
  symbol_type: symbolTypeSchema,
  location: locationSchema,
  namespace: z.string().nullable(),
  visibility: z.enum(['public', 'private']),
  signature: z.string(),
  source: z.string().exactOptional(),
});
export type CodeSymbol = z.infer<typeof codeSymbolSchema>;

const referenceSchema = z.strictObject({
  location: locationSchema,
  reference_type: z.enum(['Definition', 'Usage', 'Import', 'Call', 'Type', 'Text']),
  /** The id of the definition, if it is known. */
  target_symbol: z.string().exactOptional(),
  confidence: z.enum(['exact', 'likely', 'name', 'lexical']),
  line_text: z.string(),
});
export type CodeReference = z.infer<typeof referenceSchema>;

const relatedSchema = z.strictObject({
  /** `path#Container.name:line`; of a use outside of all definitions the path alone. */
  id: z.string(),
  /** Of a use in a test without a name of its own, the title of the test. */
  name: z.string(),
  symbol_type: symbolTypeSchema,
  file_path: z.string(),
  line,
  signature: z.string(),
  relation: z.enum(['call', 'use', 'type']),
  /** `likely`: found by a name that only one class here has. */
  confidence: z.enum(['exact', 'likely']),
  /** Where the uses stand. */
  lines: z.array(line),
  /** The definition at the other end. */
  of: z.string(),
  distance: line,
});
export type RelatedSymbol = z.infer<typeof relatedSchema>;

const searchResultSchema = z.strictObject({
  score: z.number(),
  file_path: z.string(),
  /** Null for a file that we do not parse. */
  language: z.string().nullable(),
  /** Null when a foreign server does not say it. */
  line: line.nullable(),
  line_text: z.string(),
  content_snippet: z.string(),
});
export type SearchResult = z.infer<typeof searchResultSchema>;

const outlineSymbolSchema = z.strictObject({
  name: z.string(),
  symbol_type: symbolTypeSchema,
  /** A foreign server may not say it. */
  line: line.nullable(),
  end_line: line.exactOptional(),
  signature: z.string(),
  container: z.string().exactOptional(),
});
export type OutlineSymbol = z.infer<typeof outlineSymbolSchema>;

const sliceSchema = z.strictObject({
  file_path: z.string(),
  start_line: line,
  end_line: line,
  why: z.string(),
  text: z.string(),
});
export type ExploredSlice = z.infer<typeof sliceSchema>;

const hopSchema = z.strictObject({
  file_path: z.string(),
  distance: count,
  via: z.enum(['start', 'import', 'imported_by', 'reference', 'referenced_by']),
});
export type Hop = z.infer<typeof hopSchema>;

const outlineGroupSchema = z.enum([
  'classes',
  'structs',
  'enums',
  'functions',
  'methods',
  'constants',
  'variables',
  'modules',
]);
export type OutlineGroup = z.infer<typeof outlineGroupSchema>;

/** Waits for a complete answer; fails with `index_incomplete` at the deadline. */
const requirement = { require: z.literal('complete').exactOptional() };
const cursor = z.string().min(1).max(200).exactOptional();
/** What a reader has to know beside the answer: that it is about more than was asked for, or which names are similar. */
const note = z.string().exactOptional();

const aboutDefinition = {
  name,
  file_path: path.exactOptional(),
  line: line.exactOptional(),
  limit: atMost(2_000).exactOptional(),
  cursor,
  ...requirement,
};
const alongUses = { ...aboutDefinition, depth: atMost(10).exactOptional() };
const relatedOutput = z.strictObject({
  related: z.array(relatedSchema),
  total_count: count,
  /** Uses of the name of which the code does not say what they mean: get_symbol_references shows them. */
  unresolved: count,
  next_cursor: z.string().exactOptional(),
  note,
  basis: basisSchema,
});

interface ToolSchemas {
  summary: string;
  input: z.ZodObject;
  output: z.ZodObject;
}

export const codeTools = {
  index_code: {
    summary: 'Index the worktree; answers when every file can be searched.',
    input: z.strictObject({ path, wait: z.enum(['usable', 'complete']).exactOptional(), ...requirement }),
    output: z.strictObject({
      status: z.enum(['success', 'partial']),
      files_indexed: count,
      symbols_found: count,
      errors: z.array(z.string()),
      duration_ms: z.number().nonnegative(),
      /** Files that were analysed before. */
      reused: count,
      pending: count,
      basis: basisSchema,
    }),
  },
  get_symbol: {
    summary: 'Definitions of exactly this name.',
    input: z.strictObject({
      name,
      include_source: z.boolean().exactOptional(),
      file_path: path.exactOptional(),
      ...requirement,
    }),
    output: z.strictObject({ symbols: z.array(codeSymbolSchema), note, basis: basisSchema }),
  },
  get_symbol_references: {
    summary: 'Every use of a name in code, surest first; file_path and line choose one definition.',
    input: z.strictObject({
      name,
      file_path: path.exactOptional(),
      line: line.exactOptional(),
      include_text: z.boolean().exactOptional(),
      limit: atMost(2_000).exactOptional(),
      cursor,
      ...requirement,
    }),
    output: z.strictObject({
      references: z.array(referenceSchema),
      total_count: count,
      next_cursor: z.string().exactOptional(),
      note,
      basis: basisSchema,
    }),
  },
  find_symbols: {
    summary: 'Definitions by part of a name: prefix, humps (gQS), subsequence, one typo.',
    input: z.strictObject({
      query: name,
      symbol_type: symbolTypeSchema.exactOptional(),
      limit: atMost(50).exactOptional(),
      ...requirement,
    }),
    output: z.strictObject({ symbols: z.array(codeSymbolSchema), note, basis: basisSchema }),
  },
  get_callers: {
    summary: 'What uses a definition, and where.',
    input: z.strictObject(aboutDefinition),
    output: relatedOutput,
  },
  get_callees: {
    summary: 'What a definition uses here.',
    input: z.strictObject(aboutDefinition),
    output: relatedOutput,
  },
  get_impact: {
    summary: 'What may break when a definition changes, by distance.',
    input: z.strictObject(alongUses),
    output: relatedOutput,
  },
  get_tests: {
    summary: 'Tests that reach a definition.',
    input: z.strictObject(alongUses),
    output: relatedOutput,
  },
  code_search: {
    summary: 'Ranked search for words; "quoted phrases" must occur literally.',
    input: z.strictObject({
      query: name,
      limit: atMost(100).exactOptional(),
      max_results: atMost(100).exactOptional(),
      context_lines: count.max(20).exactOptional(),
      glob: z.string().min(1).max(1_000).exactOptional(),
      ...requirement,
    }),
    output: z.strictObject({ results: z.array(searchResultSchema), total_found: count, basis: basisSchema }),
  },
  get_file_outline: {
    summary: 'The definitions of one file.',
    input: z.strictObject({ file_path: path, ...requirement }),
    output: z.strictObject({
      file_path: z.string(),
      language: z.string().nullable(),
      symbols: z.array(outlineSymbolSchema),
      note,
      basis: basisSchema,
    }),
  },
  get_directory_outline: {
    summary: 'The definitions of the files below a folder.',
    input: z.strictObject({
      directory_path: path,
      includes: z.array(outlineGroupSchema).max(8).exactOptional(),
      depth: atMost(32).exactOptional(),
      cursor,
      ...requirement,
    }),
    output: z.strictObject({
      files: z.array(z.strictObject({ file_path: z.string(), symbols: z.array(outlineSymbolSchema) })),
      summary: z.string(),
      next_cursor: z.string().exactOptional(),
      basis: basisSchema,
    }),
  },
  get_hops: {
    summary: 'Files that depend on these files, or that these files depend on, by imports and certain references.',
    input: z.strictObject({
      files: z.array(path).min(1).max(1_000),
      depth: atMost(3).exactOptional(),
      ...requirement,
    }),
    output: z.strictObject({ files: z.union([z.array(hopSchema), z.literal('unknown')]), basis: basisSchema }),
  },
  explore_code: {
    summary: 'The pieces of code that answer a question, within a budget of tokens.',
    input: z.strictObject({
      question: z.string().min(1).max(20_000),
      budget_tokens: z.number().int().min(500).max(20_000).exactOptional(),
      files: z.array(path).max(200).exactOptional(),
      paths: z.array(path).max(200).exactOptional(),
      ...requirement,
    }),
    output: z.strictObject({
      slices: z.array(sliceSchema),
      /** The files that matter most, one a line, with their main definitions. */
      map: z.string(),
      tokens: count,
      left_out: z.array(z.string()),
      basis: basisSchema,
    }),
  },
} as const satisfies Record<string, ToolSchemas>;

export type CodeToolName = keyof typeof codeTools;
export type CodeToolArgs<N extends CodeToolName> = z.infer<(typeof codeTools)[N]['input']>;
export type CodeToolResult<N extends CodeToolName> = z.infer<(typeof codeTools)[N]['output']>;
