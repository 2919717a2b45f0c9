import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { printable } from '../base/printable.ts';
import type { ChangeSignal } from '../events/change-signal.ts';
import { allowedEnv } from '../process/environment.ts';
import { run } from '../process/run.ts';
import { isOver } from '../protocol/is-over.ts';
import type { Caller, Core } from '../protocol/operations.ts';
import type { ReefBlock } from '../runtime/config/reef-block.ts';

/** Something of which a person wants to know who looks elsewhere. */
interface Notice {
  key: string;
  kind: 'question' | 'halt' | 'end';
  title: string;
  text: string;
  id: string;
}

interface NoticesDeps {
  core: Pick<Core, 'inbox' | 'status' | 'runs'>;
  signal: Pick<ChangeSignal, 'next'>;
  clock: Clock;
  log: Pick<Logger, 'warn'>;
  env: Readonly<NodeJS.ProcessEnv>;
  folder: string;
  /** The user's own, as they are now. */
  settings(): Pick<ReefBlock, 'notify'>;
}

const REEF: Caller = { by: 'reef', surface: 'cli' };
const SETTLE_MS = 1_000;
const WITHOUT_COMMAND_MS = 10_000;
const LOOK_AGAIN_MS = 60_000;
const COMMAND_MS = 10_000;
const LONGEST_TEXT = 1_000;
/** What a program needs to reach the desktop. */
const DESKTOP = ['DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY', 'XDG_RUNTIME_DIR', 'DBUS_SESSION_BUS_ADDRESS'];

/** Runs the person's own command when an agent asks, a run halts, or a task ends. What was so before it began is no news. */
export class Notices {
  readonly #deps: NoticesDeps;
  readonly #closing = new AbortController();
  #known: ReadonlySet<string> | undefined;
  #work: Promise<void> | undefined;

  constructor(deps: NoticesDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#work = this.#watch().catch((error: unknown) => {
      if (!this.#closing.signal.aborted) this.#deps.log.warn('no more notices are given', { error });
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#work;
  }

  async #watch(): Promise<void> {
    const { signal, clock, settings } = this.#deps;
    const closing = this.#closing.signal;
    while (!closing.aborted) {
      const { command } = settings().notify;
      // Before it looks: what changes while it does is seen next time.
      const changed = command && signal.next(LOOK_AGAIN_MS, closing);
      if (command) await this.#tell(command);
      else this.#known = undefined;
      await changed;
      await clock.sleep(command ? SETTLE_MS : WITHOUT_COMMAND_MS, closing);
    }
  }

  async #tell(command: readonly string[]): Promise<void> {
    const notices = await this.#look();
    const known = this.#known;
    this.#known = new Set(notices.map(({ key }) => key));
    for (const notice of known ? notices.filter(({ key }) => !known.has(key)) : []) await this.#run(command, notice);
  }

  async #look(): Promise<Notice[]> {
    const { core } = this.#deps;
    const closing = this.#closing.signal;
    const [{ questions }, { jobs }, { runs }] = await Promise.all([
      core.inbox({}, REEF, closing),
      core.status({}, REEF, closing),
      core.runs({ all: false }, REEF, closing),
    ]);
    const asked = questions.map(({ jobId, runId, questionId, question, agent, task }): Notice => {
      const kind = jobId === runId ? 'halt' : 'question';
      const title = kind === 'halt' ? `Needs you: ${task}` : `${agent} asks`;
      return { key: `${jobId} ${questionId}`, kind, title, text: question, id: jobId };
    });
    const endedJobs = jobs
      .filter(({ status, by }) => isOver(status) && !by?.startsWith('run:'))
      .map(({ id, launch, status, task }) => endOf(`${id} ${launch}`, id, status, task));
    const endedRuns = runs
      .filter(({ endedAt }) => endedAt !== undefined)
      .map(({ runId, status, task }) => endOf(runId, runId, status, task));
    return [...asked, ...endedJobs, ...endedRuns];
  }

  /** One that fails or hangs holds nothing up: it is said in the log. */
  async #run([file = '', ...args]: readonly string[], { key: _, ...notice }: Notice): Promise<void> {
    const { env, folder, log } = this.#deps;
    const said = { ...notice, title: shown(notice.title), text: shown(notice.text), repository: folder };
    const variables = {
      REEF_NOTICE_KIND: said.kind,
      REEF_NOTICE_TITLE: said.title,
      REEF_NOTICE_TEXT: said.text,
      REEF_NOTICE_ID: said.id,
      REEF_NOTICE_REPOSITORY: folder,
    };
    try {
      const result = await run({
        file,
        args,
        cwd: folder,
        env: allowedEnv(env, DESKTOP, variables),
        input: `${JSON.stringify(said)}\n`,
        timeoutMs: COMMAND_MS,
      });
      if (result.code !== 0) log.warn('notify.command failed', { code: result.code, stderr: String(result.stderr) });
    } catch (error) {
      log.warn('notify.command cannot be started', { error });
    }
  }
}

function endOf(key: string, id: string, status: string, task: string): Notice {
  return { key: `end ${key}`, kind: 'end', title: `${status}: ${task}`, text: task, id };
}

/** An agent wrote it: one line, and nothing in it that acts on a terminal. */
function shown(text: string): string {
  return printable(text.slice(0, LONGEST_TEXT)).replaceAll('\n', ' ');
}
