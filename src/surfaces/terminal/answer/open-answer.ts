import { readFile } from 'node:fs/promises';
import { type AnswerSink, plainAnswer } from '../../../runtime/engine/emitter.ts';
import type { RequestContext } from '../../../runtime/state/request-context.ts';
import { settingsOf } from '../../../runtime/state/resolve.ts';
import type { Theme } from '../../render/answer/theme.ts';
import type { Cli } from '../cli.ts';
import type { AnswerScreen } from './answer-view.ts';

/** Where answers are shown in this context: rendered at a terminal with colours, as they were written everywhere else. */
export async function openAnswer(cli: Cli, ctx: RequestContext, screen: AnswerScreen): Promise<AnswerSink> {
  const isRendered = cli.host.stdout.isTTY === true && !cli.env.noColor && settingsOf(ctx).highlight;
  if (!isRendered) return plainAnswer((text) => screen.write(text));
  const { wrap, wrap_code: wrapCode } = ctx.app.config;
  const [{ AnswerView }, theme] = await Promise.all([import('./answer-view.ts'), openTheme(cli, ctx)]);
  const columns = wrap === null || wrap === 'no' ? 'no' : wrap === 'auto' ? wrap : Number(wrap);
  return new AnswerView({ theme, wrap: columns, wrapCode }, screen);
}

/** The terminal of a command that is no chat. */
export function outputScreen({ host }: Cli): AnswerScreen {
  return {
    write: (text) => void host.stdout.write(text),
    // The property `columns` is only as new as the last signal.
    size() {
      const [columns, rows] = host.stdout.getWindowSize?.() ?? [];
      return columns && rows ? { columns, rows } : undefined;
    },
  };
}

/** A file `NAME.tmTheme` in the folder of the configuration is the theme of that name, also of `light` and `dark`. */
async function openTheme(cli: Cli, { app }: RequestContext): Promise<Theme> {
  const { theme: name } = app.config;
  const { DARK, LIGHT, themeOfTerminal } = await import('../../render/answer/theme.ts');
  const { COLORFGBG, COLORTERM } = cli.env.all;
  if (name === null) return themeOfTerminal(COLORFGBG);
  const file = app.paths.themeFile(name);
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
