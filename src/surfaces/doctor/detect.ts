import type { Detection } from '../../agents/detect.ts';
import type { Environment } from '../../base/env.ts';

/** Imported late: what is broken there is a finding, and no reason for doctor not to start. */
export async function detectAll(env: Environment): Promise<Detection[]> {
  const [{ detectAgents }, { AdapterRegistry }, { configPath, readConfig }] = await Promise.all([
    import('../../agents/detect.ts'),
    import('../../agents/registry.ts'),
    import('../../runtime/config-file.ts'),
  ]);
  return detectAgents(new AdapterRegistry(() => readConfig(configPath(env)).agents), env.all);
}
