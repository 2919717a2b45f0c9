import { readFile } from 'node:fs/promises';
import type { AppConfig } from '../../../runtime/config/app-config.ts';
import type { Paths } from '../../../runtime/paths.ts';
import { AnswerText } from '../../render/answer/answer-text.ts';
import { type AnswerLook, DARK, LIGHT, type Theme, themeOfTerminal } from '../../render/answer/theme.ts';
import type { Cli } from '../cli.ts';

interface Configured {
  config: Pick<AppConfig, 'theme' | 'wrap' | 'wrap_code'>;
  paths: Paths;
}

export async function openAnswerText(cli: Cli, configured: Configured, columns: () => number): Promise<AnswerText> {
  return new AnswerText(await answerLook(cli, configured), columns);
}

export async function answerLook(cli: Cli, { config, paths }: Configured): Promise<AnswerLook> {
  const { wrap, wrap_code: wrapCode } = config;
  const width = wrap === null || wrap === 'no' ? 'no' : wrap === 'auto' ? wrap : Number(wrap);
  return { theme: await openTheme(cli, config.theme, paths), wrap: width, wrapCode };
}

/** A file `NAME.tmTheme` in the folder of the configuration is the theme of that name, also of `light` and `dark`. */
async function openTheme(cli: Cli, name: string | null, paths: Paths): Promise<Theme> {
  const { COLORFGBG, COLORTERM } = cli.env.all;
  if (name === null) return themeOfTerminal(COLORFGBG);
  const file = paths.themeFile(name);
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) {
    if (name === 'light') return LIGHT;
    if (name !== 'dark') cli.talk(`warning: theme ${name} is not known: it is light, dark or the file ${file}`);
    return DARK;
  }
  const { parseTmTheme } = await import('../../render/answer/tm-theme.ts');
  const theme = parseTmTheme(text, /^(truecolor|24bit)$/.test(COLORTERM ?? ''));
  if (!theme) cli.talk(`warning: ${file} has no colours that Reef can read; the theme is dark`);
  return theme ?? DARK;
}
