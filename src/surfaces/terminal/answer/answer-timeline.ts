import { printable } from '../../../base/printable.ts';
import { AnswerText } from '../../render/answer/answer-text.ts';
import type { AnswerLook } from '../../render/answer/theme.ts';
import { Payload } from '../../render/payload.ts';
import { GUTTER, isContinued, type LoggedEvent, renderEvent } from '../../render/timeline.ts';
import type { Cli } from '../cli.ts';
import { answerLook } from './answer-look.ts';

export interface Timeline {
  /** The lines that are complete with this event. */
  lines(event: LoggedEvent, previous: LoggedEvent | undefined): Promise<string[]>;
  /** Nothing else comes for now: what is incomplete is shown as far as it goes. */
  rest(): Promise<string[]>;
}

/** The events of a job with what its agent says rendered. Undefined where they are printed as they were written. */
export async function openAnswerTimeline(cli: Cli): Promise<Timeline | undefined> {
  const { env, cwd } = cli;
  const { loadConfig } = await import('../../../runtime/config/load.ts');
  try {
    const loaded = loadConfig({ env: env.all, home: env.home, cwd });
    return loaded.config.highlight ? new AnswerTimeline(cli, await answerLook(cli, loaded)) : undefined;
  } catch {
    // A mistake in the configuration is told by commands that need it.
    return undefined;
  }
}

class AnswerTimeline implements Timeline {
  readonly #cli: Cli;
  readonly #look: AnswerLook;
  #text: AnswerText | undefined;
  /** The last line said, which has not ended yet. */
  #line = '';
  /** What stands before the first line of an event. */
  #head = '';
  #indent = '';

  constructor(cli: Cli, look: AnswerLook) {
    this.#cli = cli;
    this.#look = look;
  }

  async lines(event: LoggedEvent, previous: LoggedEvent | undefined): Promise<string[]> {
    const payload = new Payload(event.payload);
    if (event.type === 'progress' && payload.text('kind') === 'text') return this.#said(event, previous);
    const before = await this.#end();
    const isOver = event.type === 'completed' && payload.text('scope') !== 'turn';
    const result = isOver ? payload.text('result').trim() : '';
    if (result === '') return [...before, renderEvent(event, previous, this.#cli.style)];
    const bare = { ...event, payload: { ...event.payload, result: '' } } as LoggedEvent;
    this.#begin(GUTTER, '');
    const shown = [...(await this.#take(result)), ...(await this.#end())];
    return [...before, renderEvent(bare, previous, this.#cli.style), ...shown];
  }

  async rest(): Promise<string[]> {
    const begun = this.#line;
    this.#line = '';
    return this.#placed((await this.#text?.cut(begun)) ?? []);
  }

  async #said(event: LoggedEvent, previous: LoggedEvent | undefined): Promise<string[]> {
    const payload = new Payload(event.payload);
    const isNext = this.#text !== undefined && isContinued(event, previous);
    const before = isNext ? [] : await this.#end();
    if (!isNext) {
      const { style } = this.#cli;
      const clock = `${style.paint('dim', style.clock(new Date(event.timestamp)))}   `;
      this.#begin(isContinued(event, previous) ? GUTTER : clock, payload.text('parent') ? '  ' : '');
    }
    return [...before, ...(await this.#take(payload.text('text')))];
  }

  #begin(head: string, indent: string): void {
    this.#head = head;
    this.#indent = indent;
    this.#line = '';
    this.#text = new AnswerText(this.#look, () => this.#cli.style.width - GUTTER.length - indent.length);
  }

  async #take(text: string): Promise<string[]> {
    const lines = (this.#line + printable(text)).split('\n');
    this.#line = lines.pop() ?? '';
    const shown: string[] = [];
    for (const line of lines) shown.push(...((await this.#text?.line(line)) ?? []));
    return this.#placed(shown);
  }

  async #end(): Promise<string[]> {
    const text = this.#text;
    if (!text) return [];
    const shown = [...(this.#line === '' ? [] : await text.line(this.#line)), ...(await text.end())];
    this.#line = '';
    this.#text = undefined;
    return this.#placed(shown);
  }

  #placed(lines: readonly string[]): string[] {
    return lines.map((line) => {
      const head = this.#head === '' ? GUTTER : this.#head;
      this.#head = '';
      return (head + this.#indent + line).trimEnd();
    });
  }
}
