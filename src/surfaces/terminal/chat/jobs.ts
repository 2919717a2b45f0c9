import { resolve } from 'node:path';
import type { Face } from '../../../app/runtime/commands/command.ts';
import { findHome, findRepository } from '../../../base/home.ts';
import { onFirstUse } from '../../../base/lazily.ts';
import { type Client, openClient } from '../../client/client.ts';
import { ChatTeam, type ChatTeamDeps } from '../../native-agent/chat-team.ts';
import { jobTable } from '../../render/job.ts';
import { renderQuestion } from '../../render/question.ts';
import { createStyle } from '../../render/style.ts';
import type { Cli } from '../cli.ts';
import type { Talker } from './conversation.ts';

/** `.jobs` and `.inbox` of a chat. */
export function chatJobs(cli: Cli): NonNullable<Face['jobs']> {
  // What a command says is shown without control characters, and colours are some.
  const style = () => createStyle({ colour: false, width: cli.style.width, now: new Date() });
  return {
    async list() {
      const { jobs } = await jobsHome(cli).client.call('status', {});
      return jobs.length === 0 ? 'No jobs yet.' : jobTable(jobs, style());
    },
    async inbox(answer) {
      const { client } = jobsHome(cli);
      if (answer) {
        const sent = await client.call('send', answer);
        return `Sent to ${sent.agentId}`;
      }
      const { questions } = await client.call('inbox', {});
      return questions.length === 0
        ? 'No open questions.'
        : questions.map((question) => renderQuestion(question, style())).join('\n\n');
    },
  };
}

/** The jobs that ask something, for `.inbox`. No daemon is started to look. */
export async function askingJobs(cli: Cli): Promise<string[]> {
  const { client } = jobsHome(cli);
  if (!(await client.daemon())) return [];
  const { questions } = await client.call('inbox', {});
  return [...new Set(questions.map(({ jobId }) => jobId))];
}

interface JobsHome {
  client: Client;
  homeDir: string;
  sockets: string;
  /** It belongs to no repository: other commands find it only by `REEF_HOME`. */
  isUsers: boolean;
}

/** The home of a chat's jobs: that of the repository, or outside of one, a home in the user's state folder. */
function jobsHome({ env, cwd }: Pick<Cli, 'env' | 'cwd'>): JobsHome {
  const isUsers = env.reefHome === undefined && env.reefSocket === undefined && findRepository(cwd) === undefined;
  const here = isUsers ? { ...env, reefHome: resolve(env.stateHome, 'reef') } : env;
  const client = openClient({ env: here, cwd, surface: 'cli' });
  const home = findHome(here, cwd);
  // Inside a job the sockets are those of its own daemon: <sockets>/<id>/sock.
  const sockets = env.reefSocket === undefined ? home.sockets : resolve(env.reefSocket, '../..');
  return { client, homeDir: home.dir, sockets, isUsers };
}

/** Lets the agent of a chat start others. Its daemon is found when the first of them starts. */
export function openTeam({ cli, ...deps }: Omit<ChatTeamDeps, 'daemon'> & { cli: Talker }): ChatTeam {
  const daemon = onFirstUse(() => {
    const home = jobsHome(cli);
    if (home.isUsers)
      cli.talk(`You are not in a repository, so jobs are kept in ${home.homeDir}: REEF_HOME=${home.homeDir} reef ps`);
    return home;
  });
  return new ChatTeam({ ...deps, daemon });
}
