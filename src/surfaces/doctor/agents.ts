import type { Detection } from '../../agents/detect.ts';
import { systemClock } from '../../base/clock.ts';
import { bad, byHand, type Check, check, type Found, ok, type Result, warn } from './finding.ts';
import { isAble, type ReadyAgent, readyAgents, type User } from './ready-agents.ts';

interface Deps {
  detected: Promise<Detection[]>;
  /** Which agent is wanted, and whether a model is there for Reef's own. */
  user(): User;
  now?: Date;
}

/** Each agent with its program, version and log-in, and whether any of them is ready. */
export function agentChecks({ detected, user, now = systemClock.now() }: Deps): Check[] {
  return [
    check('agents', async () => {
      const all = await detected;
      const ready = readyAgents(all, user());
      return [whichIsReady(ready), ...all.map((each) => agent(each, { ready, now }))];
    }),
  ];
}

function whichIsReady(ready: readonly ReadyAgent[]): Result {
  const able = ready.filter(isAble);
  const [first] = able;
  if (first) return ok(`ready: ${able.map(({ name }) => name).join(', ')}`, first.title);
  // Two ways are enough to choose from; the others are listed below it.
  const steps = ready.slice(0, 2).map(({ name, toDo }) => `${toDo} (${name})`);
  const looked = `looked for ${ready.map(({ name }) => name).join(', ')}`;
  return warn('none can work yet', looked, byHand(steps.join(', or ')));
}

const OLD_MS = 90 * 24 * 3_600_000;

/** An agent that is not installed is no trouble: nobody has them all. */
function agent(found: Detection, { ready, now }: { ready: readonly ReadyAgent[]; now: Date }): Found {
  const { name, title, path, version, tested, recorded, finding, install } = found;
  if (path === undefined) {
    if (found.severity !== 'error') {
      return { check: name, ...ok('not installed', title), fix: byHand(install) };
    }
    return { check: name, ...bad(finding ?? 'cannot be used', title, byHand(install)) };
  }
  const isOld = recorded !== undefined && now.getTime() - Date.parse(recorded) > OLD_MS;
  const state = ready.find((each) => each.name === name); // without `codex-exec`, which is `codex`
  const words = [
    version === undefined ? 'found' : version === tested ? `${version}, the version Reef is tested with` : version,
    finding,
    loginWord(name, state?.login ?? found.login),
    isOld && `recordings of ${recorded} are older than 90 days`,
  ];
  const what = words.filter(Boolean).join(', ');
  const evidence = tested === undefined ? path : `${path}, tested with ${tested}`;
  if ((state?.login ?? found.login) !== 'no') return { check: name, ...ok(what, evidence) };
  const fix = byHand(state?.toDo ?? found.loginBy ?? 'log in');
  return name.startsWith('native:')
    ? { check: name, ...ok(what, evidence), fix }
    : { check: name, ...warn(what, evidence, fix) };
}

function loginWord(name: string, login: Detection['login']): string | undefined {
  if (name.startsWith('native:')) return login === 'yes' ? 'a model is configured' : 'no model is configured';
  return login === 'yes' ? 'logged in' : login === 'no' ? 'no log-in found' : undefined;
}
