import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { z } from 'zod';

const base64 = z.base64();
export const sealedSchema = z.strictObject({ iv: base64, tag: base64, data: base64 });
type Sealed = z.infer<typeof sealedSchema>;

export const kdfSchema = z.strictObject({
  name: z.literal('scrypt'),
  /** Bounded: a file that asks for terabytes is an attack. */
  N: z
    .number()
    .int()
    .min(2 ** 14)
    .max(2 ** 20),
  r: z.number().int().min(1).max(32),
  p: z.number().int().min(1).max(4),
  salt: base64,
});
type Kdf = z.infer<typeof kdfSchema>;

export const newKdf = (): Kdf => ({ name: 'scrypt', N: 2 ** 17, r: 8, p: 1, salt: randomBytes(16).toString('base64') });

export function deriveKey(password: string, { N, r, p, salt }: Kdf): Promise<Buffer> {
  // scrypt takes 128·N·r bytes, 128 MiB here; Node refuses more than 32 unless told.
  const maxmem = 128 * N * r * p + 32 * 1024 * 1024;
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), Buffer.from(salt, 'base64'), 32, { N, r, p, maxmem }, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
}

/** The name is sealed with the value: a value moved to another name does not open. */
export function seal(key: Buffer, name: string, value: string): Sealed {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(name));
  const data = Buffer.concat([cipher.update(value, 'utf8'), cipher.final()]).toString('base64');
  return { iv: iv.toString('base64'), tag: cipher.getAuthTag().toString('base64'), data };
}

/** Throws if the key or the name is not the one it was sealed with. */
export function unseal(key: Buffer, name: string, { iv, tag, data }: Sealed): string {
  const bytes = (text: string) => Buffer.from(text, 'base64');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes(iv), { authTagLength: 16 });
  decipher.setAAD(Buffer.from(name)).setAuthTag(bytes(tag));
  return decipher.update(data, 'base64', 'utf8') + decipher.final('utf8');
}
