import { resolve } from 'node:path';
import { stringify } from 'yaml';
import { printable } from '../../../base/printable.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { listAgents, loadAgentSpec } from '../../../runtime/agent-spec/load.ts';
import { importFolder } from '../../../runtime/loki/import-folder.ts';
import { loadMacro, usageOf } from '../../../runtime/macros/macro.ts';
import { createPaths, listMacros, listRags } from '../../../runtime/paths.ts';
import type { BuildReport } from '../../../runtime/rag/index/build.ts';
import type { RagHit } from '../../../runtime/rag/rag.ts';
import { exportRole } from '../../../runtime/roles/role.ts';
import { listRoles, loadRole } from '../../../runtime/roles/role-folder.ts';
import type { AppState } from '../../../runtime/state/app-state.ts';
import { openRuntimeAlone } from '../chat/conversation.ts';
import type { Cli, Command } from '../cli.ts';
import { interruptible } from '../prompt/interruptible.ts';

export type Listed = 'models' | 'roles' | 'sessions' | 'agents' | 'rags' | 'macros';

const NAMES: Record<Listed, (app: AppState) => readonly string[] | Promise<readonly string[]>> = {
  models: ({ models }) => models.list('chat').map(({ id }) => id),
  roles: ({ paths }) => listRoles(paths),
  sessions: async ({ sessions }) => [
    ...(await sessions.names()),
    ...(await sessions.autonames()).map((name) => `_/${name}`),
  ],
  agents: ({ paths }) => listAgents(paths),
  rags: ({ paths }) => listRags(paths),
  macros: ({ paths }) => listMacros(paths),
};

export async function namesOf(app: AppState, what: Listed): Promise<readonly string[]> {
  return NAMES[what](app);
}

export const list =
  (what: Listed): Command<object> =>
  async (cli: Cli) => {
    const { app } = await openRuntimeAlone(cli);
    const names = await namesOf(app, what);
    if (names.length > 0 || cli.json) cli.print({ [what]: names }, () => names.map(printable).join('\n'));
    else cli.talk(`There are no ${what} yet.`);
    return 0;
  };

/** A command that prints one thing of the runtime's folder. */
function show<T>(find: (app: AppState, name: string) => T, words: (found: T) => string): Command<object> {
  return async (cli, [name = '']) => {
    const { app } = await openRuntimeAlone(cli);
    const found = find(app, name);
    cli.print(found, () => printable(words(found)).trimEnd());
    return 0;
  };
}

const asYaml = (value: unknown) => stringify(value, { lineWidth: 0 });

export const showRole = show(({ paths, warn }, name) => loadRole(paths, name, warn), exportRole);
export const showMacro = show(
  ({ paths }, name) => loadMacro(paths, name),
  (macro) => [usageOf(macro), ...macro.steps.map((step) => `  ${step}`)].join('\n'),
);
export const showAgent = show(
  ({ paths, environment: env, warn }, name) => loadAgentSpec(name, { paths, env, warn }),
  asYaml,
);
export const showConfig = show(({ config }) => config, asYaml);

/** Reports what could not be imported. Secrets are never copied. */
export const importConfig: Command<{ from: string }> = async (cli, _args, { from }) => {
  const paths = createPaths(cli.env.all, cli.env.home);
  const report = await importFolder(resolve(cli.cwd, from), paths);
  cli.print(report, () =>
    printable(
      [
        `Copied ${report.copied.length} files to ${paths.configDir()}`,
        ...report.differs.map(({ path, why }) => `differs here: ${path}: ${why}`),
        ...report.notUsed.map(({ path, why }) => `not used: ${path}: ${why}`),
        ...(report.secrets.length === 0
          ? []
          : [
              `secrets are not copied: enter those you use again with \`reef vault add NAME\`: ${report.secrets.join(', ')}`,
            ]),
      ].join('\n'),
    ),
  );
  return 0;
};

/** A document that cannot be read is reported. The others are searchable all the same. */
export const buildRag: Command<object> = (cli, [name = '', ...documents]) =>
  interruptible(async (signal) => {
    const { app } = await openRuntimeAlone(cli);
    const change = { ...(documents.length > 0 && { documents }), signal };
    const report = (await app.rebuildRag({ kind: 'named', name }, change)) as BuildReport;
    cli.print(report, () => {
      const failed = report.failed.map(({ source, reason }) => `left out: ${source}: ${reason}`);
      const counts = `${report.added} new or changed, ${report.unchanged} unchanged, ${report.removed} removed`;
      return [counts, ...failed].map(printable).join('\n');
    });
    return 0;
  });

/** Where it stands, and what it says. */
function passage({ source, chunk, score, text }: RagHit): string {
  const lines = text.trim().split('\n');
  return [`${source}  chunk ${chunk}  ${score.toFixed(4)}`, ...lines.map((line) => `  ${line}`.trimEnd())].join('\n');
}

export const searchRag: Command<object> = async (cli, [name = '', question = '']) => {
  const { app } = await openRuntimeAlone(cli);
  const rag = await app.ragCache.load({ kind: 'named', name });
  if (!rag) throw new ReefError('rag_not_found', `There is no RAG named ${name}`);
  try {
    const { rag_top_k, rag_reranker_model } = app.config;
    const { settings } = rag.value;
    const hits = await rag.value.search(question, {
      top_k: settings.top_k ?? rag_top_k,
      reranker_model: settings.reranker_model ?? rag_reranker_model,
    });
    cli.print({ hits }, () => hits.map((hit) => printable(passage(hit))).join('\n\n'));
    return 0;
  } finally {
    await rag.release();
  }
};
