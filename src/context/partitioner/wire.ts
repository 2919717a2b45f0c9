import { z } from 'zod';
import { basisSchema, type CodeToolName } from '../../protocol/code.ts';

/**
 * The answers of a server as we take them: those of our own (src/protocol/code.ts) and those of roberto-mcp, which names kinds
 * with a capital, leaves lines, confidence and signatures out, and never says what an answer rests on.
 */

const count = z.number().int().nonnegative();
const basis = basisSchema.optional();
const word = z.string().transform((text) => text.toLowerCase());

/** Those of roberto-mcp are numbers beyond what JSON keeps exactly, and nothing is asked by them. */
const symbolId = z
  .string()
  .exactOptional()
  .catch(undefined as never);

const location = z.object({
  file: z.string(),
  start_line: count,
  start_column: count,
  end_line: count,
  end_column: count,
});

const symbol = z.object({
  id: symbolId,
  name: z.string(),
  symbol_type: word,
  location,
  namespace: z.string().nullish(),
  visibility: word.optional(),
  signature: z.string().optional(),
  source: z.string().nullish(),
});

const reference = z.object({
  location,
  reference_type: z.string(),
  target_symbol: symbolId,
  confidence: z.string().default('lexical'),
  line_text: z.string().optional(),
});

const hit = z.object({
  score: z.number(),
  file_path: z.string(),
  language: z.string().nullish(),
  /** Null when it is not known (C-095). */
  line: count.nullish(),
  line_text: z.string().optional(),
  content_snippet: z.string(),
});

const outlineSymbol = z.object({
  name: z.string(),
  symbol_type: word,
  /** roberto-mcp tells it of the symbols of a file, not of those of a directory. */
  line: count.nullable(),
  end_line: count.optional(),
  /** Told by roberto-mcp alone, whose functions have no name. */
  column: count.exactOptional(),
  signature: z.string(),
  container: z.string().optional(),
});

const slice = z.object({
  file_path: z.string(),
  start_line: count,
  end_line: count,
  why: z.string(),
  text: z.string(),
});

const hop = z.object({ file_path: z.string(), distance: count, via: z.string() });

export const wireSchemas = {
  index_code: z.object({
    status: z.enum(['success', 'partial']),
    files_indexed: count,
    symbols_found: count,
    errors: z.array(z.string()),
    duration_ms: z.number().nonnegative(),
    reused: count.optional(),
    pending: count.optional(),
    basis,
  }),
  get_symbol: z.object({ symbols: z.array(symbol), basis }),
  find_symbols: z.object({ symbols: z.array(symbol), basis }),
  get_symbol_references: z.object({
    references: z.array(reference),
    total_count: count.optional(),
    next_cursor: z.string().optional(),
    basis,
  }),
  code_search: z.object({ results: z.array(hit), total_found: count, basis }),
  get_file_outline: z.object({
    file_path: z.string().exactOptional(),
    language: z.string().nullable().exactOptional(),
    symbols: z.array(outlineSymbol),
    basis,
  }),
  get_directory_outline: z.object({
    files: z.array(z.object({ file_path: z.string(), symbols: z.array(outlineSymbol) })),
    summary: z.string(),
    next_cursor: z.string().optional(),
    basis,
  }),
  get_hops: z.object({ files: z.union([z.array(hop), z.literal('unknown')]), basis }),
  explore_code: z.object({
    slices: z.array(slice),
    map: z.string(),
    tokens: count,
    left_out: z.array(z.string()),
    basis,
  }),
} as const satisfies Record<CodeToolName, z.ZodObject>;

export type WireTool = keyof typeof wireSchemas;
export type WireResult<T extends WireTool> = z.infer<(typeof wireSchemas)[T]>;
