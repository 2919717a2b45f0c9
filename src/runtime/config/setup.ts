import type { Level } from '../../base/log.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Paths, Variables } from '../paths.ts';
import { type AppConfig, settings, withConfig } from './app-config.ts';

const LOADERS = { pdf: 'pdftotext $1 -', docx: 'pandoc --to plain $1' };

/** What is configured wins. */
export function setupDocumentLoaders(config: AppConfig): AppConfig {
  return withConfig(config, { document_loaders: { ...LOADERS, ...config.document_loaders } });
}

export function setupUserAgent(config: AppConfig, version: string): AppConfig {
  return config.user_agent === 'auto' ? withConfig(config, { user_agent: `reef/${version}` }) : config;
}

/** `no`, `auto` or a width. */
export function setWrap(config: AppConfig, value: string): AppConfig {
  const wrap = settings.wrap.schema().safeParse(value);
  if (wrap.success) return withConfig(config, { wrap: wrap.data });
  throw new ReefError('setting_invalid', `wrap needs no, auto or a width, not ${JSON.stringify(value)}`);
}

const LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error'];

/** Where the log goes and from which level on; `REEF_LOG_LEVEL` that is none is `info`. */
export function logConfig(env: Variables, paths: Paths): { level: Level; file: string } {
  const level = LEVELS.find((each) => each === env.REEF_LOG_LEVEL?.toLowerCase());
  return { level: level ?? 'info', file: paths.logPath() };
}
