import { systemClock } from '../../../base/clock.ts';
import { printable } from '../../../base/printable.ts';
import type { HaltVerb } from '../../../protocol/workflow.ts';
import type { Client } from '../../client/client.ts';
import { errorBody } from '../../client/request.ts';
import { createStyle, type Style } from '../../render/style.ts';
import { answer, answerTyped, answerWhole, control, end, merge, talk } from './acts.ts';
import { boardOf, type Item, type Look, type QuestionItem, type TaskItem } from './board.ts';
import { diffPage, helpPage, jobPage, questionPage, runPage, type Source } from './pages.ts';
import { drawScreen, isWhole, type Page, type Size, type View } from './screen.ts';

export interface Watched {
  name: string;
  client: Client;
}

interface TopDeps {
  /** Asked at every look: a daemon that was started meanwhile appears. */
  watched(): Promise<readonly Watched[]>;
  size(): Size;
  hasColour: boolean;
  draw(lines: string[]): void;
  bell(): void;
}

/** A decision is taken only of what has been on the screen for so long. */
const INERT_MS = 500;
/** After that the last line lists the keys again. */
const MESSAGE_MS = 6_000;

interface Open extends Page {
  source: Source;
  /** Of the question that it shows. */
  question?: QuestionItem;
}

interface Prompt {
  label: string;
  text: string;
  isSecret: boolean;
  take(text: string): Promise<string>;
}

/** The overview: what is shown, and what each key does. */
export class Top {
  readonly #deps: TopDeps;
  #watched: readonly Watched[] = [];
  #items: readonly Item[] = [];
  #selected = 0;
  #shownSince = 0;
  #page: Open | undefined;
  #prompt: Prompt | undefined;
  #message = '';
  #saidAt = 0;
  #isFirst = true;
  readonly #left = Promise.withResolvers<void>();

  constructor(deps: TopDeps) {
    this.#deps = deps;
  }

  /** Resolves when the person leaves. */
  get left(): Promise<void> {
    return this.#left.promise;
  }

  async look(): Promise<void> {
    this.#watched = await this.#deps.watched();
    const looks = await Promise.all(this.#watched.map(lookAt));
    this.#show(boardOf(looks.flatMap((look) => look ?? [])));
    await this.#readPage();
    if (systemClock.monotonicMs() - this.#saidAt > MESSAGE_MS) this.#message = '';
    this.draw();
  }

  draw(): void {
    this.#deps.draw(drawScreen(this.#view(), this.#deps.size(), this.#style()));
  }

  key(key: string): void {
    if (key === 'interrupt') this.#left.resolve();
    else if (this.#prompt) this.#typed(this.#prompt, key);
    else {
      this.#message = '';
      if (this.#page) this.#pageKey(this.#page, key);
      else this.#listKey(key);
    }
    this.draw();
  }

  #say(message: string): void {
    this.#message = message;
    this.#saidAt = systemClock.monotonicMs();
  }

  #view(): View {
    const repositories = this.#watched.map(({ name }) => name);
    return {
      items: this.#items,
      selected: this.#selected,
      repositories,
      page: this.#page,
      prompt: this.#prompt,
      message: this.#message,
    };
  }

  #style(): Style {
    return createStyle({ colour: this.#deps.hasColour, width: this.#deps.size().width, now: new Date() });
  }

  /** The selection stays on its task, wherever that has moved to. */
  #show(items: readonly Item[]): void {
    const before = this.#items[this.#selected];
    const known = new Set(this.#items.map(({ key }) => key));
    const isNew = items.some((item) => item.group === 'asks' && !known.has(item.key));
    if (isNew && !this.#isFirst) this.#deps.bell();
    this.#isFirst = false;
    this.#items = items;
    const at = items.findIndex(({ key }) => key === before?.key);
    this.#select(at >= 0 ? at : Math.min(this.#selected, items.length - 1));
    if (items[this.#selected]?.key !== before?.key) this.#shownSince = systemClock.monotonicMs();
  }

  #select(index: number): void {
    this.#selected = Math.max(0, Math.min(index, this.#items.length - 1));
  }

  #listKey(key: string): void {
    const item = this.#items[this.#selected];
    const moves: Record<string, number> = { j: 1, down: 1, k: -1, up: -1, 'page down': 10, 'page up': -10 };
    const step = moves[key] ?? (key === 'g' || key === 'home' ? -this.#items.length : undefined);
    if (key === 'q') this.#left.resolve();
    else if (key === '?') this.#openPage(helpPage());
    else if (step !== undefined || key === 'G' || key === 'end') {
      this.#select(step === undefined ? this.#items.length : this.#selected + step);
      this.#shownSince = systemClock.monotonicMs();
    } else if (item?.kind === 'question') this.#questionKey(item, key, isWhole(this.#view(), this.#deps.size()));
    else if (item) this.#taskKey(item, key);
  }

  #questionKey(item: QuestionItem, key: string, isSeen: boolean): void {
    const { question } = item;
    const client = this.#clientOf(item);
    if (!client) return;
    if (key === 'enter') this.#openPage(questionPage(client, question, this.#style()), item);
    else if (question.runId === question.jobId) this.#haltKey(item, client, key);
    else if (key === 't') this.#ask(labelOf(item), question.secret, (text) => answerTyped(client, question, text));
    else if (/^[1-9]$/.test(key) && question.kind !== 'permission') this.#act(answerTyped(client, question, key));
    else if (question.kind === 'permission' && /^[ysn]$/.test(key)) this.#decide(item, client, key, isSeen);
  }

  #decide(item: QuestionItem, client: Client, key: string, isSeen: boolean): void {
    const { question } = item;
    if (systemClock.monotonicMs() - this.#shownSince < INERT_MS) this.#say('It has just appeared: read it first.');
    else if (key === 'n') this.#act(answer(client, question, { decision: 'deny' }));
    else if (!isSeen && !this.#page) {
      this.#openPage(questionPage(client, question, this.#style()), item);
      this.#say('Read to its end, then y allows it.');
    } else if (!isSeen) this.#say('There is more of it: G goes to its end.');
    else this.#act(answerWhole(client, question, { decision: key === 'y' ? 'allow_once' : 'allow_session' }));
  }

  #haltKey({ question }: QuestionItem, client: Client, key: string): void {
    const verbs = (question.options ?? []) as HaltVerb[];
    const verb = verbs[Number(key) - 1];
    if (!verb) {
      this.#say(verbs.map((each, index) => `${index + 1} ${each}`).join(' · '));
      return;
    }
    const label = `${verb}: what should it know? (Enter: nothing)`;
    this.#ask(label, false, (text) => control(client, question.jobId, verb, text));
  }

  #taskKey(item: TaskItem, key: string): void {
    const client = this.#clientOf(item);
    if (!client) return;
    const { id, task } = item;
    const style = this.#style();
    const short = printable(task).slice(0, 40);
    if (key === 'enter') this.#openPage(item.run ? runPage(client, id, style) : jobPage(client, id, style));
    else if (key === 'd') this.#openPage(diffPage(client, id, style));
    else if (key === 'a')
      this.#confirm(`Merge "${short}"?`, 'merging, with the gates that are missing …', () => merge(client, id));
    else if (key === 'x') this.#confirm(`End "${short}" and all it started?`, 'ending …', () => end(client, id));
    else if (key === 't') this.#ask('to the agent:', false, (text) => talk(client, item, text));
  }

  #pageKey(page: Open, key: string): void {
    const height = this.#deps.size().height - 2;
    const last = Math.max(0, page.lines.length - height);
    const moves: Record<string, number> = {
      ...{ j: 1, down: 1, enter: 1, k: -1, up: -1, ' ': height - 1, 'page down': height - 1, 'page up': 1 - height },
      ...{ g: -page.lines.length, home: -page.lines.length, G: page.lines.length, end: page.lines.length },
    };
    const step = moves[key];
    if (key === 'q' || key === 'escape') this.#page = undefined;
    else if (step !== undefined) page.top = Math.max(0, Math.min(last, page.top + step));
    else if (page.question) this.#questionKey(page.question, key, page.lines.length > 0 && page.top >= last);
  }

  #typed(prompt: Prompt, key: string): void {
    if (key === 'escape') this.#prompt = undefined;
    else if (key === 'enter') {
      this.#prompt = undefined;
      this.#act(prompt.take(prompt.text));
    } else if (key === 'backspace') prompt.text = [...prompt.text].slice(0, -1).join('');
    else if (key === 'clear') prompt.text = '';
    else if ([...key].length === 1 && key >= ' ') prompt.text += key;
  }

