import { adopt, type ProcessIdentity } from './identity.ts';

/** Every signal of Reef goes through here: the identity is checked right before it. True when it was sent. */
export function signal(target: ProcessIdentity, name: NodeJS.Signals): boolean {
  return adopt(target) === 'alive' && send(target.pid, name);
}

/** The same for the process group that `leader` leads. */
export function signalGroup(leader: ProcessIdentity, name: NodeJS.Signals): boolean {
  return adopt(leader) === 'alive' && send(-leader.pid, name);
}

function send(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false; // ESRCH: it ended meanwhile; EPERM: it changed its user. Either way the caller looks again.
  }
}
