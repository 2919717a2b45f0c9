import { mkdirSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { createPaths } from '../paths.ts';
import { agentPrompt } from './instructions.ts';
import { listAgents, loadAgentSpec } from './load.ts';

function folder(files: Record<string, string> = {}) {
  const home = temporaryFolder();
  const paths = createPaths({}, home);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(paths.agentDataDir(name), { recursive: true });
    writeFileSync(paths.agentConfigFile(name), text);
  }
  const warnings: string[] = [];
  const load = (name: string) =>
    loadAgentSpec(name, { paths, env: {}, warn: ({ line, message }) => warnings.push(`${line}: ${message}`) });
  return { paths, load, warnings };
}

describe('agents', () => {
  verifies('R-52').test('we ship eight, and each can be used as it is', () => {
    const { paths, load, warnings } = folder();
    const names = ['code-reviewer', 'coder', 'demo', 'explore', 'file-reviewer', 'oracle', 'sisyphus', 'sql'];
    const specs = names.map(load);
    expect({ list: listAgents(paths), warnings }).toEqual({ list: names, warnings: [] });
    for (const { description, instructions, variables, spawnable_agents } of specs) {
      expect(description.length * instructions.length).toBeGreaterThan(0);
      expect(variables.every((variable) => variable.default !== null)).toBe(true);
      expect((spawnable_agents ?? []).filter((name) => !names.includes(name))).toEqual([]);
    }
  });

  test('a folder of the same name comes before one we ship', () => {
    const { load, paths } = folder({ coder: 'description: mine\n', own: 'description: own\n' });
    expect([load('coder').description, load('own').name, listAgents(paths).includes('own')]).toEqual([
      'mine',
      'own',
      true,
    ]);
  });

  verifies('R-11').test('an unknown key is told with its line and the nearest known one', () => {
    const { load, warnings } = folder({ a: 'description: x\nauto_continu: true\n' });
    expect([load('a').auto_continue, warnings]).toEqual([
      false,
      ['2: auto_continu is not a key of an agent and is ignored: did you mean auto_continue?'],
    ]);
  });

  test('a wrong value is config_invalid with its line; a missing agent is agent_missing', () => {
    const { load } = folder({ a: 'description: x\nmax_agent_depth: deep\n', b: 'a: [' });
    for (const name of ['a', 'b']) {
      expect(() => load(name)).toThrow(
        expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(/config\.yaml:\d+: /) }),
      );
    }
    expect(() => load('nobody')).toThrow(expect.objectContaining({ code: 'agent_missing' }));
    expect(() => load('constructor')).toThrow(expect.objectContaining({ code: 'agent_missing' }));
    expect(() => load('../x')).toThrow(expect.objectContaining({ code: 'name_invalid' }));
  });

  verifies('R-52').test('are told of todos, children and teammates by their flags', () => {
    const { load } = folder({
      a: 'auto_continue: true\ncan_spawn_agents: true\n',
      b: 'auto_continue: true\ninject_todo_instructions: false\n',
    });
    const titles = (name: string, isChild: boolean) =>
      [...agentPrompt(load(name), 'Do.', { tools: [], isChild, canAsk: true }).matchAll(/^## (.*)$/gm)].map(
        (match) => match[1],
      );
    expect([titles('a', false), titles('b', true)]).toEqual([
      ['Your list of things to do', 'Agents you can start', 'Asking the person'],
      ['The agents beside you', 'Asking the person'],
    ]);
  });
});
