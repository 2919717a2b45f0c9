import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Face } from '../../../src/app/runtime/commands/command.ts';
import { Dialogue } from '../../../src/app/runtime/dialogue.ts';
import { openRuntime, type Runtime } from '../../../src/app/runtime/open-runtime.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { readEnvironment } from '../../../src/base/env.ts';
import { PRESETS } from '../../../src/runtime/engine/engine.ts';
import { createPermissionGate } from '../../../src/runtime/permissions/gate.ts';
import type { UserPort, WorkingMode } from '../../../src/runtime/state/context-data.ts';
import { createContext } from '../../../src/runtime/state/init.ts';
import type { RequestContext } from '../../../src/runtime/state/request-context.ts';
import { createOutputCap } from '../../../src/runtime/tools/output.ts';
import { CollectingEmitter } from '../engine/collecting-emitter.ts';
import { temporaryFolder } from '../temporary-folder.ts';

export interface Desk extends AsyncDisposable {
  dir: string;
  runtime: Runtime;
  ctx: RequestContext;
  conversation: Dialogue;
  /** What a line is answered with: what is said, and what is told beside it. */
  type(line: string): Promise<string[]>;
}

const CONFIG = 'model: scripted:desk\nclients: [{ type: scripted, models: [{ name: desk, script: desk.yaml }] }]\n';

/** A conversation with a scripted model over real files; nobody sits at it. */
export async function openDesk({ script, files = {}, face = {}, ui, workingMode = 'repl' }: Setting): Promise<Desk> {
  const dir = temporaryFolder();
  const all = { 'config.yaml': CONFIG, 'desk.yaml': script, ...files };
  for (const [path, text] of Object.entries(all)) {
    const file = join(dir, '.config/reef', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const ask = async () => ({ kind: 'needs_human' as const });
  const env = readEnvironment({ HOME: dir, PATH: process.execPath });
  const runtime = await openRuntime({ env, cwd: dir, clock: systemClock, version: '1.2.3', isOneShot: true, ask });
  const ctx = createContext(runtime.app, { workingMode, ...(ui && { ui }) });
  await ctx.bootstrapTools();
  const gate = createPermissionGate({ rules: [] });
  const outputs = createOutputCap(runtime.outputsDir, () => 'id');
  const conversation = new Dialogue(ctx, { runtime, gate, outputs, ask, face, home: dir });
  return {
    dir,
    runtime,
    ctx,
    conversation,
    async type(line) {
      const emitter = new CollectingEmitter();
      await conversation.line(line, { emitter, options: PRESETS.repl_turn });
      return emitter.events.flatMap((event) => {
        if (event.type === 'assistant_message_end') return [event.text];
        return event.type === 'info' ? [event.message] : [];
      });
    },
    async [Symbol.asyncDispose]() {
      await ctx.close();
      await runtime.app.close();
    },
  };
}

interface Setting {
  script: string;
  files?: Record<string, string>;
  face?: Face;
  ui?: UserPort;
  workingMode?: WorkingMode;
}
