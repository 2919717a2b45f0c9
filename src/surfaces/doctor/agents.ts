import { readFile } from 'node:fs/promises';
import { delimiter, dirname } from 'node:path';
import type { Detection } from '../../agents/detect.ts';
import type { Client } from '../client/client.ts';
import { type Check, type Found, ok, warn } from './finding.ts';

interface Parts {
  detect(): Promise<Detection[]>;
  client: Pick<Client, 'daemon'>;
  version: string;
}

export function agentChecks({ detect, client, version }: Parts): Check[] {
  const detected = detect();
  // Looked at by each check in turn; until then its failure is nobody's.
  detected.catch(() => {});
  return [
    { name: 'agents', look: async () => (await detected).map(agent) },
    { name: 'daemon', look: async () => daemon(await client.daemon(), version) },
    { name: 'path', look: async () => path(await detected, (await client.daemon())?.pid) },
  ];
}

function agent({ name, title, path, version, finding, severity, install }: Detection): Found {
  const what = path ? [version, finding].filter(Boolean).join(', ') || 'found' : (finding ?? 'not found');
  const base = {
    check: name,
    severity,
    what: what.replace(` Install it with: ${install}`, ''),
    evidence: path ?? title,
  };
  return path && severity === 'ok' ? base : { ...base, fix: { does: install, safe: false } };
}

function daemon(info: Awaited<ReturnType<Client['daemon']>>, version: string): Found[] {
  if (!info) return [{ check: 'daemon', ...ok('not running; the next command starts it', 'reef daemon status') }];
  const evidence = `pid ${info.pid}, since ${info.startedAt}`;
  if (info.version === version)
    return [{ check: 'daemon', ...ok(`runs ${version}, ${info.jobs.live} jobs`, evidence) }];
  const fix = { does: 'reef daemon stop, then any command', safe: false } as const;
  return [{ check: 'daemon', ...warn(`runs ${info.version}, this is ${version}`, evidence), fix }];
}

/** Agents that this shell finds and the daemon, started from another, does not. */
async function path(detected: Detection[], pid: number | undefined): Promise<Found[]> {
  const environment =
    pid === undefined ? undefined : await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => undefined);
  if (environment === undefined) return [];
  const value =
    environment
      .split('\0')
      .find((entry) => entry.startsWith('PATH='))
      ?.slice('PATH='.length) ?? '';
  const folders = new Set(value.split(delimiter));
  // Reef's own agents are started with the Node that runs the daemon, wherever that lies.
  const looked = detected.filter(({ name }) => !name.startsWith('native:'));
  const hidden = looked.filter(({ path: found }) => found !== undefined && !folders.has(dirname(found)));
  if (hidden.length === 0)
    return [{ check: 'path', ...ok('the daemon finds the agents this shell finds', `pid ${pid}`) }];
  const names = hidden.map(({ name }) => name).join(', ');
  return [
    {
      check: 'path',
      ...warn(`the daemon finds no ${names}; this shell does`, `PATH of pid ${pid}: ${value}`),
      fix: { does: 'reef daemon stop, then any command from this shell', safe: false },
    },
  ];
}
