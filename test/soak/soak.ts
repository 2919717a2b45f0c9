import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { tagged } from '../../src/process/sweep.ts';
import { leftovers, RunsRig } from '../e2e/runs-rig.ts';
import { stubbornly } from '../e2e/stubbornly.ts';
import { fixture } from '../support/programs.ts';
import { eventually } from '../support/wait.ts';
import { follow, openPage, type Reader } from './readers.ts';
import { bytesBelow, filesBelow, leastOfMinutes, look, type Sample, slope } from './samples.ts';
import { PROJECT, Tasks } from './tasks.ts';

const MINUTE_MS = 60_000;
/** That of an empty repository, and that of the project. */
const FIRST_COMMITS = 2;

export interface SoakSpec {
  minutes: number;
  tasksAMinute: number;
  /** Absent: the daemon is left alone, so that its memory is that of one long life. */
  killEveryMinutes?: number;
  /** Where its repository and home are made. */
  parent: string;
  /** Is told each minute how things stand. */
  say?(line: string): void;
}

export interface SoakFigures {
  minutes: number;
  tasks: number;
  kills: number;
  /** Tasks that did not come to their end. */
  wrong: string[];
  /** Calls that were refused though nothing was wrong with them. */
  refused: string[];
  readers: Reader[];
  /** Least squares over the least of each minute, after a fifth of the time; only for a daemon that is left alone. */
  rssMbAnHour?: number;
  rssMb: { first: number; last: number; most: number };
  /** The least in the first and in the last third. */
  descriptors: { first: number; last: number };
  /** What a task leaves in the home, in the first and in the second half: the home grows by what is kept and by nothing else. */
  kibATask: { first: number; second: number };
  /** Processes, worktrees, branches, temporary files, and what doctor does not like. */
  leftovers: string[];
}

/** One home under the load of a busy day. */
export class Soak {
  readonly #spec: SoakSpec;
  readonly #rig: RunsRig;
  readonly #tasks: Tasks;
  readonly #samples: Sample[] = [];
  readonly #sizes: { tasks: number; bytes: number }[] = [];
  readonly #begun = performance.now();
  readonly #stop = new AbortController();
  #kills = 0;
  #born = performance.now();

  constructor(spec: SoakSpec) {
    this.#spec = spec;
    this.#rig = new RunsRig(PROJECT, spec.parent);
    this.#rig.world.configure({ timings: { linger: 50 } });
    this.#tasks = new Tasks(this.#rig);
  }

