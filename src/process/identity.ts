import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type ProcessRow, processRow } from './process-table.ts';

/** A process is ours only if all three match: pids are reused, and after a reboot a start time may come again. */
export interface ProcessIdentity {
  pid: number;
  startTime: string;
  bootId: string;
}

export function bootId(): string {
  if (process.platform === 'linux') return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return execFileSync('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8' }).trim();
}

/** Undefined when no living process has this pid. */
export function identify(pid: number): ProcessIdentity | undefined {
  const row = processRow(pid);
  return row?.isAlive ? identityOf(row) : undefined;
}

export function identityOf(row: ProcessRow): ProcessIdentity {
  return { pid: row.pid, startTime: row.startTime, bootId: bootId() };
}

/** What became of a recorded process; `not_ours` means that another process has its pid now. */
export function adopt(recorded: ProcessIdentity): 'alive' | 'dead' | 'not_ours' {
  const living = identify(recorded.pid);
  if (!living) return 'dead';
  return living.startTime === recorded.startTime && living.bootId === recorded.bootId ? 'alive' : 'not_ours';
}

/** The one way to signal a process: its identity is checked right before. True when the signal was sent. */
export function signal(target: ProcessIdentity, name: NodeJS.Signals): boolean {
  return adopt(target) === 'alive' && send(target.pid, name);
}

/** The same for the process group of `leader`. */
export function signalGroup(leader: ProcessIdentity, name: NodeJS.Signals): boolean {
  return adopt(leader) === 'alive' && send(-leader.pid, name);
}

function send(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch {
    return false; // it ended meanwhile (ESRCH) or changed its user (EPERM): the caller looks again
  }
}
