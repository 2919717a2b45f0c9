import type { Clock } from '../../base/clock.ts';
import { createRedactor, type Redact } from '../../base/redact.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { CacheProfile } from '../../repostate/prompt/cache-profile.ts';
import type { LoadedConfig } from '../../runtime/config/load.ts';
import { secretsIn } from '../../runtime/config/placeholders.ts';
import type { Model, ModelClient } from '../../runtime/models/client.ts';
import { passwordFrom } from '../../runtime/vault/password.ts';
import { Vault } from '../../runtime/vault/vault.ts';
import { openModels } from '../runtime/open-models.ts';

interface Wanted {
  /** The folder of the user. */
  home: string;
  clock: Clock;
  /** Chosen for this job. */
  model: string | undefined;
  /** A key was refused for now and the next one is tried: in the log of calls as any retry. */
  onRetry(retry: { attempt: number; message: string }): void;
}

interface OpenedModel {
  model: Model;
  client: ModelClient;
  /** Hides the keys in the configuration, and those of the vault as soon as they are read. */
  redact: Redact;
}

/** The model a coder works with: nobody is there to be asked for the password of the vault. */
export function openModel(configured: LoadedConfig, { home, clock, model: chosen, onRetry }: Wanted): OpenedModel {
  const { config, paths, environment } = configured;
  const secrets = secretsIn(config.clients);
  let redact = createRedactor(secrets);
  const vault = new Vault({
    path: paths.vaultFile(),
    password: passwordFrom({
      file: config.vault_password_file,
      home,
      configDir: paths.configDir(),
      ask: undefined,
    }),
    onReveal(secret) {
      secrets.push(secret);
      redact = createRedactor(secrets);
    },
  });
  let failures = 0;
  const models = openModels({
    config,
    vault,
    paths,
    environment,
    clock,
    onCall({ client, key_id, outcome }) {
      if (outcome === 'ok') return;
      failures += 1;
      onRetry({ attempt: failures, message: `${client}: key ${key_id} gave ${outcome}` });
    },
  });
  const wanted = chosen ?? (config.model_id || models.first('chat')?.id);
  if (wanted === undefined) {
    throw new ReefError(
      'model_missing',
      'No model is configured: add one to `clients` in config.yaml, or choose one with --model',
    );
  }
  const model = models.find(wanted, 'chat');
  return { model, client: models.client(model), redact: (text) => redact(text) };
}

const EXPLICIT = { readFactor: 0.1, writeFactor: 1.25, ttlS: 300 };
const AUTOMATIC = { readFactor: 0.1, writeFactor: 1, ttlS: 300 };

/** How the provider of a model caches prompts: by the name of its client, since a gateway caches as what it stands before. */
export function profileOf({ client, name }: Model): CacheProfile {
  const reasoning = /(^|[^a-z])(o[134]|gpt-5|thinking|reason)/.test(name);
  if (/claude|anthropic/.test(`${client} ${name}`)) {
    return { ...EXPLICIT, minPrefix: /haiku|opus-4-5/.test(name) ? 4_096 : 1_024, reasoning };
  }
  return { ...AUTOMATIC, minPrefix: 1_024, reasoning };
}
