import { existsSync } from 'node:fs';
import type { Home } from '../../../base/home.ts';
import { version } from '../../../base/version.ts';
import { createGit, type Git } from '../../../git/git-command.ts';
import { allowedEnv, SYSTEM_PATH } from '../../../process/environment.ts';
import { run } from '../../../process/run.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { readConfig } from '../../../runtime/config/user-config.ts';
import { agentChecks } from '../../doctor/agents.ts';
import { daemonChecks } from '../../doctor/daemon.ts';
import { derivedChecks } from '../../doctor/derived.ts';
import { type Check, examine } from '../../doctor/finding.ts';
import { homeChecks, oldHomeCheck, socketCheck } from '../../doctor/home.ts';
import { jobChecks } from '../../doctor/jobs.ts';
import { machineChecks } from '../../doctor/machine.ts';
import { mcpCheck } from '../../doctor/mcp.ts';
import { projectChecks } from '../../doctor/project.ts';
import { detectAll, userOf } from '../../doctor/ready-agents.ts';
import { renderFindings } from '../../doctor/report.ts';
import { sizeChecks } from '../../doctor/sizes.ts';
import { storeChecks } from '../../doctor/store.ts';
import { worktreeChecks } from '../../doctor/worktrees.ts';
import type { Cli, Command } from '../cli.ts';
import { reviewServers } from './mcp-approve.ts';

export const doctor: Command<{ fix?: true; deep?: true; sizes?: true }> = async (cli, _args, options) => {
  const { fix = false, deep = false, sizes = false } = options;
  const home = homeOf(cli);
  const sized = sizes && !(home instanceof ReefError) ? sizeChecks(home, () => readConfig(cli.env).keep) : [];
  const findings = await examine([...checksFor(cli, deep), ...sized], { fix });
  cli.print({ findings }, () => renderFindings(findings, cli.style));
  return findings.some(({ severity }) => severity === 'error') ? 1 : 0;
};

/** The list of what doctor looks at. A new check is one more entry here. */
function checksFor(cli: Cli, deep: boolean): Check[] {
  const { env, cwd } = cli;
  const home = homeOf(cli);
  const folder = home instanceof ReefError || !existsSync(home.dir) ? cwd : home.dir;
  const detected = detectAll(env);
  detected.catch(() => {}); // several checks await it and report its failure
  const general = [
    ...machineChecks({ path: env.path, folder, sandboxMode: () => readConfig(env).sandbox.mode }),
    ...agentChecks({ detected, user: () => userOf(env, cwd) }),
    mcpCheck(() => reviewServers(cli).reviews),
  ];
  if (home instanceof ReefError) return [...general, { name: 'home', look: () => Promise.reject(home) }];
  const client = cli.client();
  const of = { home, client, deep };
  const daemon = daemonChecks({ client, detected, env, version, file: home.daemon });
  // Fixes are applied in this order: those that need the home to themselves before those that start a daemon.
  const files = [...homeChecks(home), ...oldHome(cli, home), ...derivedChecks(of), ...storeChecks(of)];
  const served = [...repositoryChecks(cli, home, deep), ...daemon, socketCheck(home, client), ...jobChecks(of)];
  return [...general, ...files, ...served];
}

/** The home, or why there is none: outside a repository the machine can still be checked. */
function homeOf(cli: Cli): Home | ReefError {
  try {
    return cli.home();
  } catch (error) {
    if (error instanceof ReefError) return error;
    throw error;
  }
}

function oldHome(cli: Cli, home: Home): Check[] {
  const { repository } = home;
  return repository === undefined
    ? []
    : [oldHomeCheck({ home: { ...home, repository }, git: gitOf(cli), client: cli.client() })];
}

function gitOf({ env }: Cli): Git {
  return createGit({ run, env: allowedEnv(env.all, [], { PATH: SYSTEM_PATH }) });
}

function repositoryChecks(cli: Cli, home: Home, deep: boolean): Check[] {
  const { env } = cli;
  const { repository } = home;
  if (repository === undefined) return [];
  const git = gitOf(cli);
  const settings = () => readConfig(env);
  const worktrees = { home: { ...home, repository }, client: cli.client(), git, dataHome: env.dataHome, deep };
  return [
    ...projectChecks({ root: repository, git, env, settings }),
    ...worktreeChecks({ ...worktrees, root: () => settings().worktrees.root }),
  ];
}
