import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type ProcessRow, processRow } from './process-table.ts';

/** All three match, or it is not ours: pids are reused, and after a reboot even pid and start time may match again. */
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

/** What a record of an earlier daemon is worth now; `not_ours` means that another process has its pid. */
export function adopt(recorded: ProcessIdentity): 'alive' | 'dead' | 'not_ours' {
  const living = identify(recorded.pid);
  if (!living) return 'dead';
  return living.startTime === recorded.startTime && living.bootId === recorded.bootId ? 'alive' : 'not_ours';
}