  #ask(label: string, isSecret: boolean, take: Prompt['take']): void {
    this.#prompt = { label, text: '', isSecret, take };
  }

  #confirm(question: string, meanwhile: string, work: () => Promise<string>): void {
    this.#ask(`${question} y/N`, false, (text) => {
      if (!/^y(es)?$/i.test(text.trim())) return Promise.resolve('Nothing was done.');
      this.#say(meanwhile);
      this.#saidAt = Number.POSITIVE_INFINITY; // until it is done
      return work();
    });
  }

  /** What comes of it is said in the last line; a refusal as well, with what to do. */
  #act(work: Promise<string>): void {
    work
      .then(
        (words) => words,
        (error: unknown) => {
          const { message, hint } = errorBody(error).error;
          return `${message} ${hint}`;
        },
      )
      .then(async (words) => {
        if (this.#page?.question) this.#page = undefined;
        await this.look();
        this.#say(printable(words));
        this.draw();
      })
      .catch(() => this.#left.resolve());
  }

  #openPage(source: Source, question?: QuestionItem): void {
    this.#page = { title: source.title, lines: [], top: 0, source, ...(question && { question }) };
    this.#shownSince = systemClock.monotonicMs();
    this.#readPage()
      .then(() => this.draw())
      .catch(() => this.#left.resolve());
  }

  async #readPage(): Promise<void> {
    const page = this.#page;
    if (!page) return;
    const height = this.#deps.size().height - 2;
    const wasAtEnd = page.top >= page.lines.length - height;
    const lines = await page.source.read().catch((error: unknown) => {
      const { message, hint } = errorBody(error).error;
      return [printable(message), printable(hint)];
    });
    page.lines = [...(lines ?? page.lines)];
    if (page.source.isTail && wasAtEnd) page.top = Math.max(0, page.lines.length - height);
  }

  #clientOf({ repository }: Item): Client | undefined {
    return this.#watched.find(({ name }) => name === repository)?.client;
  }
}

function labelOf({ question }: QuestionItem): string {
  return question.kind === 'permission' ? 'No, because:' : 'answer:';
}

/** Undefined while the daemon does not answer: it is shown again as soon as it does. */
async function lookAt({ name, client }: Watched): Promise<Look | undefined> {
  try {
    const [{ jobs }, { runs }, { questions }] = await Promise.all([
      client.call('status', {}),
      client.call('runs', {}),
      client.call('inbox', {}),
    ]);
    return { repository: name, jobs, runs, questions };
  } catch {
    return undefined;
  }
}
