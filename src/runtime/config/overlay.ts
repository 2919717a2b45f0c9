import type { ConfigLayer } from './app-config.ts';
import type { Rule } from './reef-block.ts';
import type { ConfigWarning } from './settings-file.ts';

/** What a repository may contribute, under the name it is trusted by. */
export const OVERLAY_ITEM = '.reef/config.yaml';

interface Confined {
  layer: ConfigLayer;
  warnings: ConfigWarning[];
}

/**
 * A trusted repository's settings without what trust does not cover: where the password lies, and any permission
 * that allows. Its other rules stand beside the user's, never in their place.
 */
export function confine(overlay: ConfigLayer, user: ConfigLayer, file: string): Confined {
  const { vault_password_file, reef, ...rest } = overlay;
  const warnings: ConfigWarning[] = [];
  const refuse = (what: string) =>
    warnings.push({ file, line: undefined, message: `${what} is ignored in a repository` });
  if (vault_password_file !== undefined) refuse('vault_password_file');
  if (!reef) return { layer: rest, warnings };
  const rules: readonly Rule[] = reef.permissions ?? [];
  const stricter = rules.filter((rule) => rule.action !== 'allow');
  if (stricter.length < rules.length) refuse('reef.permissions with action allow');
  const permissions = [...(user.reef?.permissions ?? []), ...stricter];
  return { layer: { ...rest, reef: { ...reef, ...(rules.length > 0 && { permissions }) } }, warnings };
}
