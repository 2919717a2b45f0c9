import { expect, test } from 'vitest';
import { NOW } from '../../../../test/support/surfaces/samples.ts';
import { createStyle } from '../../render/style.ts';
import { renderAhead, renderFound } from './init-report.ts';

const style = createStyle({ colour: false, width: 80, now: NOW });

test('commands stand with their reasons, agents with what is left to do', () => {
  const agents = [
    { name: 'claude', title: 'Claude Code', isInstalled: true, login: 'yes' as const, version: '2.1.3' },
    { name: 'codex', title: 'Codex', isInstalled: true, login: 'no' as const, toDo: 'codex login' },
    { name: 'native:coder', title: 'Reef', isInstalled: true, login: 'no' as const, toDo: 'add a model' },
    { name: 'gemini', title: 'Gemini CLI', isInstalled: false, login: 'unknown' as const, toDo: 'npm i' },
  ];
  const found = {
    ...{ repository: '/r', folder: 'crate', toolchains: ['Rust', 'Node'], setup: null, agents },
    alternatives: [
      { toolchain: 'Node', for: 'lint' as const, command: ['npm', 'run', 'lint'], because: 'script "lint"' },
      { toolchain: 'Node', for: 'test' as const, command: ['npm', 'test'], because: 'script "test"' },
    ],
    gates: { test: { command: ['cargo', 'test', 'a b'], because: 'Cargo.toml' } },
    config: { path: '.reef/config.yaml', state: 'replaced' as const, aside: '/r/.reef/config.yaml.before-1' },
  };
  expect(renderFound(found, style).split('\n')).toEqual([
    '/r, in crate  Rust, Node',
    '  set-up  none',
    '  lint    none: skipped',
    '  build   none: skipped',
    "  test    cargo test 'a b'  Cargo.toml",
    '  .reef/config.yaml  replaced; the old one is now /r/.reef/config.yaml.before-1',
    '',
    'Also found  to use one of these instead, add its flag to `reef init --force`',
    '  Node  --lint \'npm run lint\'  script "lint"',
    '  Node  --test \'npm test\'      script "test"',
    '',
    'Agents',
    '  claude        2.1.3, log-in found',
    '  codex         no log-in found: codex login',
    '  native:coder  no model is configured: add a model',
    '  not installed: gemini',
  ]);
});

test('what is in the way comes before what to type, and is left out when nothing is', () => {
  const next = [
    { type: 'reef trust', to: 'let it' },
    { type: 'reef inbox', to: 'what it asks' },
  ];
  const steps = ['', 'Next', '  reef trust  let it', '  reef inbox  what it asks'];
  expect(renderAhead({ notes: [], next }, style).split('\n')).toEqual(steps);
  expect(renderAhead({ notes: ['A\u001b[31m'], next }, style).split('\n')).toEqual(['', 'Note', '  A␛[31m', ...steps]);
});
