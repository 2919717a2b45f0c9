import type { Detection } from '../../agents/detect.ts';
import { systemClock } from '../../base/clock.ts';
import { bad, byHand, type Check, check, type Found, ok, type Result, warn } from './finding.ts';
import { isAble, loginWords, type ReadyAgent, readyAgents, type User } from './ready-agents.ts';

interface Deps {
  detected: Promise<Detection[]>;
  user(): User;
  now?: Date;
}

/** Shows each agent with its program, version and log-in, and whether any of them is ready. */
export function agentChecks({ detected, user, now = systemClock.now() }: Deps): Check[] {
  return [
    check('agents', async () => {
      const all = await detected;
      const whose = user();
      const ready = readyAgents(all, whose);
      return [whichIsReady(ready), ...all.map((each) => agent(each, { ready, wanted: whose.wanted, now }))];
    }),
  ];
}

function whichIsReady(ready: readonly ReadyAgent[]): Result {
  const able = ready.filter(isAble);
  const [first] = able;
  if (first) return ok(`ready: ${able.map(({ name }) => name).join(', ')}`, first.title);
  // Two choices are enough. The other agents have findings of their own.
  const steps = ready.slice(0, 2).map(({ name, toDo }) => `${toDo} (${name})`);
  const looked = `looked for ${ready.map(({ name }) => name).join(', ')}`;
  return warn('no agent is ready', looked, byHand(steps.join(', or ')));
}

const OLD_MS = 90 * 24 * 3_600_000;

interface Others {
  ready: readonly ReadyAgent[];
  /** The agent that works when nobody names one. */
  wanted: string;
  now: Date;
}

/** An agent that is not installed or not logged in is no problem while another one is ready: nobody has them all. */
function agent(found: Detection, { ready, wanted, now }: Others): Found {
  const { name, title, path, version, tested, recorded, finding, install } = found;
  if (path === undefined) {
    if (found.severity !== 'error') {
      return { check: name, ...ok('not installed', title), fix: byHand(install) };
    }
    return { check: name, ...bad(finding ?? 'does not work', title, byHand(install)) };
  }
  const isOld = recorded !== undefined && now.getTime() - Date.parse(recorded) > OLD_MS;
  const state = ready.find((each) => each.name === name); // without `codex-exec`, which is `codex`
  const words = [
    version === undefined ? 'found' : version === tested ? `${version}, the version Reef is tested with` : version,
    finding,
    loginWords(name, state?.login ?? found.login, found.shellKeys),
    isOld && `tested with recordings of ${recorded}, over 90 days ago`,
  ];
  const what = words.filter(Boolean).join(', ');
  const evidence = tested === undefined ? path : `${path}, tested with ${tested}`;
  if ((state?.login ?? found.login) !== 'no') return { check: name, ...ok(what, evidence) };
  const toDo = state?.toDo ?? found.loginBy ?? 'log in';
  return {
    check: name,
    ...loggedOut({ what, evidence, toDo }, { name, isSpare: name !== wanted && ready.some(isAble) }),
  };
}

function loggedOut(
  { what, evidence, toDo }: { what: string; evidence: string; toDo: string },
  { name, isSpare }: { name: string; isSpare: boolean },
): Result {
  if (name.startsWith('native:')) return { ...ok(what, evidence), fix: byHand(toDo) };
  return isSpare ? ok(`${what}: ${toDo}`, evidence) : warn(what, evidence, byHand(toDo));
}
