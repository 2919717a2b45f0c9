import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '../base/defined.ts';
import type { EgressRules } from '../process/egress/rules.ts';
import type { AgentDescription } from './adapter.ts';
import { namedPath } from './description.ts';

/** Where packages come from: what set-up, gates and agents install needs no question. */
const REGISTRIES = [
  ...['registry.npmjs.org', 'registry.yarnpkg.com', 'nodejs.org'],
  ...['pypi.org', 'files.pythonhosted.org'],
  ...['crates.io', 'index.crates.io', 'static.crates.io', 'static.rust-lang.org'],
  ...['proxy.golang.org', 'sum.golang.org', 'rubygems.org', 'index.rubygems.org'],
  ...['repo.maven.apache.org', 'repo1.maven.org', 'plugins.gradle.org', 'services.gradle.org'],
  ...['github.com', 'codeload.github.com', 'raw.githubusercontent.com', 'objects.githubusercontent.com'],
  ...['release-assets.githubusercontent.com', 'gitlab.com'],
];

interface Asked {
  socket: string;
  /** Of the program inside. */
  env: Readonly<Record<string, string>>;
  /** `sandbox.hosts` of the user's configuration. */
  hosts: readonly string[];
  agent?: Pick<AgentDescription, 'hosts' | 'state'> | undefined;
  /** The socket of the job, through which a person is asked about other hosts. Absent: they are refused. */
  ask?: string;
}

/** Where a program in a sandbox may connect to: what Reef knows of it, and what the user named anywhere outside of the repository. */
export function networkFor({ socket, env, hosts, agent, ask }: Asked): EgressRules {
  const value = (name: string) => env[name] || env[name.toLowerCase()] || undefined;
  const all = value('ALL_PROXY')?.match(/^(?!socks).*/i)?.[0];
  const upstream = {
    http: value('HTTP_PROXY') ?? all,
    https: value('HTTPS_PROXY') ?? all,
    except: value('NO_PROXY'),
  };
  const texts = [
    ...Object.entries(env).flatMap(([name, text]) => (/_proxy$/i.test(name) ? [] : [text])),
    ...(agent?.state ?? []).flatMap(({ at, endpoints = [] }) => {
      const folder = at.map((name) => namedPath(name, env)).find((path) => path !== undefined);
      return folder === undefined ? [] : endpoints.map((name) => read(join(folder, name)));
    }),
    ...[...read(join(env.HOME || '/', '.npmrc')).matchAll(/^[ \t]*(?:@[\w.-]+:)?registry[ \t]*=.*$/gm)].map(
      ([line]) => line,
    ),
  ];
  return {
    socket,
    named: [...new Set([...hosts, ...texts.flatMap(hostsIn)])],
    known: [...(agent?.hosts ?? []), ...REGISTRIES],
    upstream: defined(upstream),
    ...defined({ ask }),
  };
}

/** `host:port` of each address of the web. */
function hostsIn(text: string): string[] {
  return [...text.matchAll(/\bhttps?:\/\/[^\s"'`<>,;]+/gi)].flatMap(([address]) => {
    const url = URL.parse(address);
    return url === null ? [] : [`${url.hostname}:${url.port || (url.protocol === 'http:' ? 80 : 443)}`];
  });
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // there is none, or it is not for us
  }
}
