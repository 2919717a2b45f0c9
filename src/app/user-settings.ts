import { unwatchFile, watchFile } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Environment } from '../base/env.ts';
import type { Logger } from '../base/log.ts';
import { createRedactor, redactDeep } from '../base/redact.ts';
import type { ReefBlock } from '../runtime/config/reef-block.ts';
import { readConfig, secretsOf } from '../runtime/config/user-config.ts';
import { createPaths } from '../runtime/paths.ts';

const LOOK_MS = 1_000;

/** The user's configuration while the daemon runs: whoever changes the file needs no restart. */
export class UserSettings {
  readonly #env: Environment;
  readonly #file: string;
  readonly #secrets = new Set<string>();
  #redactText = createRedactor([]);
  #last: ReefBlock;

  constructor(env: Environment) {
    this.#env = env;
    this.#file = createPaths(env.all, env.home).configFile();
    this.#last = this.read();
  }

  /** As the file says now; throws what is wrong in it. An old secret stays hidden, because a job may still have it. */
  readonly read = (): ReefBlock => {
    const settings = readConfig(this.#env);
    const news = secretsOf(this.#env, settings).filter((secret) => !this.#secrets.has(secret));
    for (const secret of news) this.#secrets.add(secret);
    if (news.length > 0) this.#redactText = createRedactor([...this.#secrets]);
    this.#last = settings;
    return settings;
  };

  /** As the file was when it last held no mistake: for what must go on while somebody edits it. */
  readonly last = (): ReefBlock => this.#last;

  readonly redact = <T>(value: T): T => redactDeep(this.#redactText, value);

  readonly secrets = (): string[] => [...this.#secrets];

  /** Calls `changed` when the file says something else. The result ends the watch. */
  readonly watch = (log: Logger, changed: () => void): (() => void) => {
    let seen = this.#last;
    const look = () => {
      try {
        const now = this.read();
        if (isDeepStrictEqual(seen, now)) return;
        seen = now;
        changed();
      } catch (error) {
        log.warn('the configuration has a mistake; what it said before holds on', { error });
      }
    };
    watchFile(this.#file, { interval: LOOK_MS, persistent: false }, look);
    return () => unwatchFile(this.#file, look);
  };
}
