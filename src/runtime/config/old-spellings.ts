type Raw = Record<string, unknown>;

/** Spellings of aichat and early Loki, and of Reef before it had the block `reef`. */
const RENAMED: Readonly<Record<string, readonly [key: string, ...path: string[]]>> = {
  function_calling: ['function_calling_support'],
  use_tools: ['enabled_tools'],
  agent_prelude: ['agent_session'],
  compress_threshold: ['compression_threshold'],
  summarize_prompt: ['summarization_prompt'],
  summary_prompt: ['summary_context_prompt'],
  light_theme: ['theme'],
  maxJobs: ['reef', 'max_jobs'],
  agents: ['reef', 'agents'],
  timings: ['reef', 'timings'],
};

interface Modern {
  raw: Raw;
  /** Old key to where its value went; problems are reported under the spelling the reader wrote. */
  renamed: Map<string, readonly string[]>;
  /** Old keys left out because the new one is there as well. */
  ignored: string[];
}

/** The same file in today's spelling. */
export function modernise(old: Raw): Modern {
  const raw: Raw = { ...old };
  const renamed = new Map<string, readonly string[]>();
  const ignored: string[] = [];
  for (const [key, path] of Object.entries(RENAMED)) {
    if (!Object.hasOwn(raw, key)) continue;
    const value = translate(key, raw[key]);
    delete raw[key];
    if (place(raw, path, value)) renamed.set(key, path);
    else ignored.push(key);
  }
  return { raw, renamed, ignored };
}

function translate(key: string, value: unknown): unknown {
  if (key === 'light_theme' && typeof value === 'boolean') return value ? 'light' : null;
  if (key === 'timings' && isRaw(value) && 'daemonIdle' in value) {
    const { daemonIdle, ...rest } = value;
    return { ...rest, daemon_idle: daemonIdle };
  }
  return value;
}

function place(raw: Raw, [key, inner]: readonly string[], value: unknown): boolean {
  if (key === undefined) return false;
  if (inner === undefined) {
    if (Object.hasOwn(raw, key)) return false;
    raw[key] = value;
    return true;
  }
  const block = raw[key] ?? {};
  if (!isRaw(block) || Object.hasOwn(block, inner)) return false;
  raw[key] = { ...block, [inner]: value };
  return true;
}

function isRaw(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
