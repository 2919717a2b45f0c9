import type { Runtime } from '../../app/runtime/open-runtime.ts';
import type { AskFn } from '../../runtime/tools/tool.ts';
import type { Cli } from '../cli/cli.ts';
import { type PersonParts, PersonTeam } from '../host/person-team.ts';
import { type JobsPlace, jobsPlace } from './jobs-place.ts';

interface Team extends Pick<PersonParts, 'onAsked'> {
  cli: Cli;
  runtime: Runtime;
  ask: AskFn;
  confirmAll: boolean;
}

/** What an agent in front of a person needs to start others: the daemon of this place, when the first of them is started. */
export function openTeam({ cli, ...parts }: Team): PersonTeam {
  let place: JobsPlace | undefined;
  const open = () => {
    const found = jobsPlace(cli);
    if (found.isUsers)
      cli.talk(`Outside a repository jobs live in ${found.homeDir}: REEF_HOME=${found.homeDir} reef ps`);
    return found;
  };
  return new PersonTeam({
    ...parts,
    daemon: () => {
      place ??= open();
      return place;
    },
  });
}
