import { isUtf8 } from 'node:buffer';
import { projectSettingNames } from '../../agents/registry.ts';
import type { Clock } from '../../base/clock.ts';
import { parseJson } from '../../base/safe-json.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Caller, OperationRequest, TrustCore } from '../../protocol/operations.ts';
import type { TrustItem } from '../../protocol/trust.ts';
import type { ReefBlock } from '../../runtime/config/reef-block.ts';
import { type TrustFile, trustHash } from '../../runtime/config/trust-file.ts';
import { type FoundManifest, findManifest, type ReadProjectFile } from '../manifest/manifest-file.ts';
import { settingsIn } from './agent-settings.ts';
import { DRIVERS, shownDrivers } from './git-drivers.ts';
import { PROJECT_CONFIG, readOverlay, readProjectFile } from './project-config.ts';

const INCLUDE = '.worktreeinclude';
const SCRIPTS = 'package.json scripts';
const CANNOT_BE_SHOWN =
  '(a link, too large, or one of too many: Reef keeps it from agents. Put the file itself there.)';

interface ProjectDeps {
  /** The main checkout: in a worktree an agent could edit what judges it. */
  root: string;
  trust: TrustFile;
  clock: Clock;
  /** What git has configured for drivers, without which none can be trusted. */
  drivers?: () => Promise<ReadonlyMap<string, string>>;
}

/** What the repository has Reef run or copy. Nothing takes effect before a person trusts it. */
export class Project implements TrustCore {
  readonly #deps: ProjectDeps;

  constructor(deps: ProjectDeps) {
    this.#deps = deps;
  }

  readonly readFile: ReadProjectFile = (path) => readProjectFile(this.#deps.root, path);

  async manifest(): Promise<FoundManifest | undefined> {
    const found = await findManifest(this.readFile);
    if (found) await this.#requireItem(found.path, found.text);
    return found;
  }

  /** `package.json` for the search for gates: its scripts run, so they need trust first. */
  readonly readGateFile: ReadProjectFile = async (path) => {
    const text = await this.readFile(path);
    if (path === 'package.json' && text !== undefined) await this.#requireItem(SCRIPTS, scriptsOf(text));
    return text;
  };

  async gates(): Promise<ReefBlock['gates']> {
    const text = await this.readFile(PROJECT_CONFIG);
    if (text === undefined) return {};
    await this.#requireItem(PROJECT_CONFIG, text);
    return readOverlay(text).gates;
  }

  /** Without trust a worktree is made without them. */
  async scripts(): Promise<{ setup?: readonly string[]; teardown?: readonly string[] }> {
    const text = await this.readFile(PROJECT_CONFIG);
    if (text === undefined || !this.#isTrusted(PROJECT_CONFIG, text)) return {};
    const { setup, teardown } = readOverlay(text).worktree;
    return { ...(setup && { setup }), ...(teardown && { teardown }) };
  }

  async include(): Promise<string | undefined> {
    const text = await this.readFile(INCLUDE);
    return text !== undefined && this.#isTrusted(INCLUDE, text) ? text : undefined;
  }

  async trust({ hashes }: OperationRequest<'trust'>, caller: Caller) {
    const items = await this.#items();
    const { root, clock } = this.#deps;
    const chosen = items.filter(({ hash }) => hashes.includes(hash));
    const unknown = hashes.filter((hash) => !items.some((item) => item.hash === hash));
    if (unknown.length > 0) {
      throw new ReefError('trust_changed', `What you saw has changed since: ${unknown.length} of the items.`);
    }
    if (chosen.length > 0) {
      const trusted = Object.fromEntries(chosen.map(({ name, hash }) => [name, hash]));
      await this.#deps.trust.add({ repo: root, items: trusted, at: clock.now().toISOString(), by: caller.by });
    }
    return { repository: root, items: chosen.length > 0 ? await this.#items() : items };
  }

  async #items(): Promise<TrustItem[]> {
    const found = await findManifest(this.readFile);
    const packageText = await this.readFile('package.json');
    const config = await this.readFile(PROJECT_CONFIG);
    const drivers = await this.#deps.drivers?.();
    const contents: [name: string, content: string | undefined][] = [
      ...(found ? [[found.path, found.text] as [string, string]] : []),
      [PROJECT_CONFIG, config],
      [DRIVERS, drivers && shownDrivers(config, drivers)],
      [INCLUDE, await this.readFile(INCLUDE)],
      [SCRIPTS, packageText === undefined ? undefined : scriptsOf(packageText)],
    ];
    const settings = await settingsIn(this.#deps.root, projectSettingNames());
    return [
      ...contents.flatMap(([name, content]) => (content === undefined ? [] : [this.#item(name, Buffer.from(content))])),
      ...settings.map(({ name, bytes }) => this.#item(name, bytes)),
    ];
  }

  /** Its content in full, or why nobody can agree to it. */
  #item(name: string, bytes: Buffer | undefined): TrustItem {
    if (bytes === undefined) return { name, content: CANNOT_BE_SHOWN, hash: '', trusted: false };
    const content = isUtf8(bytes) ? bytes.toString('utf8') : `(${bytes.length} bytes that are not text)`;
    return { name, content, hash: trustHash(bytes), trusted: this.#isTrusted(name, bytes) };
  }

  #isTrusted(name: string, content: string | Buffer): boolean {
    return this.#deps.trust.isTrusted(this.#deps.root, name, trustHash(content));
  }

  async #requireItem(name: string, content: string): Promise<void> {
    if (this.#isTrusted(name, content)) return;
    const waiting = (await this.#items()).filter(({ trusted }) => !trusted).map((item) => item.name);
    throw new ReefError(
      'repo_untrusted',
      `This repository would have Reef run commands of its own: ${waiting.join(', ')}.`,
      {
        details: { items: waiting },
      },
    );
  }
}

function scriptsOf(text: string): string {
  const parsed = parseJson(text);
  const value = parsed.ok ? (parsed.value as { scripts?: unknown } | null) : null;
  return JSON.stringify(value?.scripts ?? {}, null, 2);
}
