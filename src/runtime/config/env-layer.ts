import type { Variables } from '../paths.ts';
import { FILE_KEYS, type FileKey, settings } from './app-config.ts';
import { type Checked, checkLayer } from './check-layer.ts';
import { parseValue } from './settings-file.ts';

/** Text stays text where text is allowed: a model named `1e3` is not a number, a theme named `on` not a boolean. */
function acceptsText(key: FileKey): boolean {
  const schema = settings[key].schema();
  return schema.safeParse('auto').success || schema.safeParse('emacs').success;
}

/** `REEF_<KEY>` for each key but the block `reef`, which is not one value. */
export function envLayer(env: Variables): Checked {
  const value: Record<string, unknown> = {};
  for (const key of FILE_KEYS) {
    const text = env[`REEF_${key.toUpperCase()}`];
    if (key === 'reef' || text === undefined) continue;
    value[key] = text !== 'null' && acceptsText(key) ? text : parsed(key, text);
  }
  const checked = checkLayer({ file: 'environment', value, lineOf: () => undefined });
  const problems = checked.problems.map((problem) => ({ ...problem, path: `REEF_${problem.path.toUpperCase()}` }));
  return { ...checked, problems };
}

function parsed(key: FileKey, text: string): unknown {
  const isSwitch = settings[key].schema().safeParse(true).success;
  if (isSwitch && (text === '1' || text === '0')) return text === '1';
  return parseValue(text);
}

const CLIENT_TYPES = /^(openai|claude|gemini|openai-compatible|azure-openai|vertexai|bedrock|cohere)$/;

/** `REEF_PLATFORM` alone makes one client. Its key stays in `<CLIENT>_API_KEY`, where the client looks for it. */
export function platformLayer(env: Variables): Checked['layer'] {
  const platform = env.REEF_PLATFORM;
  if (platform === undefined || platform === '') return {};
  const type = CLIENT_TYPES.test(platform) ? platform : 'openai-compatible';
  return { clients: [type === platform ? { type } : { type, name: platform }] };
}
