import type { Environment } from '../../../base/env.ts';
import { ReefError } from '../../../protocol/errors.ts';
import { readConfig } from '../../../runtime/config/user-config.ts';
import { detectAll, type ReadyAgent, readyAgents } from '../../doctor/ready-agents.ts';

/** Who plays: Reef's own agent with models that follow a script, or an agent of the user's with its own log-in. */
export interface Cast {
  agent: string;
  isScripted: boolean;
  /** What the demo's own configuration says of that agent. */
  agents: Record<string, unknown>;
}

const OWN = 'native:coder';

export async function chooseCast(env: Environment, wanted: string | undefined): Promise<Cast> {
  if (wanted === undefined || wanted === OWN) return { agent: OWN, isScripted: true, agents: {} };
  const agents = readyAgents(await detectAll(env), { wanted, hasModel: true }).filter(({ name }) => name !== OWN);
  const found = agents.find(({ name }) => name === wanted);
  if (!found) throw new ReefError('bad_request', `${wanted} is no agent of the demo: choose ${listOf(agents)}`);
  refuseUnready(found);
  const settings = readConfig(env).agents[wanted];
  return { agent: wanted, isScripted: false, agents: settings ? { [wanted]: settings } : {} };
}

function refuseUnready({ title, name, isInstalled, login, finding, toDo }: ReadyAgent): void {
  const without = 'Without --agent the demo needs neither an agent nor a key.';
  if (!isInstalled) {
    const what = finding ?? `${title} is not installed. Install it with: ${toDo}`;
    throw new ReefError('agent_not_installed', `${what}. ${without}`);
  }
  if (login === 'no') throw new ReefError('agent_not_logged_in', `${name} has no log-in: ${toDo}. ${without}`);
}

const listOf = (agents: readonly ReadyAgent[]) => agents.map(({ name }) => name).join(', ');
