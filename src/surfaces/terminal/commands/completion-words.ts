import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { AdapterRegistry } from '../../../agents/registry.ts';
import { findRepository } from '../../../base/home.ts';
import { readConfig } from '../../../runtime/config/user-config.ts';
import { findManifest } from '../../../workflow/manifest/manifest-file.ts';
import { SHIPPED } from '../../../workflow/shipped/shipped.ts';
import { shortIds } from '../../render/short-names.ts';
import type { Cli } from '../cli.ts';

/** What a shell offers besides commands and options. It starts no daemon: where none runs there are no tasks at work. */
export const WORDS: Record<'ids' | 'agents' | 'workflows', (cli: Cli) => Promise<string[]>> = {
  async ids(cli) {
    const client = cli.client();
    if (!(await client.daemon())) return [];
    const [{ jobs }, { runs }] = [await client.call('status', {}), await client.call('runs', {})];
    const all = [...runs.map(({ runId }) => runId), ...jobs.map(({ id }) => id)];
    return ['@last', ...all.map(shortIds(all))];
  },
  agents: async ({ env }) => new AdapterRegistry(() => readConfig(env).agents).names(),
  async workflows({ cwd }) {
    const repository = findRepository(cwd);
    const read = (path: string) => readFile(join(repository ?? cwd, path), 'utf8').catch(() => undefined);
    const file = await findManifest(read);
    return [...SHIPPED, ...Object.keys(file ? (parse(file.text)?.nodes ?? {}) : {})];
  },
};
