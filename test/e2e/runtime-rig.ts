import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { COMPILED } from '../support/compile-cache.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

export const REEF = join(import.meta.dirname, '../../bin/reef.cjs');
const FIXTURE = join(import.meta.dirname, '../fixtures/runtime/config');

export interface Said {
  stdout: string;
  stderr: string;
  code: number | null;
}

export interface User {
  root: string;
  /** Where commands run. */
  cwd: string;
  config: string;
  env: NodeJS.ProcessEnv;
  write(path: string, text: string): string;
  reef(args: readonly string[], options?: { input?: string }): Promise<Said>;
  start(args: readonly string[]): ReturnType<typeof spawn>;
}

/** A user of a machine of its own, with the configuration of the fixtures; no network, no key. */
export function makeUser({ fixture = FIXTURE }: { fixture?: string | null } = {}): User {
  const root = temporaryFolder();
  const cwd = join(root, 'work');
  const config = join(root, 'home', '.config', 'reef');
  mkdirSync(cwd);
  if (fixture) cpSync(fixture, config, { recursive: true });
  mkdirSync(config, { recursive: true });
  // Of what is cached, only compiled modules are shared with other tests.
  const cache = join(root, 'home', '.cache', 'reef');
  mkdirSync(cache, { recursive: true });
  mkdirSync(COMPILED, { recursive: true });
  symlinkSync(COMPILED, join(cache, 'compile-cache'));
  writeFileSync(join(config, 'password'), 'a password of a test\n', { mode: 0o600 });
  const env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: join(root, 'home'),
    XDG_CACHE_HOME: join(root, 'home', '.cache'),
    TMPDIR: process.env.TMPDIR,
    TERM: 'xterm-256color',
    NO_COLOR: '1',
    LANG: 'C.UTF-8',
    TZ: 'UTC',
  };
  const start = (args: readonly string[]) => spawn(process.execPath, [REEF, ...args], { cwd, env, stdio: 'pipe' });
  return {
    root,
    cwd,
    config,
    env,
    start,
    write(path, text) {
      const file = join(root, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      if (path.endsWith('.sh')) chmodSync(file, 0o755);
      return file;
    },
    async reef(args, { input = '' } = {}) {
      const child = start(args);
      const out = { stdout: '', stderr: '' };
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        out.stdout += text;
      });
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        out.stderr += text;
      });
      child.stdin?.end(input);
      const [code] = await once(child, 'close');
      const here = (text: string) => text.replaceAll(root, '<root>');
      return { stdout: here(out.stdout), stderr: here(out.stderr), code };
    },
  };
}
