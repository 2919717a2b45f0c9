import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { CollectingEmitter } from '../../../test/support/engine/collecting-emitter.ts';
import { type Desk, openDesk } from '../../../test/support/runtime/app.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { Emitter, EngineEvent } from '../../runtime/engine/emitter.ts';
import { type EnginePort, PRESETS, run } from '../../runtime/engine/engine.ts';
import { userText } from '../../runtime/models/message.ts';
import { createPermissionGate } from '../../runtime/permissions/gate.ts';
import { createOutputCap } from '../../runtime/tools/output.ts';
import { COMMANDS, parseCommand } from './commands/table.ts';
import { Dialogue, type Drive } from './dialogue.ts';

const CONFIG = `
model: scripted:desk
clients: [{ type: scripted, models: [{ name: desk, script: desk.yaml, supports_function_calling: true }] }]
save_session: true
`;

/** What was told, however many pieces it came in. */
const told = ({ events }: CollectingEmitter) =>
  events.map(({ type }) => type).filter((type) => type !== 'assistant_delta');

describe('a face', () => {
  verifies('R-70', 'R-72').test('differs from others in its options, and in nothing else', async () => {
    const script = `
- when: { last_user: look }
  reply: { text: Looking., tool_calls: [{ name: fs_ls, arguments: { path: . } }] }
- reply: { text: There is a reef., usage: { input: 9, output: 4 } }
`;
    const stories: unknown[] = [];
    for (const preset of Object.keys(PRESETS) as (keyof typeof PRESETS)[]) {
      await using desk = await openDesk({ script, files: { 'config.yaml': `${CONFIG}enabled_tools: fs_ls\n` } });
      const emitter = new CollectingEmitter();
      const { request_id: _, ...outcome } = await desk.conversation.ask(userText('look'), {
        ...{ emitter, options: PRESETS[preset] },
      });
      stories.push({ outcome, told: told(emitter) });
    }
    const [first, ...others] = stories;
    expect(first).toMatchObject({
      outcome: { final_message: 'There is a reef.', tool_call_count: 1, turns: 1 },
      told: [...['started', 'assistant_message_end', 'tool_call', 'tool_result', 'assistant_message_end', 'finished']],
    });
    expect(others).toEqual([first, first]);
  });

  verifies('R-70').test('has one command of the core for each dot-command', () => {
    const names = COMMANDS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const command of COMMANDS) {
      const args = command.usage === undefined ? '' : 'and so on';
      const parsed = parseCommand(`${command.name} ${args}`);
      expect(parsed).toEqual({ ...command, args });
    }
  });
});

const WORK = `
- when: { last_user: Summarise }
  reply: { text: It was about a reef. }
  times: always
- when: { last_user: begin }
  reply: { text: "", tool_calls: [{ name: todo__init, arguments: { goal: paint } }, { name: todo__add, arguments: { task: blue } }] }
- when: { last_tool: todo__add }
  reply: { text: "Half of it, ${'in many words '.repeat(40)}" }
- when: { last_tool: todo__done }
  reply: { text: All of it. }
- when: { last_user: Progress }
  reply: { text: "", tool_calls: [{ name: todo__done, arguments: { id: 1 } }] }
  times: always
- reply: { text: A reef }
  times: always
`;

/** Tells what the engine asks of its host, in order. */
const NOTED = ['command', 'applyPrelude', 'prepare', 'turn', 'keep', 'compress', 'autoname', 'followUp'] as const;

function noted<C>(host: EnginePort<C>, order: string[]): EnginePort<C> {
  const wrapped = NOTED.flatMap((name) => {
    const own = host[name] as ((...args: unknown[]) => unknown) | undefined;
    const tell = (...args: unknown[]) => {
      order.push(name);
      return own?.apply(host, args);
    };
    return own ? [[name, tell]] : [];
  });
  return { ...host, ...Object.fromEntries(wrapped) };
}

function driven({ ctx, runtime, dir }: Desk, drive: Drive): Dialogue {
  return new Dialogue(ctx, {
    ...{ runtime, drive, face: {}, home: dir, ask: async () => ({ kind: 'needs_human' as const }) },
    gate: createPermissionGate({ rules: [] }),
    outputs: createOutputCap(runtime.outputsDir, () => 'id'),
  });
}

describe('a run', () => {
  verifies('R-70', 'R-72').test(
    'goes from command to prelude, input, turn, compression, name, and on by itself',
    async () => {
      await using desk = await openDesk({
        script: WORK,
        files: {
          'config.yaml': `${CONFIG}compression_threshold: 60\n`,
          '../../note.txt': 'Blue, please.\n',
          'agents/painter/config.yaml': 'instructions: Paint.\nauto_continue: true\n',
        },
      });
      await desk.ctx.useAgent({ name: 'painter', session: 'temp' });
      const order: string[] = [];
      const conversation = driven(desk, (_ctx, host, { request, emitter }) =>
        run(noted(host, order), request, emitter),
      );
      const emitter = new CollectingEmitter();
      const outcome = await conversation.line('.file note.txt -- begin', { emitter, options: PRESETS.repl_turn });
      expect(outcome).toMatchObject({ final_message: 'All of it.', turns: 2, auto_continued: 1, compressed: true });
      const turn = ['turn', 'keep', 'compress', 'autoname', 'followUp'];
      expect(order).toEqual(['command', 'applyPrelude', 'prepare', ...turn, ...turn]);
      expect(told(emitter)).toEqual([
        ...['started', 'assistant_message_end', 'tool_call', 'tool_call', 'tool_result', 'tool_result'],
        ...['assistant_message_end', 'session_autonamed', 'auto_continue_triggered'],
        ...['assistant_message_end', 'tool_call', 'tool_result', 'assistant_message_end'],
        ...['session_compressing', 'session_compressed', 'finished'],
      ]);
    },
  );

  verifies('R-72').test('ends well and keeps its session though an emitter breaks at any event', async () => {
    const answer = 'A reef is kept.';
    const script = `[{ reply: { text: ${answer} }, times: always }]`;
    const all = new CollectingEmitter();
    for (let at = 0; at === 0 || at < all.events.length; at += 1) {
      await using desk = await openDesk({ script, files: { 'config.yaml': CONFIG } });
      await desk.ctx.useSession('mine');
      let heard = 0;
      const broken: Emitter = {
        emit(_event: EngineEvent) {
          heard += 1;
          if (heard > at) throw new Error('the pipe is gone');
        },
      };
      if (at === 0) await desk.conversation.line('first', { emitter: all, options: PRESETS.repl_turn });
      const outcome = await desk.conversation.line('hello', { emitter: broken, options: PRESETS.repl_turn });
      expect([outcome.final_message, heard]).toEqual([answer, at + 1]);
      await desk.ctx.exitSession();
      expect(storedIn(desk)).toContain(answer);
    }
  });
});

function storedIn({ dir }: Desk): string {
  const folder = join(dir, '.config/reef/sessions/by-id');
  return readdirSync(folder)
    .map((id) => readFileSync(join(folder, id, 'state.yaml'), 'utf8'))
    .join('\n');
}
