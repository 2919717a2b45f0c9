import { type AnswerSink, plainAnswer } from '../../../runtime/engine/emitter.ts';
import type { RequestContext } from '../../../runtime/state/request-context.ts';
import { settingsOf } from '../../../runtime/state/resolve.ts';
import type { Cli } from '../cli.ts';
import type { AnswerScreen } from './answer-view.ts';

/** Where answers are shown in this context: rendered at a terminal with colours, as they were written everywhere else. */
export async function openAnswer(cli: Cli, ctx: RequestContext, screen: AnswerScreen): Promise<AnswerSink> {
  const isRendered = cli.host.stdout.isTTY === true && !cli.env.noColor && settingsOf(ctx).highlight;
  if (!isRendered) return plainAnswer((text) => screen.write(text));
  const { AnswerView } = await import('./answer-view.ts');
  return new AnswerView(async (columns) => {
    const { openAnswerText } = await import('./answer-look.ts');
    return openAnswerText(cli, ctx.app, columns);
  }, screen);
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
