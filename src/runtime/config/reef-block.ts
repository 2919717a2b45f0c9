import { z } from 'zod';
import { commandFrom } from '../../base/command-line.ts';
import { nearestName } from '../../base/nearest.ts';
import { sandboxModeSchema } from '../../protocol/jobs.ts';
import { GATES } from '../../protocol/workflow.ts';

const seconds = z.number().min(0).max(86_400);

const poolSchema = z.strictObject({
  /** If absent, 0 in `ask` and 300 elsewhere. */
  idle_timeout_seconds: seconds.exactOptional(),
  cleanup_interval_seconds: seconds.min(1).default(30),
  max_idle_servers: z.number().int().min(0).default(50),
  health_check: z.strictObject({ interval: seconds.min(1).default(60), timeout: seconds.default(5) }).prefault({}),
});

const ruleSchema = z.strictObject({
  tool: z.string().min(1),
  match: z.string().optional(),
  action: z.enum(['allow', 'ask', 'deny']),
});
export type Rule = z.output<typeof ruleSchema>;

const loopSchema = z.strictObject({
  /** More calls than this with the same result within `window` steps are a loop. */
  max_repeats: z.number().int().min(1).default(5),
  window: z.number().int().min(1).default(10),
});
export type LoopGuard = z.output<typeof loopSchema>;

/** The name of a variable of the user's shell. */
const variable = z.string().regex(/^[A-Za-z_]\w*$/, 'the name of a variable');

const agentSchema = z.strictObject({
  command: z.tuple([z.string().min(1)], z.string()).optional(),
  env: z.record(z.string(), z.string()).optional(),
  auth: z.string().optional(),
  pass_env: z.array(variable).exactOptional(),
});

const A_COMMAND = 'a command such as "npm test" or ["npm", "test"]';

/** `npm test` or `[npm, test]`. */
const command = z.unknown().transform((value, { addIssue }): string[] => {
  const words = typeof value === 'string' && value.trim() !== '' ? commandFrom(value) : value;
  const isCommand = Array.isArray(words) && words.length > 0 && words.every((word) => typeof word === 'string' && word);
  if (isCommand) return words;
  addIssue({ code: 'custom', message: A_COMMAND });
  return z.NEVER;
});

const ownPath = z.string().regex(/^(?:~\/|\/).+/, 'an absolute path, or one that begins with ~/');

const hostPattern = z
  .string()
  .regex(
    /^(?:\*\.)?(?:[\w.-]+|\[[\da-fA-F:.]+\])(?::\d{1,5})?$/,
    'a host such as example.com, *.example.com or localhost:4873',
  )
  .refine(
    (host) => !/^(?:localhost|127\.[\d.]+|\[::1\])$/.test(host),
    'a host of this machine needs a port: localhost:4873',
  );

/** What stands around agents, and around gates and scripts of the worktrees they work in. `sandbox: off` is short for `{ mode: off }`. */
const sandboxSchema = z.preprocess(
  (value) => (typeof value === 'string' ? { mode: value } : value),
  z.strictObject({
    mode: sandboxModeSchema.default('auto'),
    /** Files and folders that are shown beside those Reef knows, `~/…` or absolute. */
    read: z.array(ownPath).default([]),
    write: z.array(ownPath).default([]),
    /** Where programs inside may connect to, beside what Reef knows. */
    hosts: z.array(hostPattern).default([]),
    /** `read`: an agent commits nothing and writes no object; Reef makes the commits of its work. */
    git: z.enum(['commit', 'read']).default('commit'),
    /** Processes and threads of one sandbox, and the memory of each of them. */
    processes: z.number().int().min(16).max(1_000_000).exactOptional(),
    memory_mb: z.number().int().min(64).exactOptional(),
  }),
);

const detailedGate = z.strictObject({
  command,
  /** Seconds. */
  timeout: z.number().int().min(1).max(86_400).exactOptional(),
  /** A JUnit or JSON report of its tests, relative to the root of the repository. */
  report: z.string().min(1).max(1_000).exactOptional(),
  min_tests: z.number().int().min(1).exactOptional(),
  /** False: it is run and shown, and stops nothing. */
  blocks: z.boolean().exactOptional(),
});

/** A command, or keys of which one is the command. */
const gateSchema = z.preprocess((value, { addIssue }) => {
  if (typeof value === 'string' || Array.isArray(value)) return { command: value };
  if (typeof value === 'object' && value !== null) return value;
  addIssue({ code: 'custom', message: `${A_COMMAND}, or keys such as command and timeout` });
  return z.NEVER;
}, detailedGate);

