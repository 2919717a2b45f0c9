import { nearestName } from '../../base/nearest.ts';
import { isRecord, type Source, type Stray } from './settings-file.ts';

const ALL = ['type', 'name', 'api_base', 'api_key', 'models', 'patch', 'extra'];

/** What a client of each type reads besides the keys of all. */
const OWN: Readonly<Record<string, readonly string[]>> = {
  openai: ['organization_id', 'api'],
  claude: [],
  gemini: [],
  'openai-compatible': [],
  'azure-openai': ['api_version', 'api'],
  vertexai: ['project_id', 'location', 'adc_file'],
  bedrock: ['region', 'access_key_id', 'secret_access_key', 'session_token'],
  cohere: [],
  scripted: ['script'],
};

/** Of an entry of `models`; those of the catalogue, and two that only a file has. */
const MODEL_KEYS = [
  ...[
    'name',
    'type',
    'real_name',
    'max_input_tokens',
    'max_output_tokens',
    'input_price',
    'output_price',
    'cached_price',
  ],
  ...['supports_vision', 'supports_function_calling', 'default_chunk_size', 'max_batch_size', 'patch', 'script'],
];
const EXTRA = ['proxy', 'connect_timeout'];

/** Keys of clients and their models that nothing reads. Such a key is a warning: other programs have more. */
export function strangeClientKeys({ file, value, lineOf }: Source): Stray[] {
  if (!isRecord(value) || !Array.isArray(value.clients)) return [];
  const strays: Stray[] = [];
  const look = (entry: unknown, path: readonly PropertyKey[], known: readonly string[]) => {
    if (!isRecord(entry)) return;
    for (const key of Object.keys(entry).filter((each) => !known.includes(each))) {
      // Without a value nothing is lost.
      if (entry[key] === null) continue;
      const nearest = nearestName(key, known);
      const at = [...path, key];
      const message = `${at.join('.')} is not used by ${path.includes('models') ? 'a model' : 'this type of client'}`;
      const hint = nearest === undefined ? '' : `: did you mean ${nearest}?`;
      strays.push({ file, line: lineOf(at), message: `${message}${hint}`, key: at.join('.'), nearest, known });
    }
  };
  for (const [at, client] of value.clients.entries()) {
    const own = isRecord(client) && typeof client.type === 'string' ? OWN[client.type] : undefined;
    // A type that is not known is refused when it is used, and its keys with it.
    if (!isRecord(client) || own === undefined) continue;
    look(client, ['clients', at], [...ALL, ...own]);
    look(client.extra, ['clients', at, 'extra'], EXTRA);
    const models = Array.isArray(client.models) ? client.models : [];
    for (const [n, model] of models.entries()) look(model, ['clients', at, 'models', n], MODEL_KEYS);
  }
  return strays;
}
