import { readEnvironment } from '../../../base/env.ts';
import { errorBody } from '../../client/request.ts';
import { onBox } from '../../remote/on-box.ts';
import type { Host } from '../cli.ts';
import { reportError } from '../run-command.ts';

/** Runs a whole command on the machine that `--on` names. */
export async function runThere(host: Host, { json, on }: { json: boolean; on: string }): Promise<number> {
  const talk = (text: string) => void host.stderr.write(`${text}\n`);
  try {
    const box = onBox(on, { env: readEnvironment(host.env), talk });
    return await box.runThere(host.argv.slice(2), host.stdin.isTTY === true && host.stdout.isTTY === true);
  } catch (error) {
    return reportError(host, { json }, errorBody(error));
  }
}
