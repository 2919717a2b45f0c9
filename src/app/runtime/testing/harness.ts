import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { systemClock } from '../../../base/clock.ts';
import { readEnvironment } from '../../../base/env.ts';
import { CollectingEmitter } from '../../../runtime/engine/emitters.ts';
import { PRESETS } from '../../../runtime/engine/engine.ts';
import { createPermissionGate } from '../../../runtime/permissions/gate.ts';
import { createContext } from '../../../runtime/state/init.ts';
import type { RequestContext } from '../../../runtime/state/request-context.ts';
import { createOutputCap } from '../../../runtime/tools/output.ts';
import type { Face } from '../commands/command.ts';
import { Conversation } from '../conversation.ts';
import { openRuntime, type Runtime } from '../open-runtime.ts';

export interface Desk extends AsyncDisposable {
  dir: string;
  runtime: Runtime;
  ctx: RequestContext;
  conversation: Conversation;
  /** What a line is answered with: what is said, and what is told beside it. */
  type(line: string): Promise<string[]>;
}

const CONFIG = 'model: scripted:desk\nclients: [{ type: scripted, models: [{ name: desk, script: desk.yaml }] }]\n';

/** A conversation with a scripted model over real files; nobody sits at it. */
export async function openDesk({ script, files = {}, face = {} }: Setting): Promise<Desk> {
  const dir = mkdtempSync(join(tmpdir(), 'reef-desk-'));
  const all = { 'config.yaml': CONFIG, 'desk.yaml': script, ...files };
  for (const [path, text] of Object.entries(all)) {
    const file = join(dir, '.config/reef', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  const ask = async () => ({ kind: 'needs_human' as const });
  const env = readEnvironment({ HOME: dir, PATH: process.execPath });
  const runtime = await openRuntime({ env, cwd: dir, clock: systemClock, version: '1.2.3', isOneShot: true, ask });
  const ctx = createContext(runtime.app, { workingMode: 'repl' });
  await ctx.bootstrapTools();
  const gate = createPermissionGate({ rules: [] });
  const outputs = createOutputCap(runtime.outputsDir, () => 'id');
  const conversation = new Conversation(ctx, { runtime, gate, outputs, ask, face, home: dir });
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
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

interface Setting {
  script: string;
  files?: Record<string, string>;
  face?: Face;
}
