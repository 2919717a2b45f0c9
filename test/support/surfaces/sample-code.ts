import type { Basis } from '../../../src/protocol/code.ts';
import type { CodeCore, StateCore } from '../../../src/protocol/operations.ts';
import type { RepoState } from '../../../src/protocol/repostate.ts';

/** Answers about one function in one file. */
const basis: Basis = {
  worktree: '/worktrees/one',
  head: 'a'.repeat(40),
  stage: 2,
  complete: true,
  pending: 0,
  skipped: 0,
  dirtyFiles: 1,
  freshAsOf: '2026-03-01T12:00:00.000Z',
  watch: 'off',
  engine: 'test',
};
const location = { file: 'src/tax.ts', start_line: 3, start_column: 16, end_line: 5, end_column: 1 };
const outlined = {
  name: 'tax',
  symbol_type: 'function' as const,
  line: 3,
  end_line: 5,
  signature: 'function tax(lines)',
};
const symbol = {
  ...{ id: 'src/tax.ts#tax:3', name: 'tax', symbol_type: 'function' as const, location, namespace: null },
  ...{ visibility: 'public' as const, signature: 'function tax(lines)' },
};

const state: RepoState = {
  ...{ version: 1, workDir: '/worktrees/one', storyId: 'run', files: [], filesOmitted: 0, openTasks: [], seq: 3 },
  ...{ lastUpdated: '2026-03-01T12:00:00.000Z', base: '', head: '', branch: null, fingerprint: 'f', source: 'git' },
  ...{ runs: [], checks: [], notes: [] },
};

export function sampleStates(): StateCore {
  return {
    repo_state: async () => ({ text: '--- Repository State ---', state }),
    artifact_read: async ({ id }) => ({ id, text: 'what was cut', offset: 0, total: 12 }),
    todo: async () => ({ tasks: [] }),
    context_calls: async ({ id }) => ({ jobId: id, calls: [], reads: { artifacts: 0, again: 0 } }),
  };
}

export function sampleCode(): CodeCore {
  const symbols = async () => ({ symbols: [symbol], basis });
  const related = async () => ({ related: [], total_count: 0, unresolved: 0, basis });
  return {
    get_file_outline: async () => ({ file_path: 'src/tax.ts', language: 'typescript', symbols: [outlined], basis }),
    get_directory_outline: async () => ({
      files: [{ file_path: 'src/tax.ts', symbols: [outlined] }],
      summary: '1 file',
      basis,
    }),
    get_symbol: symbols,
    find_symbols: symbols,
    ...{ get_callers: related, get_callees: related, get_impact: related, get_tests: related },
    get_symbol_references: async () => ({
      references: [{ location, reference_type: 'Call', confidence: 'exact', line_text: 'tax([1])' }],
      total_count: 1,
      basis,
    }),
    code_search: async () => ({
      results: [
        {
          ...{ score: 1, file_path: 'src/tax.ts', language: 'typescript', line: 3 },
          ...{ line_text: 'function tax(lines)', content_snippet: 'function tax(lines)' },
        },
      ],
      total_found: 1,
      basis,
    }),
    explore_code: async () => ({
      slices: [
        { file_path: 'src/tax.ts', start_line: 3, end_line: 5, why: 'names tax', text: 'function tax(lines) {}' },
      ],
      map: 'src/tax.ts  tax',
      tokens: 20,
      left_out: [],
      basis,
    }),
    code_index: async () => ({
      ...{ status: 'success', files_indexed: 1, symbols_found: 1, errors: [], duration_ms: 2, reused: 0, pending: 0 },
      basis,
    }),
    code_slice: async () => ({ text: 'tax.ts', complete: true }),
  };
}
