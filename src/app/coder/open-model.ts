import type { Clock } from '../../base/clock.ts';
import { createRedactor } from '../../base/redact.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { CacheProfile } from '../../repostate/prompt/cache-profile.ts';
import type { LoadedConfig } from '../../runtime/config/load.ts';
import { secretsIn } from '../../runtime/config/placeholders.ts';
import type { Model } from '../../runtime/models/client.ts';
import { passwordFrom } from '../../runtime/vault/password.ts';
import { Vault } from '../../runtime/vault/vault.ts';
import { openModels } from '../runtime/open-models.ts';

interface Wanted {
  /** The folder of the user. */
  home: string;
  clock: Clock;
  /** Chosen for this job. */
  model: string | undefined;
  /** A key was refused and the next one is tried; the log shows it as a retry. */
  onRetry(retry: { attempt: number; message: string }): void;
}

/**
 * The model of a coder. Nobody can be asked for the password of the vault. `redact` hides the keys of the configuration, and
 * those of the vault as soon as they are read.
 */
export function openModel(configured: LoadedConfig, { home, clock, model: chosen, onRetry }: Wanted) {
  const { config, paths, environment } = configured;
  const secrets = secretsIn(config.clients);
  let redact = createRedactor(secrets);
  const vault = new Vault({
    path: paths.vaultFile(),
    password: passwordFrom({ file: config.vault_password_file, home, configDir: paths.configDir(), ask: undefined }),
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
    const message = 'No model is configured: add one to `clients` in config.yaml, or choose one with --model';
    throw new ReefError('model_missing', message);
  }
  const model = models.find(wanted, 'chat');
  return { model, client: models.client(model), redact: (text: string) => redact(text) };
}

const CACHED = { readFactor: 0.1, ttlS: 300 };

/** How the provider of a model caches prompts. The client's name counts too: a gateway caches as its provider does. */
export function profileOf({ client, name }: Model): CacheProfile {
  const reasoning = /(^|[^a-z])(o[134]|gpt-5|thinking|reason)/.test(name);
  if (/claude|anthropic/.test(`${client} ${name}`)) {
    return { ...CACHED, minPrefix: /haiku|opus-4-5/.test(name) ? 4_096 : 1_024, reasoning };
  }
  return { ...CACHED, minPrefix: 1_024, reasoning };
}
