import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeAtomic } from '../../base/atomic-file.ts';
import { systemClock } from '../../base/clock.ts';
import type { Environment } from '../../base/env.ts';
import type { Home } from '../../base/home.ts';
import type { Logger } from '../../base/log.ts';
import { Limiter } from '../../base/serial.ts';
import type { DoorInfo } from '../../protocol/daemon.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Door, DoorOptions } from '../../surfaces/http/door/door.ts';
import { type DoorRecord, NO_DOOR, parseDoorAsk, parseDoorFile } from '../../surfaces/http/door/door-file.ts';
import { DoorTokens } from '../../surfaces/http/door/door-tokens.ts';

interface Deps extends Pick<DoorOptions, 'core' | 'audit' | 'by' | 'info' | 'news' | 'figures'> {
  home: Home;
  env: Environment;
  log: Logger;
}

type Place = Pick<DoorRecord, 'host' | 'port' | 'origin'>;
type Wanted = { [K in keyof Place]?: Place[K] | undefined };

/** The door over TCP of a home. Opened once by a person, it is open whenever the daemon runs, until somebody closes it. */
export class DoorKeeper {
  readonly #deps: Deps;
  readonly #turns = new Limiter();
  readonly #writes = new Limiter();
  readonly #tokens: DoorTokens;
  #record: DoorRecord;
  #door: Door | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#record = this.#read();
    this.#tokens = new DoorTokens({
      file: deps.home.token,
      pages: this.#record.pages,
      clock: systemClock,
      save: (pages) => this.#save({ pages: [...pages] }),
    });
  }

  get address(): string | undefined {
    return this.#door?.address;
  }

  /** At the start of the daemon. A door that cannot be opened keeps nobody from working. */
  async reopen(): Promise<void> {
    const { log } = this.#deps;
    await this.#turns
      .run(async () => {
        // A command may have been quicker.
        if (this.#record.isOpen && !this.#door) await this.#open(this.#record, { isPortNamed: false });
      })
      .catch((error: unknown) => log.warn('the door over TCP cannot be opened', { error }));
  }

  /** What a person asked for, over the socket of the home. */
  ask(asked: unknown): Promise<DoorInfo> {
    const ask = parseDoorAsk(asked);
    return this.#turns.run(async () => {
      switch (ask.do) {
        case 'open':
          await this.#change({ port: ask.port, host: ask.host, origin: ask.origin });
          break;
        case 'login':
          await this.#change({});
          return { ...this.#info(), code: this.#tokens.newCode() };
        case 'rotate':
          await this.#tokens.rotate();
          break;
        case 'close':
          await this.#shut();
          await this.#save({ isOpen: false, host: NO_DOOR.host, origin: undefined });
          break;
        case 'look':
          break;
      }
      return this.#info();
    });
  }

  /** At the end of the daemon: the next one opens it again. */
  close(): Promise<void> {
    return this.#turns.run(() => this.#shut());
  }

  /** Opens the door, or another one in its place if it is to be elsewhere. */
  async #change(wanted: Wanted): Promise<void> {
    const before = this.#record;
    const next = {
      port: wanted.port ?? before.port,
      host: wanted.host ?? before.host,
      origin: wanted.origin ?? before.origin,
    };
    const isSame = next.port === before.port && next.host === before.host && next.origin === before.origin;
    if (this.#door && isSame) return;
    const wasOpen = this.#door !== undefined;
    await this.#shut();
    try {
      await this.#open(next, { isPortNamed: wanted.port !== undefined });
    } catch (error) {
      if (wasOpen) await this.#open(before, { isPortNamed: false });
      throw error;
    }
  }

  async #open(place: Place, how: { isPortNamed: boolean }): Promise<void> {
    const door = await this.#listen(place, how);
    this.#door = door;
    // A page token is good for one port: whoever has the old one now could ask us for its proof.
    if (this.#record.port !== undefined && this.#record.port !== door.port) await this.#tokens.voidPages();
    const { host, origin } = place;
    await this.#save({ isOpen: true, host, origin, port: door.port });
    this.#deps.log.info('the door over TCP is open', { address: door.address, origin });
  }

  async #listen({ host, port = 0, origin }: Place, { isPortNamed }: { isPortNamed: boolean }): Promise<Door> {
    // Loaded here: a daemon without a door does not pay for its packages.
    const { openDoor } = await import('../../surfaces/http/door/door.ts');
    const mcp = async () => {
      const { mcpOverHttp, reefServers } = await import('../../surfaces/mcp/over-http.ts');
      return mcpOverHttp(reefServers(this.#deps, this.#deps.info().folder));
    };
    const { EngineProcesses } = await import('../../surfaces/completion/engine-processes.ts');
    const { home, env, info } = this.#deps;
    const cwd = info().folder;
    const completions = new EngineProcesses({ cwd, env: env.all, records: join(home.dir, 'sessions') });
    const place = { ...this.#deps, tokens: this.#tokens, host, origin, mcp, completions };
    try {
      return await openDoor({ ...place, port });
    } catch (error) {
      const isTaken = error instanceof ReefError && error.code === 'port_in_use';
      if (!isTaken || isPortNamed || port === 0) throw error;
      this.#deps.log.warn('the port of the door is taken: another one is used, and pages have to log in again', {
        port,
      });
      return openDoor({ ...place, port: 0 });
    }
  }

  async #shut(): Promise<void> {
    await this.#door?.close();
    this.#door = undefined;
  }

  #info(): DoorInfo {
    const { origin } = this.#record;
    const open = this.#door && { address: this.#door.address, ...(origin !== undefined && { origin }) };
    return { isOpen: this.#door !== undefined, ...open, tokenFile: this.#deps.home.token };
  }

  #read(): DoorRecord {
    const { home, log } = this.#deps;
    if (!existsSync(home.door)) return NO_DOOR;
    try {
      return parseDoorFile(readFileSync(home.door, 'utf8'));
    } catch (error) {
      log.warn('the record of the door cannot be read: it stays closed', { error });
      return NO_DOOR;
    }
  }

  #save(change: Partial<DoorRecord>): Promise<void> {
    this.#record = { ...this.#record, ...change };
    return this.#writes.run(() => writeAtomic(this.#deps.home.door, `${JSON.stringify(this.#record)}\n`));
  }
}
