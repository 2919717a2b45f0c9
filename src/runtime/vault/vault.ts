import { z } from 'zod';
import { onFirstUse } from '../../base/lazily.ts';
import { Limiter } from '../../base/serial.ts';
import { ReefError } from '../../protocol/errors.ts';
import { fillLeaves, placeholdersIn } from '../config/placeholders.ts';
import { readBy, writeSettings } from '../config/settings-file.ts';
import { deriveKey, kdfSchema, newKdf, seal, sealedSchema, unseal } from './cipher.ts';

const NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/;
/** No secret can have this name. A value sealed under it tells whether a password is right. */
const CHECK = '';

const fileSchema = onFirstUse(() =>
  z.strictObject({
    version: z.literal(1),
    kdf: kdfSchema,
    check: sealedSchema,
    secrets: z.record(z.string(), sealedSchema),
  }),
);
type VaultFile = z.infer<ReturnType<typeof fileSchema>>;

interface VaultOptions {
  path: string;
  /** A new vault gets the password that is given. */
  password: (isNew: boolean) => Promise<string>;
  /** Receives every value before it leaves the vault, so that it can be redacted. */
  onReveal?: (value: string) => void;
}

/** Secrets by name. The password is asked for when a value is first needed. */
export class Vault {
  readonly #options: VaultOptions;
  /** Kept, because deriving it costs 128 MiB and half a second. */
  #key: { salt: string; key: Promise<Buffer> } | undefined;
  readonly #writes = new Limiter();

  constructor(options: VaultOptions) {
    this.#options = options;
  }

  /** Names need no password. */
  async list(): Promise<string[]> {
    return Object.keys(this.#read()?.secrets ?? {}).sort();
  }

  async get(name: string): Promise<string> {
    const file = this.#read();
    const sealed = file && Object.hasOwn(file.secrets, name) ? file.secrets[name] : undefined;
    if (!file || !sealed) throw missing(name);
    const value = this.#open(await this.#unlock(file), name, sealed);
    this.#options.onReveal?.(value);
    return value;
  }

  async add(name: string, value: string): Promise<void> {
    if (!NAME.test(name))
      throw new ReefError(
        'name_invalid',
        `${JSON.stringify(name)} cannot be the name of a secret: use letters, digits, _ . and -`,
      );
    return this.#change(name, (file, key) => {
      if (Object.hasOwn(file.secrets, name))
        throw new ReefError('secret_exists', `there is a secret ${name} already: use update to change it`);
      file.secrets[name] = seal(key, name, value);
    });
  }

  update(name: string, value: string): Promise<void> {
    return this.#change(name, (file, key) => {
      if (!Object.hasOwn(file.secrets, name)) throw missing(name);
      file.secrets[name] = seal(key, name, value);
    });
  }

  delete(name: string): Promise<void> {
    return this.#change(name, (file) => {
      if (!Object.hasOwn(file.secrets, name)) throw missing(name);
      delete file.secrets[name];
    });
  }

  /** A copy of the data with every `{{NAME}}` in its strings filled in. All missing secrets are one error. */
  async fill<T>(value: T, where: string): Promise<T> {
    const wanted = placeholdersIn(value);
    if (wanted.length === 0) return value;
    const known = new Set(await this.list());
    const unknown = wanted.filter(({ name }) => !known.has(name));
    if (unknown.length > 0) {
      const list = unknown.map(({ name, path }) => `${name} (${[where, ...path].join('.')})`);
      throw new ReefError('secret_missing', `secrets are missing: ${list.join(', ')}`, {
        details: { missing: unknown },
      });
    }
    const values = new Map<string, string>();
    for (const name of new Set(wanted.map((each) => each.name))) values.set(name, await this.get(name));
    return fillLeaves(value, values);
  }

  /** The file is written only after the password has opened it: a wrong one leaves it untouched. */
  async #change(name: string, change: (file: VaultFile, key: Buffer) => void): Promise<void> {
    try {
      await this.#writes.run(async () => {
        const file = this.#read() ?? (await this.#create());
        change(file, await this.#unlock(file));
        await writeSettings(this.#options.path, `${JSON.stringify(file, null, 2)}\n`);
      });
    } catch (error) {
      if (error instanceof ReefError) throw error;
      throw new ReefError('vault_invalid', `${name} could not be stored`, { cause: error });
    }
  }

  async #create(): Promise<VaultFile> {
    const kdf = newKdf();
    const key = deriveKey(await this.#options.password(true), kdf);
    this.#key = { salt: kdf.salt, key };
    return { version: 1, kdf, check: seal(await key, CHECK, 'reef'), secrets: {} };
  }

  async #unlock(file: VaultFile): Promise<Buffer> {
    if (this.#key?.salt !== file.kdf.salt) {
      const given = this.#options.password(false);
      this.#key = { salt: file.kdf.salt, key: given.then((password) => deriveKey(password, file.kdf)) };
    }
    const mine = this.#key;
    try {
      const key = await mine.key;
      this.#open(key, CHECK, file.check);
      return key;
    } catch (error) {
      if (this.#key === mine) this.#key = undefined; // the next call asks again
      throw error;
    }
  }

  #open(key: Buffer, name: string, sealed: z.infer<typeof sealedSchema>): string {
    try {
      return unseal(key, name, sealed);
    } catch (error) {
      if (name === CHECK) throw new ReefError('vault_locked', 'the password of the vault is wrong', { cause: error });
      throw new ReefError('vault_invalid', `the secret ${name} was changed outside the vault`, { cause: error });
    }
  }

  #read(): VaultFile | undefined {
    return readBy(this.#options.path, fileSchema(), { code: 'vault_invalid' });
  }
}

function missing(name: string): ReefError {
  return new ReefError('secret_missing', `there is no secret ${name}`);
}
