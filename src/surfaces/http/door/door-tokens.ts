import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { keyFile, newKey } from '../credential.ts';

/** What is kept of a page token: whoever reads it cannot log in with it. */
export interface PageToken {
  id: string;
  hash: string;
  expiresAt: string;
}

/** Whom a token let in. */
export interface Access {
  /** `script` for the token of the file. */
  id: string;
  expiresAt?: string;
  /** Aborted when the token is taken back. */
  revoked: AbortSignal;
  /** The person, where there are several: otherwise whoever owns the home. */
  by?: string;
}

/** Who may come in. */
export interface Admission<A extends Access = Access> {
  /** Nobody comes in before. */
  start(): void;
  check(given: string): A | undefined;
  login(code: string): Promise<{ token: string; tokenId: string; expiresAt: string }>;
  proof(tokenId: string, nonce: string): string;
}

interface Deps {
  /** The file with the token of scripts. */
  file: string;
  pages: readonly PageToken[];
  clock: Clock;
  save(pages: readonly PageToken[]): Promise<void>;
}

const CODE_MS = 60_000;
const PAGE_MS = 12 * 3_600_000;
/** Of more the oldest is forgotten. */
const MOST_PAGES = 64;
const MOST_CODES = 16;

/** Who may come in over TCP: a script with the token of the file, and pages that logged in with a code. */
export class DoorTokens implements Admission {
  readonly #deps: Deps;
  readonly #codes = new Map<string, number>();
  readonly #revocations = new Map<string, AbortController>();
  #pages: readonly PageToken[];
  #script: Buffer | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#pages = deps.pages;
  }

  /** Reads the token of scripts, or makes one. Nobody comes in before. */
  start(): void {
    this.#script = sha256(keyFile(this.#deps.file));
  }

  /** Takes the same time wherever the first wrong character is, and whichever token it is. */
  check(given: string): Access | undefined {
    const hash = sha256(given);
    let found: Pick<Access, 'id' | 'expiresAt'> | undefined;
    if (this.#script && timingSafeEqual(hash, this.#script)) found = { id: 'script' };
    for (const page of this.#valid()) {
      if (timingSafeEqual(hash, Buffer.from(page.hash, 'hex'))) found = { id: page.id, expiresAt: page.expiresAt };
    }
    return found && { ...found, revoked: this.#revocation(found.id).signal };
  }

  /** For the address that `reef open` opens: lets one page in, once, within a minute. */
  newCode(): string {
    const code = randomBytes(16).toString('hex');
    this.#codes.set(sha256(code).toString('hex'), this.#deps.clock.monotonicMs() + CODE_MS);
    const [oldest] = this.#codes.keys();
    if (this.#codes.size > MOST_CODES && oldest !== undefined) this.#codes.delete(oldest);
    return code;
  }

  /** The token is shown here only. It is saved before, so that it outlives the daemon from the start. */
  async login(code: string): Promise<{ token: string; tokenId: string; expiresAt: string }> {
    const key = sha256(code).toString('hex');
    const deadline = this.#codes.get(key);
    this.#codes.delete(key);
    if (deadline === undefined || deadline < this.#deps.clock.monotonicMs()) {
      throw new ReefError('login_code_used', 'This code was used already, or is older than a minute');
    }
    const token = randomBytes(32).toString('hex');
    const tokenId = randomBytes(8).toString('hex');
    const expiresAt = new Date(this.#deps.clock.now().getTime() + PAGE_MS).toISOString();
    const page = { id: tokenId, hash: sha256(token).toString('hex'), expiresAt };
    this.#pages = [...this.#valid(), page].slice(-MOST_PAGES);
    await this.#deps.save(this.#pages);
    return { token, tokenId, expiresAt };
  }

  /** Shows a page that this server knows its token, before the page sends it. */
  proof(tokenId: string, nonce: string): string {
    const page = this.#valid().find(({ id }) => id === tokenId);
    if (!page) throw new ReefError('unauthorized', 'There is no such page token, or it has expired');
    return createHmac('sha256', Buffer.from(page.hash, 'hex')).update(nonce).digest('hex');
  }

  /** Another token for scripts. Whoever came in with an old one, script or page, is out at once. */
  async rotate(): Promise<void> {
    this.#script = sha256(newKey(this.#deps.file));
    this.#codes.clear();
    this.#revocations.get('script')?.abort(revoked());
    this.#revocations.delete('script');
    await this.voidPages();
  }

  async voidPages(): Promise<void> {
    for (const { id } of this.#pages) {
      this.#revocations.get(id)?.abort(revoked());
      this.#revocations.delete(id);
    }
    this.#pages = [];
    await this.#deps.save([]);
  }

  #valid(): readonly PageToken[] {
    const now = this.#deps.clock.now().toISOString();
    return this.#pages.filter(({ expiresAt }) => expiresAt > now);
  }

  #revocation(id: string): AbortController {
    const controller = this.#revocations.get(id) ?? new AbortController();
    this.#revocations.set(id, controller);
    return controller;
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function revoked(): ReefError {
  return new ReefError('unauthorized', 'This token was revoked');
}
