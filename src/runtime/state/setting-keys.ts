import { ReefError } from '../../protocol/errors.ts';

type Kind = 'share' | 'count' | 'positive' | 'text' | 'switch' | 'choice';

/** The keys of `.set` and the kind of their values. `null` unsets all but switches. */
export const SET_KEYS = {
  temperature: 'share',
  top_p: 'share',
  enabled_tools: 'text',
  enabled_mcp_servers: 'text',
  max_output_tokens: 'positive',
  save_session: 'choice',
  compression_threshold: 'count',
  rag_reranker_model: 'text',
  rag_top_k: 'positive',
  dry_run: 'switch',
  function_calling_support: 'switch',
  mcp_server_support: 'switch',
  stream: 'switch',
  save: 'switch',
  highlight: 'switch',
} as const satisfies Record<string, Kind>;

export type SetKey = keyof typeof SET_KEYS;
export type SetValue = string | number | boolean | null;

const EXPECTED: Record<Kind, string> = {
  share: 'a number from 0 to 2',
  count: 'a whole number, 0 or more',
  positive: 'a whole number, 1 or more',
  text: 'text',
  switch: 'true or false',
  choice: 'true, false or null',
};

export function isSetKey(key: string): key is SetKey {
  return Object.hasOwn(SET_KEYS, key);
}

/** `KEY VALUE` as typed. */
export function parseSetting(data: string): { key: SetKey; value: SetValue } {
  const match = /^\s*(\S+)(?:\s+([\s\S]*?))?\s*$/.exec(data);
  const [key = '', text] = [match?.[1], match?.[2]];
  if (!isSetKey(key)) {
    const known = Object.keys(SET_KEYS);
    const message = `${key === '' ? 'an empty key' : key} is not a setting; use one of ${known.join(', ')}`;
    throw new ReefError('setting_unknown', message, { details: { known } });
  }
  if (text === undefined) throw new ReefError('setting_invalid', `${key} needs ${EXPECTED[SET_KEYS[key]]}`);
  return { key, value: settingValue(key, text) };
}

function settingValue(key: SetKey, text: string): SetValue {
  const kind: Kind = SET_KEYS[key];
  if (text === 'null' && kind !== 'switch') return null;
  const value = READERS[kind](text);
  if (value === undefined) {
    throw new ReefError('setting_invalid', `${key} needs ${EXPECTED[kind]}, not ${JSON.stringify(text)}`);
  }
  return value;
}

const bare = (text: string) => (/^(['"]).*\1$/s.test(text) ? text.slice(1, -1) : text);
const truth = (text: string) => (text === 'true' || text === 'false' ? text === 'true' : undefined);
const number = (text: string) => (/^\d{1,15}(\.\d+)?$/.test(text) ? Number(text) : Number.NaN);
const whole = (text: string, least: number) => {
  const value = number(text);
  return Number.isSafeInteger(value) && value >= least ? value : undefined;
};

/** Undefined means that the text is not of this kind. */
const READERS: Record<Kind, (text: string) => SetValue | undefined> = {
  text: bare,
  switch: truth,
  choice: truth,
  share: (text) => (number(text) <= 2 ? number(text) : undefined),
  count: (text) => whole(text, 0),
  positive: (text) => whole(text, 1),
};
