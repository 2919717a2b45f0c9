import { listAgents } from '../../runtime/agent-spec/load.ts';
import { listRags } from '../../runtime/folder-names.ts';
import { listMacros } from '../../runtime/macros/macro.ts';
import { listRoles } from '../../runtime/roles/role-folder.ts';
import type { AppState } from '../../runtime/state/app-state.ts';

export type Listed = 'models' | 'roles' | 'sessions' | 'agents' | 'rags' | 'macros';

/** Names of what there is, in order. */
export async function listOf(app: AppState, what: Listed): Promise<readonly string[]> {
  const { paths, models, sessions } = app;
  switch (what) {
    case 'models':
      return models.list('chat').map(({ id }) => id);
    case 'roles':
      return listRoles(paths);
    case 'sessions':
      return [...(await sessions.names()), ...(await sessions.autonames()).map((name) => `_/${name}`)];
    case 'agents':
      return listAgents(paths);
    case 'rags':
      return listRags(paths);
    case 'macros':
      return listMacros(paths);
  }
}
