import { join } from 'node:path';
import type { OpenDrivers } from '../../git/config-overrides.ts';
import { type TrustFile, trustHash } from '../../runtime/config/trust-file.ts';
import { PROJECT_CONFIG, readOverlay, readProjectFile } from './project-config.ts';

/** The item of `reef trust`: not what `.reef/config.yaml` names, but what git would run for it. */
export const DRIVERS = 'git drivers';

/** The drivers that a configuration turns on, with their programs. Undefined: none. */
export function shownDrivers(config: string | undefined, settings: ReadonlyMap<string, string>): string | undefined {
  const names = config === undefined ? [] : namesIn(config);
  if (names.length === 0) return undefined;
  const lines = names.flatMap((name) => {
    const own = [...settings].filter(([key]) => key.slice(0, key.lastIndexOf('.')) === name);
    return own.length === 0
      ? [`${name} is not configured in git here`]
      : own.map(([key, value]) => `${key} = ${value}`);
  });
  return `${lines.toSorted().join('\n')}\n`;
}

/** Both are trusted: that the repository names them, and what git has configured under the names. One changed byte turns them off. */
export function trustedDrivers(
  root: string,
  { trust, trustFile }: { trust: TrustFile; trustFile: string },
): OpenDrivers {
  return {
    files: [join(root, PROJECT_CONFIG), trustFile],
    async choose(settings) {
      const config = await readProjectFile(root, PROJECT_CONFIG).catch(() => undefined);
      if (config === undefined || !trust.isTrusted(root, PROJECT_CONFIG, trustHash(config))) return [];
      const shown = shownDrivers(config, settings);
      if (shown === undefined || !trust.isTrusted(root, DRIVERS, trustHash(shown))) return [];
      return namesIn(config);
    },
  };
}

/** None of a file with a mistake, which others complain about. */
function namesIn(config: string): readonly string[] {
  try {
    return readOverlay(config).git.drivers;
  } catch {
    return [];
  }
}
