import type { ModelRegistry } from '../../runtime/models/client.ts';
import { createModelRegistry, type RegistryDeps, readCatalogue } from '../../runtime/models/registry.ts';
import { localModelsOverride } from '../../runtime/models/sync-models.ts';
import type { PortBase } from '../../runtime/state/init.ts';

interface ModelsBase extends Omit<PortBase, 'cwd'>, Pick<RegistryDeps, 'onCall'> {}

/** The models of a configuration, with keys of its vault. */
export function openModels({ config, vault, paths, environment, clock, onCall }: ModelsBase): ModelRegistry {
  return createModelRegistry({
    clients: config.clients,
    catalogue: readCatalogue(localModelsOverride(paths)),
    fetch: globalThis.fetch,
    fetchByWay: async (way) => (await import('./http-requests.ts')).fetchByWay(way),
    clock,
    reveal: (configured) => vault.fill(configured, 'clients'),
    env: environment,
    configDir: paths.configDir(),
    userAgent: config.user_agent,
    onCall,
  });
}
