import { lookAtCheckout } from '../../app/init-project.ts';
import { lackWords, missingPrograms } from '../../app/what-runs.ts';
import { systemClock } from '../../base/clock.ts';
import type { Environment } from '../../base/env.ts';
import type { Git } from '../../git/git-command.ts';
import type { ReefBlock } from '../../runtime/config/reef-block.ts';
import { TrustFile, trustPath } from '../../runtime/config/trust-file.ts';
import { findGateCommands } from '../../workflow/project/gate-commands.ts';
import { Project } from '../../workflow/project/project.ts';
import { PROJECT_CONFIG, readOverlay } from '../../workflow/project/project-config.ts';
import { byHand, type Check, check, ok, type Result, warn } from './finding.ts';

interface Deps {
  root: string;
  git: Git;
  env: Environment;
  settings(): Pick<ReefBlock, 'gates' | 'worktree' | 'sandbox' | 'pass_env'>;
}

/** What a run needs in the repository: gates that judge the work, trust in them, and a commit to start from. */
export function projectChecks({ root, git, env, settings }: Deps): Check[] {
  const project = new Project({ root, trust: new TrustFile(trustPath(env)), clock: systemClock });
  return [
    check('gates', () => gates(project, { root, git, env, settings })),
    check('trust', () => trust(project)),
    check('checkout', () => checkout(git, root)),
  ];
}

/** Finds the gates as a run would. Nothing is run here, so nothing has to be trusted. */
async function gates(project: Project, { root, git, env, settings }: Deps): Promise<Result> {
  const text = await project.readFile(PROJECT_CONFIG);
  const configured = { ...settings().gates, ...(text !== undefined && readOverlay(text).gates) };
  const found = await findGateCommands({ workers: {}, configured, readProject: project.readFile });
  const { setup } = { ...settings().worktree, ...(text !== undefined && readOverlay(text).worktree) };
  const commands = Object.entries(found).map(([of, { command }]) => ({ of, command }));
  const all = setup ? [{ of: 'set-up', command: setup }, ...commands] : commands;
  const [lacking] = await missingPrograms(all, { root, git, env, settings: settings() });
  if (lacking !== undefined) {
    const { what, does } = lackWords(lacking);
    return warn(what, PROJECT_CONFIG, byHand(does));
  }
  if (Object.keys(found).some((name) => name !== 'lint' && name !== 'build'))
    return ok(Object.keys(found).join(', '), PROJECT_CONFIG);
  return warn(
    'no test command is known, and a run needs one',
    PROJECT_CONFIG,
    byHand('reef init, or reef init --test "<command>"'),
  );
}

async function trust(project: Project): Promise<Result> {
  const { items } = await project.trust({ hashes: [] }, { by: 'doctor', surface: 'cli' });
  const open = items.filter(({ trusted }) => !trusted).map(({ name }) => name);
  if (items.length === 0) return ok('nothing in this repository needs your trust', 'reef trust');
  if (open.length === 0) return ok(items.map(({ name }) => name).join(', '), 'reef trust');
  return warn(`not trusted yet: ${open.join(', ')}`, 'Reef refuses to run it', byHand('reef trust'));
}

async function checkout(git: Git, root: string): Promise<Result> {
  const { hasCommit, hasIdentity, changed } = await lookAtCheckout(git, root, []);
  if (!hasCommit) {
    return warn('no commit yet, and every run starts from one', root, byHand('git add -A && git commit -m "start"'));
  }
  if (!hasIdentity) {
    const fix = byHand('git config --global user.name "…" && git config --global user.email "…"');
    return warn('git has no name for you, and a merge needs one', 'git config user.name', fix);
  }
  return ok(changed === 0 ? 'clean' : `${changed} files have uncommitted changes, which a run does not see`, root);
}
