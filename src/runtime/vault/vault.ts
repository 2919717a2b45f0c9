import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { writeAtomic } from '../../base/atomic-file.ts';
import { onFirstUse } from '../../base/lazily.ts';
import { ReefError } from '../../protocol/errors.ts';
import { deriveKey, kdfSchema, newKdf, seal, sealedSchema, unseal } from './cipher.ts';
import { fillLeaves, placeholdersIn } from './placeholders.ts';

const NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/;
/** Sealed under a name no secret can have, so that a password is checked without a secret. */
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
  password: () => Promise<string>;
  /** Told every value that leaves the vault, before it does: redaction has to know it. */
  onReveal?: (value: string) => void;
}

/** Secrets by name. Nothing is asked and nothing read before a value is wanted. */
export class Vault {
  readonly #options: VaultOptions;
  /** One derivation a process: it costs 128 MiB and half a second. */
  #key: { salt: string; key: Promise<Buffer> } | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: VaultOptions) {
    this.#options = options;
  }

  /** Names need no password. */
  async list(): Promise<string[]> {
    return Object.keys((await this.#read())?.secrets ?? {}).sort();
  }

  async get(name: string): Promise<string> {
    const file = await this.#read();
    const sealed = file && Object.hasOwn(file.secrets, name) ? file.secrets[name] : undefined;
    if (!file || !sealed) throw new ReefError('secret_missing', `there is no secret ${name}`);
    const value = this.#open(await this.#unlock(file), name, sealed);
    this.#options.onReveal?.(value);
    return value;
  }

  async add(name: string, value: string): Promise<void> {
    if (!NAME.test(name)) throw new ReefError('name_invalid', `${JSON.stringify(name)} is no name of a secret`);
    return this.#change(name, (file, key) => {
      if (Object.hasOwn(file.secrets, name)) throw new ReefError('secret_exists', `there is a secret ${name} already`);
      file.secrets[name] = seal(key, name, value);
    });
  }

  update(name: string, value: string): Promise<void> {
    return this.#change(name, (file, key) => {
      this.#require(file, name);
      file.secrets[name] = seal(key, name, value);
    });
  }

  delete(name: string): Promise<void> {
    return this.#change(name, (file) => {
      this.#require(file, name);
      delete file.secrets[name];
    });
  }

  /**
   * A copy of parsed data with every `{{NAME}}` in its strings replaced. Missing secrets are one error that lists
   * them all with where they stand.
   */
  async fill<T>(value: T, where: string): Promise<T> {
    const wanted = placeholdersIn(value);
    if (wanted.length === 0) return value;
    const known = new Set(await this.list());
    const missing = wanted.filter(({ name }) => !known.has(name));
    if (missing.length > 0) {
      const list = missing.map(({ name, path }) => `${name} (${[where, ...path].join('.')})`);
      throw new ReefError('secret_missing', `secrets are missing: ${list.join(', ')}`, { details: { missing } });
    }
    const values = new Map<string, string>();
    for (const name of new Set(wanted.map((each) => each.name))) values.set(name, await this.get(name));
    return fillLeaves(value, values);
  }

  #require(file: VaultFile, name: string): void {
    if (!Object.hasOwn(file.secrets, name)) throw new ReefError('secret_missing', `there is no secret ${name}`);
  }

  /** The file is written only after the password has opened it: a wrong one leaves it untouched. */
  #change(name: string, change: (file: VaultFile, key: Buffer) => void): Promise<void> {
    const next = this.#writing.then(async () => {
      const { path } = this.#options;
      const file = (await this.#read()) ?? (await this.#create());
      change(file, await this.#unlock(file));
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await writeAtomic(path, `${JSON.stringify(file, null, 2)}\n`);
    });
    this.#writing = next.catch(() => {});
    return next.catch((error: unknown) => {
      if (error instanceof ReefError) throw error;
      throw new ReefError('vault_invalid', `${name} could not be stored`, { cause: error });
    });
  }

  async #create(): Promise<VaultFile> {
    const kdf = newKdf();
    const key = deriveKey(await this.#options.password(), kdf);
    this.#key = { salt: kdf.salt, key };
    return { version: 1, kdf, check: seal(await key, CHECK, 'reef'), secrets: {} };
  }

  async #unlock(file: VaultFile): Promise<Buffer> {
    if (this.#key?.salt !== file.kdf.salt) {
      this.#key = { salt: file.kdf.salt, key: this.#options.password().then((given) => deriveKey(given, file.kdf)) };
    }
    const mine = this.#key;
    try {
      const key = await mine.key;
      this.#open(key, CHECK, file.check);
      return key;
    } catch (error) {
      if (this.#key === mine) this.#key = undefined; // the next call may ask again
      throw error;
    }
  }

  #open(key: Buffer, name: string, sealed: z.infer<typeof sealedSchema>): string {
    try {
      return unseal(key, name, sealed);
    } catch (error) {
      const what =
        name === CHECK ? 'the password is not that of the vault' : `the secret ${name} was changed by others`;
      throw new ReefError(name === CHECK ? 'vault_locked' : 'vault_invalid', what, { cause: error });
    }
  }

  async #read(): Promise<VaultFile | undefined> {
    const { path } = this.#options;
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (text === undefined) return undefined;
    try {
      return fileSchema().parse(JSON.parse(text));
    } catch (error) {
      throw new ReefError('vault_invalid', `${path} is no vault`, { cause: error });
    }
  }
}
