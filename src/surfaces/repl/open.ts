import { randomUUID } from 'node:crypto';
import type { Face } from '../../app/runtime/commands/command.ts';
import { Conversation, type Drive } from '../../app/runtime/conversation.ts';
import { openRuntime, type Runtime } from '../../app/runtime/open-runtime.ts';
import { systemClock } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import type { ConfigWarning } from '../../runtime/config/yaml-file.ts';
import { GrantsFile, grantsPath } from '../../runtime/grants-file.ts';
import { createPermissionGate } from '../../runtime/permissions/gate.ts';
import type { RequestContext } from '../../runtime/state/request-context.ts';
import { createOutputCap } from '../../runtime/tools/output.ts';
import type { AskFn } from '../../runtime/tools/tool.ts';
import { version } from '../../version.ts';
import type { Cli } from '../cli/cli.ts';

export interface Place {
  cli: Cli;
  ask: AskFn;
  askPassword?: ((question: string) => Promise<string>) | undefined;
  isOneShot: boolean;
}

export function openPlace({ cli, ask, askPassword, isOneShot }: Place): Promise<Runtime> {
  const { env, cwd } = cli;
  const onWarning = (warning: ConfigWarning) =>
    cli.talk(`${cli.style.paint('yellow', 'warning')}: ${warningText(warning)}`);
  return openRuntime({ env, cwd, clock: systemClock, version, isOneShot, ask, askPassword, onWarning });
}

function warningText({ file, line, message }: ConfigWarning): string {
  return printable(`${file}${line === undefined ? '' : `:${line}`}: ${message}`);
}

export interface Talk {
  cli: Cli;
  runtime: Runtime;
  ask: AskFn;
  face: Face;
  confirmAll: boolean;
  drive?: Drive | undefined;
}

/** `--yes`, or its variable (R-93). */
export function confirmsAll({ app }: Runtime, { yes }: { yes?: true }): boolean {
  return yes === true || /^(1|true|yes)$/i.test(app.environment.AUTO_CONFIRM ?? '');
}

/** A conversation in a context, with the permissions and grants of the user. */
export function converse(ctx: RequestContext, { cli, runtime, ask, face, confirmAll, drive }: Talk): Conversation {
  const grants = new GrantsFile(grantsPath(cli.env));
  const { config, clock } = ctx.app;
  const gate = createPermissionGate({
    rules: config.reef.permissions,
    confirmAll,
    grants: {
      has: (fingerprint) => grants.has(fingerprint),
      add: (grant) => grants.add({ ...grant, at: clock.now().toISOString(), by: cli.env.all.USER ?? '' }),
    },
  });
  const outputs = createOutputCap(runtime.outputsDir, () => randomUUID());
  return new Conversation(ctx, { runtime, gate, outputs, ask, face, drive, home: cli.env.home });
}
