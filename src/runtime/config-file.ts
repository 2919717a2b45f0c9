import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import type { Environment } from '../base/env.ts';
import { ReefError } from '../protocol/errors.ts';

const agentSchema = z.strictObject({
  command: z.tuple([z.string().min(1)], z.string()).optional(),
  env: z.record(z.string(), z.string()).optional(),
  auth: z.string().optional(),
});

const timingsSchema = z.strictObject({
  linger: z.number().int().min(0).exactOptional(),
  idle: z.number().int().min(0).exactOptional(),
  ceiling: z.number().int().min(1000).exactOptional(),
  /** How long a daemon with nothing to do stays. */
  daemonIdle: z.number().int().min(0).exactOptional(),
});

const configSchema = z.strictObject({
  maxJobs: z.number().int().min(1).max(64).default(8),
  agents: z.record(z.string().max(200), agentSchema).default({}),
  /** Milliseconds. */
  timings: timingsSchema.default({}),
});
export type UserConfig = z.output<typeof configSchema>;

const MAX_ALIASES = 20;

export function configPath(env: Pick<Environment, 'configHome'>): string {
  return join(env.configHome, 'reef', 'config.yaml');
}

/** The user's own file, outside every repository: nothing in a repository is configuration. */
export function readConfig(path: string): UserConfig {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return configSchema.parse({});
    throw new ReefError('config_invalid', `${path} cannot be read`, { cause: error });
  }
  return checked(path, parseYaml(path, text));
}

function parseYaml(path: string, text: string): unknown {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, schema: 'core' });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem) {
    const { line, col } = lines.linePos(problem.pos[0]);
    throw new ReefError('config_invalid', `${path}:${line}:${col}: ${problem.message.split('\n')[0]}`);
  }
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES }) ?? {};
  } catch (error) {
    throw new ReefError('config_invalid', `${path}: too many aliases`, { cause: error });
  }
}

function checked(path: string, value: unknown): UserConfig {
  const result = configSchema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new ReefError('config_invalid', `${path}: ${problems.join('; ')}`);
}
