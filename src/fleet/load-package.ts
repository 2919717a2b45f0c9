import { ReefError } from '../protocol/errors.ts';

/** What only a fleet needs is no dependency of the package: whoever has one machine does not install it. */
const VERSIONS = { pg: '8.23.1', '@dbos-inc/dbos-sdk': '5.3.0' } as const;

/** Loads what a fleet stands on, or says how to install it. */
export async function loadPackage<T>(name: keyof typeof VERSIONS, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (!/^(ERR_)?MODULE_NOT_FOUND$/.test(code ?? '') || !message.includes(name)) throw cause;
    const all = Object.entries(VERSIONS).map(([each, version]) => `${each}@${version}`);
    const command = `npm install --global ${all.join(' ')}`;
    throw new ReefError('package_missing', `A fleet needs ${name}, which is not installed here: ${command}`, { cause });
  }
}
