import { resolve } from 'node:path';
import type { Face } from '../../../app/runtime/commands/command.ts';
import type { Runtime } from '../../../app/runtime/open-runtime.ts';
import { findHome, findRepository } from '../../../base/home.ts';
import type { AskFn } from '../../../runtime/tools/tool.ts';
import { type Client, openClient } from '../../client/client.ts';
import { ChatTeam, type ChatTeamDeps } from '../../native-agent/chat-team.ts';
import { jobTable } from '../../render/job.ts';
import { renderQuestion } from '../../render/question.ts';
import type { Cli } from '../cli.ts';

/** `.jobs` and `.inbox` of a chat. */
export function chatJobs(cli: Cli): NonNullable<Face['jobs']> {
  return {
    async list() {
      const { jobs } = await jobsHome(cli).client.call('status', {});
      return jobs.length === 0 ? 'No jobs yet.' : jobTable(jobs, cli.style);
    },
    async inbox(answer) {
      const { client } = jobsHome(cli);
      if (answer) {
        const sent = await client.call('send', answer);
        return `Sent to ${sent.agentId}`;
      }
      const { questions } = await client.call('inbox', {});
      return questions.length === 0
        ? 'Nobody asks anything.'
        : questions.map((question) => renderQuestion(question, cli.style)).join('\n\n');
    },
  };
}

interface JobsHome {
  client: Client;
  homeDir: string;
  sockets: string;
  /** It belongs to no repository, so that commands elsewhere find it by `REEF_HOME` only. */
  isUsers: boolean;
}

/** The home of a chat's jobs: that of the repository around, or outside of one a home in the user's state folder. */
function jobsHome({ env, cwd }: Pick<Cli, 'env' | 'cwd'>): JobsHome {
  const isUsers = env.reefHome === undefined && env.reefSocket === undefined && findRepository(cwd) === undefined;
  const here = isUsers ? { ...env, reefHome: resolve(env.stateHome, 'reef') } : env;
  const client = openClient({ env: here, cwd, surface: 'cli' });
  const home = findHome(here, cwd);
  // Inside a job the sockets are those of its own daemon: <sockets>/<id>/sock.
  const sockets = env.reefSocket === undefined ? home.sockets : resolve(env.reefSocket, '../..');
  return { client, homeDir: home.dir, sockets, isUsers };
}

interface Team extends Pick<ChatTeamDeps, 'onAsked'> {
  cli: Cli;
  runtime: Runtime;
  ask: AskFn;
  confirmAll: boolean;
}

/** Lets the agent of a chat start others. Its daemon is found when the first of them starts. */
export function openTeam({ cli, ...deps }: Team): ChatTeam {
  let home: JobsHome | undefined;
  const open = () => {
    const found = jobsHome(cli);
    if (found.isUsers)
      cli.talk(`Outside a repository jobs live in ${found.homeDir}: REEF_HOME=${found.homeDir} reef ps`);
    return found;
  };
  return new ChatTeam({
    ...deps,
    daemon: () => {
      home ??= open();
      return home;
    },
  });
}
