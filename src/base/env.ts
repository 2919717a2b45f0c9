import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

export interface Environment {
  home: string;
  /** `REEF_HOME`: where the home lies when it is not in the user's state folder. */
  reefHome: string | undefined;
  /** `REEF_SOCKET`: inside a job, the socket of that job. */
  reefSocket: string | undefined;
  /** `REEF_JOB`, which Reef sets for all that an agent or a gate starts: whoever types there is not the person. */
  isInJob: boolean;
  /** `REEF_JOB_DIR`: inside a job of Reef's own, the folder in which it keeps what it needs after a restart. */
  reefJobDir: string | undefined;
  configHome: string;
  dataHome: string;
  stateHome: string;
  cacheHome: string;
  /** Absent without a login session. */
  runtimeDir: string | undefined;
  path: string;
  shell: string;
  noColor: boolean;
  /** All of it, for the allow-list of child processes and nothing else. */
  all: Readonly<NodeJS.ProcessEnv>;
}

/** The only reader of `process.env`. A program calls it once and hands the result down. */
export function readEnvironment(source: NodeJS.ProcessEnv = process.env): Environment {
  const all = Object.freeze({ ...source });
  const home = absolute(all.HOME) ?? homedir();
  return {
    home,
    reefHome: nonEmpty(all.REEF_HOME),
    reefSocket: nonEmpty(all.REEF_SOCKET),
    isInJob: nonEmpty(all.REEF_JOB) !== undefined,
    reefJobDir: nonEmpty(all.REEF_JOB_DIR),
    configHome: absolute(all.XDG_CONFIG_HOME) ?? join(home, '.config'),
    dataHome: absolute(all.XDG_DATA_HOME) ?? join(home, '.local', 'share'),
    stateHome: absolute(all.XDG_STATE_HOME) ?? join(home, '.local', 'state'),
    cacheHome: absolute(all.XDG_CACHE_HOME) ?? join(home, '.cache'),
    runtimeDir: absolute(all.XDG_RUNTIME_DIR),
    path: all.PATH ?? '',
    shell: nonEmpty(all.SHELL) ?? '/bin/sh',
    noColor: nonEmpty(all.NO_COLOR) !== undefined || all.TERM === 'dumb',
    all,
  };
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}

/** The XDG rules: a relative path is ignored. */
function absolute(value: string | undefined): string | undefined {
  return value !== undefined && isAbsolute(value) ? value : undefined;
}