/** By any name, in the order they run. A name that is nearly a known one is a slip, which would leave that gate unset. */
const gatesSchema = z
  .record(z.string().regex(/^[A-Za-z][\w:.-]{0,39}$/, 'a name of letters, digits and - _ : .'), gateSchema)
  .superRefine((gates, { addIssue }) => {
    for (const name of Object.keys(gates)) {
      const near = nearestName(name, GATES);
      if (near === undefined || near === name || name.length > near.length + 1) continue;
      addIssue({ code: 'custom', path: [name], message: `${near}, or a name that is less like it` });
    }
  });

/** Milliseconds. */
const timingsSchema = z.strictObject({
  start: z.number().int().min(1).exactOptional(),
  linger: z.number().int().min(0).exactOptional(),
  idle: z.number().int().min(0).exactOptional(),
  stalled: z.number().int().min(1).exactOptional(),
  ceiling: z.number().int().min(1000).exactOptional(),
  kill: z.number().int().min(1).exactOptional(),
  /** How long an idle daemon stays. */
  daemon_idle: z.number().int().min(0).exactOptional(),
});

/** The block `reef` of `config.yaml`: Reef's own settings. */
export const reefSchema = z.strictObject({
  mcp_pool: poolSchema.prefault({}),
  permissions: z.array(ruleSchema).default([]),
  tool_loop: loopSchema.prefault({}),
  /** Hosts of this machine or its network that a tool may fetch from, `host` or `host:port`. */
  allowed_hosts: z.array(z.string().min(1).max(260)).default([]),
  /** What MCP clients may decide without the person: permissions of any job (not for good), merges that need no `yes`. */
  mcp: z.strictObject({ may: z.array(z.enum(['allow', 'accept'])).default([]) }).prefault({}),
  /** Jobs of the daemon that run at once. */
  max_jobs: z.number().int().min(1).max(64).default(8),
  /** External agents, by the name a job calls them. */
  agents: z.record(z.string().max(200), agentSchema).default({}),
  /** Variables of the user's shell that reach set-up, gates and agents, beside those that always do. */
  pass_env: z.array(variable).default([]),
  /** Runs when an agent asks, a run halts or a task ends; what happened is in its REEF_NOTICE_ variables. */
  notify: z.strictObject({ command: command.exactOptional() }).default({}),
  timings: timingsSchema.default({}),
  /** How long and how much a home keeps of tasks that are over. */
  keep: z
    .strictObject({
      days: z.number().int().min(1).max(36_500).default(30),
      mib: z.number().int().min(1).default(2_048),
    })
    .prefault({}),
  sandbox: sandboxSchema.prefault({}),
  /** The agent of a workflow's worker that names none. */
  default_agent: z.string().min(1).max(200).default('claude'),
  /** Agents that take over from it in this order: at a limit of its provider, an outage, or without a log-in. */
  fallback_agents: z.array(z.string().min(1).max(200)).max(8).default([]),
  /** Gates for repositories and workflows that name none. */
  gates: gatesSchema.default({}),
  /** Commands that set up and tear down a worktree, if the repository names none. */
  worktree: z.strictObject({ setup: command.exactOptional(), teardown: command.exactOptional() }).default({}),
  git: z
    .strictObject({
      /** Filter and merge drivers that run, such as `filter.lfs`; read from `.reef/config.yaml` of a trusted repository only. */
      drivers: z
        .array(z.string().regex(/^(?:filter|merge)\.\P{Cc}{1,100}$/u, 'a driver such as filter.lfs or merge.ours'))
        .max(20)
        .default([]),
    })
    .prefault({}),
  worktrees: z
    .strictObject({
      root: z.string().min(1).exactOptional(),
      max_active: z.number().int().min(1).max(64).exactOptional(),
    })
    .default({}),
  /** Reef's own coder. */
  coder: z
    .strictObject({
      /** Commands that must succeed before it is done, by name. */
      checks: z.record(z.string().min(1).max(40), z.string().min(1).max(1_000)).default({}),
      /** The cost of a job at which a person is asked. */
      budget_usd: z.number().positive().exactOptional(),
    })
    .prefault({}),
  context: z
    .strictObject({
      /** Another analysis server, such as a real roberto-mcp. */
      server: z.string().min(1).exactOptional(),
      max_memory_mb: z.number().int().min(128).exactOptional(),
      max_servers: z.number().int().min(1).max(64).exactOptional(),
      /** False puts the whole history into the coder's prompts. */
      use_snapshot: z.boolean().exactOptional(),
      mode: z.enum(['auto', 'epoch', 'snapshot']).exactOptional(),
      tail_budget: z.number().int().exactOptional(),
      keep: z.number().int().exactOptional(),
      guards: z.boolean().exactOptional(),
      /** Tokens of code that the coder's first prompt shows for its task; 0 shows none. */
      first_look: z.union([z.literal(0), z.number().int().min(500).max(8_000)]).exactOptional(),
    })
    .default({}),
});
export type ReefBlock = z.output<typeof reefSchema>;