  async run(): Promise<SoakFigures> {
    const { world } = this.#rig;
    try {
      await this.#rig.trust();
      const { signal } = this.#stop;
      const watching = [follow(world, 'follower 1', signal), follow(world, 'follower 2', signal)];
      watching.push(await openPage(world, signal));
      const attending = this.#tasks.attend(signal);
      await Promise.all([this.#load(), this.#kill(), this.#watch()]);
      await this.#settled();
      this.#weigh();
      const { lastSeq = 0 } = (await world.client.daemon()) ?? {};
      const readers = watching.map(({ reader }) => reader);
      await eventually(
        () => readers.map(({ events, lost, repeated }) => events + lost - repeated),
        (seen) => seen.every((each) => each >= lastSeq),
        { what: 'every reader has read to the end' },
      );
      this.#stop.abort();
      await Promise.all([attending, ...watching.map(({ over }) => over)]);
      return await this.#figures(readers);
    } finally {
      this.#stop.abort();
      await this.#rig.close();
    }
  }

  get #minute(): number {
    return (performance.now() - this.#begun) / MINUTE_MS;
  }

  async #load(): Promise<void> {
    for (let n = 0; this.#minute < this.#spec.minutes; n++) {
      const due = (n / this.#spec.tasksAMinute) * MINUTE_MS;
      await sleep(Math.max(0, due - this.#minute * MINUTE_MS));
      await this.#tasks.start(n).catch((error) => this.#tasks.refused.push(`task ${n}: ${error}`));
    }
  }

  async #kill(): Promise<void> {
    const { killEveryMinutes: every } = this.#spec;
    if (every === undefined) return;
    for (let due = every; due < this.#spec.minutes; due += every) {
      await sleep(Math.max(0, (due - this.#minute) * MINUTE_MS));
      await this.#rig.world.killDaemon();
      this.#born = performance.now();
      this.#kills += 1;
    }
  }

  async #watch(): Promise<void> {
    for (let looks = 0; this.#minute < this.#spec.minutes; looks++) {
      await sleep(5_000);
      const daemon = await this.#rig.world.client.daemon().catch(() => undefined);
      const sample = daemon && look(daemon.pid, this.#minute, (performance.now() - this.#born) / MINUTE_MS);
      if (sample) this.#samples.push(sample);
      if (looks % 12 === 11) this.#weigh();
    }
  }

  #weigh(): void {
    const tasks = this.#tasks.started.length;
    const bytes = bytesBelow(this.#rig.world.home.dir);
    this.#sizes.push({ tasks, bytes });
    const { rssMb = 0, descriptors = 0 } = this.#samples.at(-1) ?? {};
    const mib = (bytes / 1_048_576).toFixed(1);
    const merged = Number(this.#rig.git('rev-list', '--count', 'main')) - FIRST_COMMITS;
    const figures = `${tasks} tasks, ${merged} merged, ${this.#kills} kills, ${rssMb.toFixed(1)} MB, ${descriptors} descriptors, home ${mib} MiB`;
    this.#spec.say?.(`minute ${this.#minute.toFixed(1)}: ${figures}`);
  }

  async #settled(): Promise<void> {
    const { client } = this.#rig.world;
    const look = async () => {
      const { jobs } = await stubbornly(() => client.call('status', {}));
      const { worktrees } = await stubbornly(() => client.call('worktrees', {}));
      const live = jobs.filter(({ activity }) => activity !== 'ended').map(({ id, status }) => `${id} ${status}`);
      return [...live, ...worktrees.map(({ id, status }) => `${id} ${status}`), ...leftovers(this.#rig)];
    };
    // What does not settle is told with the figures.
    await eventually(look, (left) => left.length === 0, { withinMs: 300_000, everyMs: 500 }).catch(() => undefined);
  }

  async #figures(readers: Reader[]): Promise<SoakFigures> {
    const { minutes, killEveryMinutes } = this.#spec;
    const samples = this.#samples;
    const rss = samples.map(({ rssMb }) => rssMb);
    const warm = samples.filter(({ minute }) => minute > minutes / 5);
    const third = (from: number) =>
      samples.filter(({ minute }) => minute >= from * minutes && minute < (from + 1 / 3) * minutes);
    const least = (of: readonly Sample[]) => Math.min(...of.map(({ descriptors }) => descriptors));
    return {
      minutes,
      tasks: this.#tasks.started.length,
      kills: this.#kills,
      wrong: await this.#tasks.wrong(),
      refused: this.#tasks.refused,
      readers,
      ...(killEveryMinutes === undefined && { rssMbAnHour: 60 * slope(leastOfMinutes(warm, ({ rssMb }) => rssMb)) }),
      rssMb: { first: rss[0] ?? Number.NaN, last: rss.at(-1) ?? Number.NaN, most: Math.max(...rss) },
      descriptors: { first: least(third(0)), last: least(third(2 / 3)) },
      kibATask: this.#kibATask(),
      leftovers: await this.#leftovers(),
    };
  }

  #kibATask(): SoakFigures['kibATask'] {
    const all = this.#sizes;
    const half = all[Math.floor((all.length - 1) / 2)];
    const between = (from = all[0], to = all.at(-1)) =>
      from && to ? (to.bytes - from.bytes) / 1_024 / Math.max(1, to.tasks - from.tasks) : Number.NaN;
    return { first: between(all[0], half), second: between(half) };
  }

  async #leftovers(): Promise<string[]> {
    const { world } = this.#rig;
    const jobs = new Set(this.#tasks.started.map(({ id }) => id));
    const processes = (await tagged()).filter(({ tag }) => jobs.has(tag)).map(({ tag }) => `a process of ${tag}`);
    const temporary = filesBelow(world.home.dir).filter(
      (path) => path.includes('.reef-tmp-') || path.includes('.bad-'),
    );
    const trees = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line.includes(fixture('tree.sh')) && line.includes(world.root));
    return [...processes, ...trees, ...temporary, ...leftovers(this.#rig), ...(await this.#findings())];
  }

  /** Of the home and its tasks; machine, agents and trust are not the matter here. */
  async #findings(): Promise<string[]> {
    const about = new Set([
      'database',
      'snapshot',
      'jobs',
      'worktrees',
      'leftover processes',
      'fifos',
      'lock',
      'intents',
    ]);
    const { findings } = (await this.#rig.json('doctor')) as {
      findings: { check: string; severity: string; what: string }[];
    };
    const bad = findings.filter(({ check, severity }) => severity !== 'ok' && about.has(check));
    return bad.map(({ check, what }) => `doctor, ${check}: ${what}`);
  }
}
