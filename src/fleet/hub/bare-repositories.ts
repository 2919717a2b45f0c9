import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunResult, RunSpec } from '../../base/programs.ts';
import { ReefError } from '../../protocol/errors.ts';

const HOOK = fileURLToPath(new URL('pre-receive.sh', import.meta.url));
const CLONE_MS = 30 * 60_000;

const SETTINGS: readonly (readonly [key: string, value: string])[] = [
  ['http.receivepack', 'true'],
  ['receive.advertisePushOptions', 'true'],
  ['receive.fsckObjects', 'true'],
  ['receive.autogc', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['core.hooksPath', 'hooks'],
  // Work in progress is for hosts that name it, and for nobody who clones.
  ['uploadpack.allowAnySHA1InWant', 'true'],
];

function isRepositoryName(name: string): boolean {
  return /^[a-z0-9][a-z0-9._-]{0,63}$/.test(name) && !name.endsWith('.git') && !name.includes('..');
}

interface Deps {
  /** Where they lie. */
  folder: string;
  run(spec: RunSpec): Promise<RunResult>;
  env: Readonly<Record<string, string>>;
}

/** The hub's own repositories. Hosts meet here; the forge is only ever fetched from. */
export class BareRepositories {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  path(name: string): string {
    if (!isRepositoryName(name)) throw new ReefError('name_invalid', `${name.slice(0, 80)} is no name of a repository`);
    return join(this.#deps.folder, `${name}.git`);
  }

  has(name: string): boolean {
    return isRepositoryName(name) && existsSync(join(this.path(name), 'HEAD'));
  }

  /** From an address that git of this machine reaches with the log-in of whoever runs it, or from a bundle file. */
  async add(name: string, source: string): Promise<{ defaultBranch: string }> {
    const path = this.path(name);
    if (existsSync(path)) throw new ReefError('name_taken', `There is a repository ${name} already`);
    if (source.startsWith('-')) throw new ReefError('bad_request', `${source} is not the address of a repository`);
    await mkdir(this.#deps.folder, { recursive: true, mode: 0o700 });
    const making = `${path}.making-${process.pid}`;
    try {
      await this.#git(['clone', '--quiet', '--bare', '--no-hardlinks', '--template=', '--', source, making]);
      for (const [key, value] of SETTINGS) await this.#git(['-C', making, 'config', key, value]);
      await mkdir(join(making, 'hooks'), { recursive: true });
      await copyFile(HOOK, join(making, 'hooks', 'pre-receive'));
      await chmod(join(making, 'hooks', 'pre-receive'), 0o755);
      const head = await this.#git(['-C', making, 'symbolic-ref', '--short', 'HEAD']);
      await rename(making, path);
      return { defaultBranch: head.trim() };
    } finally {
      await rm(making, { recursive: true, force: true });
    }
  }

  async #git(args: readonly string[]): Promise<string> {
    const { run, env } = this.#deps;
    const result = await run({
      file: 'git',
      args,
      cwd: '/',
      env: { ...env, GIT_TERMINAL_PROMPT: '0' },
      timeoutMs: CLONE_MS,
    });
    if (result.code === 0) return result.stdout.toString('utf8');
    throw new ReefError('git_failed', `git ${args[0]}: ${result.stderr.toString('utf8').trim().slice(-2_000)}`);
  }
}
