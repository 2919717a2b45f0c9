import { mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { openWorld, type World } from '../../../test/support/runtime/state.ts';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { createPaths, listMacros } from '../paths.ts';
import type { RequestContext } from '../state/request-context.ts';
import { settingsOf } from '../state/resolve.ts';
import { loadMacro, macroSteps, runMacro, usageOf } from './macro.ts';

const macro = (text: string) => {
  const paths = createPaths({}, temporaryFolder());
  mkdirSync(paths.macrosDir(), { recursive: true });
  writeFileSync(paths.macroFile('review'), text);
  return loadMacro(paths, 'review');
};
const REVIEW =
  'variables: [{name: base, default: main}, {name: ask, rest: true}]\nsteps: [".role code", ".file `git diff {{base}}` -- {{ask}} {{other}}"]\n';

describe('a macro', () => {
  verifies('R-53').test('puts values into its steps by position, the last taking the rest', () => {
    expect([macroSteps(macro(REVIEW), 'dev  is this right? '), usageOf(macro(REVIEW))]).toEqual([
      ['.role code', '.file `git diff dev` -- is this right? {{other}}'],
      'review [base] <ask>...',
    ]);
    const preset = macro(
      'variables: [{name: a, default: x}, {name: b, default: "y z", rest: true}]\nsteps: ["{{a}}|{{b}}"]',
    );
    expect([macroSteps(preset, ''), macroSteps(preset, 'one'), macroSteps(preset, 'one {{a}} two')]).toEqual([
      ['x|y z'],
      ['one|y z'],
      ['one|{{a}} two'],
    ]);
  });

  verifies('R-53').test('without a value it needs says how it is used', () => {
    expect(() => macroSteps(macro(REVIEW), 'dev')).toThrow(
      expect.objectContaining({
        code: 'macro_missing_value',
        message: expect.stringContaining('review [base] <ask>...'),
      }),
    );
  });

  for (const [what, text] of [
    ['no steps', 'steps: []'],
    ['a rest that is not last', 'variables: [{name: a, rest: true}, {name: b}]\nsteps: [x]'],
    ['an unknown key', 'step: [x]\nsteps: [x]'],
    ['no YAML', 'steps: ['],
  ]) {
    test(`with ${what} is config_invalid`, () => {
      expect(() => macro(text ?? '')).toThrow(expect.objectContaining({ code: 'config_invalid' }));
    });
  }
});

describe('running a macro', () => {
  const run = async (
    world: World,
    name: string,
    { lines = [], from }: { lines?: string[]; from?: (ctx: RequestContext) => Promise<void> } = {},
  ) => {
    const ctx = world.context();
    await from?.(ctx);
    const seen: unknown[] = [];
    const runLine = async (inner: RequestContext, line: string): Promise<void> => {
      const { model, temperature, enabled_tools } = settingsOf(inner);
      seen.push([
        line,
        inner.macroDepth,
        inner.role,
        inner.session,
        inner.agent,
        inner.rag,
        model,
        temperature,
        enabled_tools,
      ]);
      if (line.startsWith('.macro ')) await runMacro(inner, { name: line.slice(7), args: '', runLine, print });
      if (line.startsWith('.role ')) await inner.useRole(line.slice(6));
    };
    const print = (line: string) => void lines.push(line);
    await runMacro(ctx, { name, args: 'x', runLine, print });
    return { ctx, seen };
  };
  const FILES = {
    'macros/plain.yaml': 'variables: [{name: a}]\nsteps: ["first {{a}}", "second"]\n',
    'macros/loop.yaml': 'steps: [".macro loop"]\n',
    'macros/edit.yaml': 'steps: ["hello", ".edit config"]\n',
    'macros/make.yaml': 'steps: [".role brand-new"]\n',
    'macros/role.yaml': 'steps: [".role code", "hello"]\n',
    'roles/hot.md': '---\nmodel: fake:two\ntemperature: 1.5\nenabled_tools: fs_ls\n---\nHot.',
  };

  verifies('R-53').test(
    'happens without role, session, RAG or agent, over the same model and tools, and prints its steps',
    async () => {
      await using world = await openWorld({ files: FILES });
      const lines: string[] = [];
      const { ctx, seen } = await run(world, 'plain', {
        lines,
        from: async (outer) => {
          await outer.useRole('hot');
          await outer.useSession('s');
        },
      });
      const bare = [1, undefined, undefined, undefined, undefined, 'fake:two', 1.5, 'fs_ls'];
      expect({ lines, seen, after: [ctx.session?.name, ctx.role?.name, ctx.macroDepth] }).toEqual({
        lines: ['>> first x', '>> second'],
        seen: [
          ['first x', ...bare],
          ['second', ...bare],
        ],
        after: ['s', 'hot', 0],
      });
    },
  );

  verifies('R-53').test('keeps what a step entered for the steps after it, and not for who called it', async () => {
    await using world = await openWorld({ files: FILES });
    const { ctx, seen } = await run(world, 'role');
    expect([(seen[1] as [string, boolean, { name: string }])[2].name, ctx.role]).toEqual(['code', undefined]);
  });

  verifies('R-53').test('ends at a depth of eight, and refuses what needs a person', async () => {
    await using world = await openWorld({ files: FILES });
    const lines: string[] = [];
    await expect(run(world, 'loop', { lines })).rejects.toMatchObject({ code: 'macro_depth' });
    expect(lines).toHaveLength(8);
    await expect(run(world, 'edit')).rejects.toMatchObject({ code: 'macro_refused' });
    await expect(run(world, 'make')).rejects.toMatchObject({ code: 'macro_refused' });
    await expect(run(world, 'none')).rejects.toMatchObject({ code: 'macro_not_found' });
    expect(listMacros(world.app.paths)).toEqual(['edit', 'loop', 'make', 'plain', 'role']);
  });
});
