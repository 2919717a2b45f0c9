import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import type { ConfigWarning } from '../config/settings-file.ts';
import { textOf } from '../models/message.ts';
import { createPaths } from '../paths.ts';
import { emptyRole, exportRole, parseRole, roleMessages } from './role.ts';
import { hasRole, listRoles, loadRole, saveRole } from './role-folder.ts';
import { fillFacts, systemFacts } from './system-facts.ts';

const parse = (text: string, warn?: (warning: ConfigWarning) => void) =>
  parseRole({ name: 'r', file: 'r.md', text }, warn);
const ask = (prompt: string, text = 'hello') =>
  roleMessages(prompt, [{ type: 'text', text }]).map((message) => `${message.role}: ${textOf(message)}`);

describe('a role', () => {
  verifies('R-50').test('is a head of keys and a body', () => {
    const text =
      '---\nmodel: openai:gpt-4o\ntemperature: 0\ntop_p: 1\nenabled_tools: fs\nenabled_mcp_servers: github\n---\n\nBe brief.\n';
    expect([parse(text), parse('Just words.\n---\nmore'), parse('---\n---\nbody')]).toEqual([
      {
        name: 'r',
        prompt: 'Be brief.',
        model: 'openai:gpt-4o',
        temperature: 0,
        top_p: 1,
        enabled_tools: 'fs',
        enabled_mcp_servers: 'github',
        max_output_tokens: null,
      },
      emptyRole('r', 'Just words.\n---\nmore'),
      emptyRole('r', 'body'),
    ]);
  });

  verifies('R-50').test(
    'warns of name and prompt, which have no effect, and of old and unknown keys, with the line in the file',
    () => {
      const told: string[] = [];
      const role = parse('---\nname: x\nprompt: y\nuse_tools: fs\ncolour: red\n---\nHi.', ({ line, message }) =>
        told.push(`${line}: ${message}`),
      );
      expect([role.enabled_tools, told]).toEqual([
        'fs',
        [
          '2: name has no effect: the file gives the role its name',
          '3: prompt has no effect: the prompt is the text below the head',
          '4: use_tools is now called enabled_tools',
          expect.stringMatching(/^5: colour is not a key of a role/),
        ],
      ]);
    },
  );

  for (const [what, head] of [
    ['a wrong value', 'temperature: hot'],
    ['no YAML', 'temperature: ['],
    ['a list', '- a'],
  ]) {
    test(`with ${what} in its head is config_invalid`, () => {
      expect(() => parse(`---\n${head}\n---\nHi.`)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
    });
  }

  verifies('R-50').test(
    'without a body leaves the user’s text alone; with __INPUT__ it is one message; else a system prompt',
    () => {
      expect([ask(''), ask('Say __INPUT__ and __INPUT__.', '__INPUT__!'), ask('Be brief.')]).toEqual([
        ['user: hello'],
        ['user: Say __INPUT__! and __INPUT__!.'],
        ['system: Be brief.', 'user: hello'],
      ]);
    },
  );

  verifies('R-50').test(
    'gives examples as turns when inputs and outputs alternate evenly, and as text when not',
    () => {
      const even = 'Translate.\n\n### INPUT:\none\n### OUTPUT:\neins\n\n### INPUT:\ntwo\n### OUTPUT:\nzwei\n';
      const odd = 'Translate.\n\n### INPUT:\none\n### INPUT:\ntwo\n### OUTPUT:\nzwei';
      expect([ask(even, 'three'), ask(odd, 'three')]).toEqual([
        ['system: Translate.', 'user: one', 'assistant: eins', 'user: two', 'assistant: zwei', 'user: three'],
        [`system: ${odd}`, 'user: three'],
      ]);
    },
  );

  verifies('R-50').test('is told about the machine, and keeps what it does not know', () => {
    const facts = systemFacts({
      env: { SHELL: '/usr/bin/fish', LANG: 'de_DE.UTF-8' },
      cwd: '/here',
      now: new Date('2026-01-02T03:04:05Z'),
    });
    expect(
      fillFacts('{{__shell__}} {{__locale__}} {{__now__}} {{__cwd__}} {{__tools__}} {{__os_family__}} {{x}}', facts),
    ).toBe('fish de_DE 2026-01-02T03:04:05.000Z /here {{__tools__}} unix {{x}}');
    expect([facts.os, facts.os_distro, facts.arch].every((fact) => fact.length > 0)).toBe(true);
    expect(systemFacts({ env: { REEF_SHELL: 'nu' }, cwd: '/', now: new Date(0) }).shell).toBe('nu');
  });

  test('is written as it is read', () => {
    const name = fc.option(fc.stringMatching(/^[a-z:,-]{1,12}$/));
    const share = fc.option(fc.integer({ min: 0, max: 20 }).map((n) => n / 10));
    fc.assert(
      fc.property(
        fc.record({ model: name, temperature: share, top_p: share, enabled_tools: name, enabled_mcp_servers: name }),
        fc.stringMatching(/^[a-z{}#: \n-]{0,60}$/).filter((text) => !text.trimStart().startsWith('---')),
        (keys, body) => {
          const role = { ...emptyRole('r', body.trim()), ...keys };
          expect(parse(exportRole(role))).toEqual(role);
        },
      ),
    );
  });
});

describe('the folder of roles', () => {
  const open = () => {
    const home = temporaryFolder();
    const paths = createPaths({}, home);
    mkdirSync(paths.rolesDir(), { recursive: true });
    return paths;
  };

  verifies('R-50').test('has the ten we ship, and a file of the user’s comes before one of them', () => {
    const paths = open();
    const shipped = [
      'code',
      'create-prompt',
      'create-title',
      'explain-shell',
      'functions',
      'github',
      'mcp-servers',
      'repo-analyzer',
      'shell',
      'slack',
    ];
    expect([listRoles(paths), listRoles(paths, false)]).toEqual([shipped, []]);
    const warnings: unknown[] = [];
    for (const name of shipped) loadRole(paths, name, (warning) => warnings.push(warning));
    expect([
      warnings,
      loadRole(paths, 'functions').enabled_tools,
      loadRole(paths, 'github').enabled_mcp_servers,
    ]).toEqual([[], 'all', 'github']);
    writeFileSync(paths.roleFile('code'), 'Mine.');
    writeFileSync(paths.roleFile('own'), 'Own.');
    expect([
      loadRole(paths, 'code').prompt,
      listRoles(paths, false),
      hasRole(paths, 'own'),
      hasRole(paths, 'none'),
    ]).toEqual(['Mine.', ['code', 'own'], true, false]);
  });

  test('does not have what nobody made, or what a name could climb to', () => {
    const paths = open();
    expect(() => loadRole(paths, 'none')).toThrow(expect.objectContaining({ code: 'role_not_found' }));
    expect(() => loadRole(paths, 'toString')).toThrow(expect.objectContaining({ code: 'role_not_found' }));
    expect(() => loadRole(paths, '../models')).toThrow(expect.objectContaining({ code: 'name_invalid' }));
  });

  test('keeps what is saved', async () => {
    const paths = open();
    const role = { ...emptyRole('mine', 'Hello.'), temperature: 0.5 };
    const file = await saveRole(paths, role);
    expect([loadRole(paths, 'mine'), readFileSync(file, 'utf8')]).toEqual([
      role,
      '---\ntemperature: 0.5\n---\n\nHello.\n',
    ]);
  });
});
