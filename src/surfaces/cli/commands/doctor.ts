import { ReefError } from '../../../protocol/errors.ts';
import { version } from '../../../version.ts';
import { agentChecks } from '../../doctor/agents.ts';
import { detectAll } from '../../doctor/detect.ts';
import { examine } from '../../doctor/examine.ts';
import type { Check } from '../../doctor/finding.ts';
import { homeChecks } from '../../doctor/home.ts';
import { machineChecks } from '../../doctor/machine.ts';
import { storeChecks } from '../../doctor/store.ts';
import type { Cli, Command } from '../cli.ts';
import { renderFindings } from '../render/findings.ts';

export const doctor: Command<{ fix?: true }> = async (cli, _args, { fix = false }) => {
  const findings = await examine(checksFor(cli), { fix });
  cli.print({ findings }, () => renderFindings(findings, cli.style));
  return findings.some(({ severity }) => severity === 'error') ? 1 : 0;
};

/** The list of what doctor looks at. A new check is one more entry here. */
function checksFor(cli: Cli): Check[] {
  const machine = machineChecks({ path: cli.env.path, folder: cli.cwd });
  try {
    const home = cli.home();
    const agents = agentChecks({ detect: () => detectAll(cli.env), client: cli.client(), version });
    return [...machine, ...homeChecks(home), ...storeChecks(home), ...agents];
  } catch (error) {
    // Outside a repository the machine can still be looked at.
    if (!(error instanceof ReefError)) throw error;
    return [...machine, { name: 'home', look: () => Promise.reject(error) }];
  }
}
