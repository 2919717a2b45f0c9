import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { makeWorld, type World } from '../e2e/harness.ts';
import { verifies } from '../support/verifies.ts';
import { until } from '../support/wait.ts';

let world: World | undefined;
afterEach(() => world?.close());

verifies('U-42').test(
  'the command of a person runs for a question and for an end, with hostile words made harmless',
  async () => {
    world = makeWorld();
    const { root } = world;
    const told = join(root, 'told.jsonl');
    const program = join(root, 'tell.sh');
    writeFileSync(program, `#!/bin/sh\ncat >> ${told}\nprintf '%s' "$REEF_NOTICE_TITLE" > ${root}/title\n`, {
      mode: 0o755,
    });
    world.configure({ reef: { notify: { command: [program] } } });
    const before = world.script('before', [{ say: 'Long done.' }]);
    const first = await world.client.call('spawn', { agent: before, task: 'the one before' });
    const lines = () =>
      existsSync(told)
        ? readFileSync(told, 'utf8')
            .split('\n')
            .slice(0, -1)
            .map((line) => JSON.parse(line) as { kind: string; text: string; id: string })
        : [];
    await until('the first end is told', () => lines().some(({ kind, id }) => kind === 'end' && id === first.agentId));
    const asks = world.script('asks', [
      { ask: { question: 'Which \u001b[2J shelf?', options: ['a', 'b'] } },
      { say: '{answer}' },
    ]);
    const { agentId } = await world.client.call('spawn', { agent: asks, task: 'tidy up' });
    const asked = await until('the question is told', () => lines().find(({ kind }) => kind === 'question'));
    expect([asked.id, asked.text]).toEqual([agentId, 'Which \u241b[2J shelf?']);
    await world.client.call('send', { id: agentId, option: [1] });
    await until('the end is told', () => lines().some(({ kind, id }) => kind === 'end' && id === agentId));
    await until('its title is written', () => readFileSync(join(root, 'title'), 'utf8') === 'completed: tidy up');
    // Each was told once.
    expect(lines().map(({ kind }) => kind)).toEqual(['end', 'question', 'end']);
  },
);
