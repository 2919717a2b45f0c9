import { describe, expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { ReefError } from '../../protocol/errors.ts';
import type { Json } from '../../protocol/workflow.ts';
import { chooseStart } from '../runs/plan.ts';
import { checkManifest, runnableManifest } from './check-manifest.ts';
import { findManifest, manifestNotFound } from './manifest-file.ts';

const agents = { claude: { reportsCost: true }, codex: { reportsCost: false } };
const to = (signal: string, action: string, more: object = {}) => ({ on_signal: `SIGNAL:${signal}`, action, ...more });
const DEFAULT = to('FAIL_DEFAULT', 'HALT_AND_FLAG');
const node = (id: string, blocks: object, more: object = {}) => ({
  [id]: { entry_block: `${id}__${Object.keys(blocks)[0]}`, context_inheritance: true, blocks, ...more },
});
const gate = (...transitions: object[]) => ({
  worker: 'Internal:TestRunner',
  transitions: [...transitions, to('SUCCESS', 'RETURN'), to('FAILURE', 'HALT_AND_FLAG')],
});
const agent = (...transitions: object[]) => ({ worker: 'Agent:claude', transitions: [...transitions, DEFAULT] });

function check(value: object, more: { strict?: boolean; path?: string } = {}) {
  const { path = 'workflows.json', ...options } = more;
  return checkManifest({ text: JSON.stringify(value, null, 2), path }, { agents, ...options });
}
const codes = (value: object) => check(value).findings.map(({ code }) => code);
const refusal = (call: () => unknown) => {
  try {
    call();
  } catch (error) {
    if (error instanceof ReefError) return { code: error.code, message: error.message };
    throw error;
  }
  return undefined;
};
const checkText = (text: string, path: string) => checkManifest({ text, path }, { agents });

verifies('W-01').test('a bare node map and the superset are the same manifest', () => {
  const nodes = node('Check', { Run: gate() });
  const bare = check(nodes);
  const whole = check({ nodes });
  expect(bare).toEqual({ findings: [], manifest: { nodes } });
  expect(whole).toEqual(bare);
});

verifies('W-01').test('a node that happens to be called nodes is a node', () => {
  const value = node('nodes', { Run: gate() });
  expect(check(value)).toEqual({ findings: [], manifest: { nodes: value } });
});

verifies('W-05').test('JSON and YAML say the same', () => {
  const yaml = `nodes:
  Check:
    entry_block: Check__Run
    context_inheritance: true
    blocks:
      Run:
        worker: Internal:TestRunner
        transitions:
          - { on_signal: SIGNAL:SUCCESS, action: RETURN }
          - { on_signal: SIGNAL:FAILURE, action: HALT_AND_FLAG }
`;
  expect(checkText(yaml, 'workflows.yaml')).toEqual(check({ nodes: node('Check', { Run: gate() }) }));
});

describe('what is no document', () => {
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${[...'bcdefgh']
    .map((name, i) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[i]}`).join(',')}]`)
    .join('\n')}\n`;
  const table: [what: string, text: string, path: string, said: string][] = [
    ['a missing comma', '{\n  "a": 1\n  "b": 2}', 'w.json', 'w.json:3:3: expected "," or "}"'],
    ['two equal keys', '{"a": 1,\n "a": 2}', 'w.json', 'w.json:2:2: the key "a" is there twice'],
    ['an early end', '{"a": [1,', 'w.json', 'w.json:1:10: the file ends too early'],
    ['an open string', '{"a": "b', 'w.json', 'w.json:1:7: a string does not end'],
    ['a bad escape', '{"a": "\\x"}', 'w.json', 'w.json:1:7: the string holds a bad escape or a line break'],
    ['a second document', '{} {}', 'w.json', 'w.json:1:4: there is something after the end of the document'],
    ['a huge number', '[1e999]', 'w.json', 'w.json:1:7: the number is too large'],
    ['depth', '['.repeat(70), 'w.json', 'w.json:1:66: nested deeper than 64 levels'],
    ['a bare key', '{a: 1}', 'w.json', 'w.json:1:2: expected a key in double quotes'],
    ['no colon', '{"a" 1}', 'w.json', 'w.json:1:6: expected ":"'],
    ['an open list', '[1 2]', 'w.json', 'w.json:1:4: expected "," or "]"'],
    ['two equal keys in YAML', 'a: 1\nb: 2\na: 3\n', 'w.yaml', 'w.yaml:3:1: the key "a" is there twice'],
    ['a YAML tag', 'a: !!str 3\n', 'w.yaml', 'w.yaml:1:10: the tag tag:yaml.org,2002:str is not allowed'],
    ['an unknown tag', 'a: !foo 3\n', 'w.yml', 'w.yml:1:4: Unresolved tag: !foo'],
    ['an alias bomb', bomb, 'w.yaml', 'w.yaml:1:20: its aliases make too many values'],
    ['an alias of nothing', 'a: *x\n', 'w.yaml', 'w.yaml:1:4: the alias *x has no anchor'],
    ['a YAML number beyond JSON', 'a: .nan\n', 'w.yaml', 'w.yaml:1:4: JSON has no such value'],
    ['a key that is a list', '? [a]\n: 1\n', 'w.yaml', 'w.yaml:1:3: a key is not plain text'],
    ['broken YAML', 'a: [1\n', 'w.yaml', 'w.yaml:2:1: Flow sequence in block collection must be'],
    ['a cycle', 'a: &a [*a]\n', 'w.yaml', 'w.yaml:1:7: nested deeper than 64 levels'],
    ['YAML depth', '['.repeat(70) + ']'.repeat(70), 'w.yaml', 'w.yaml:1:66: nested deeper than 64 levels'],
  ];
  for (const [what, text, path, said] of table) {
    verifies('W-05').test(`${what} is refused by line and column`, () => {
      const refused = refusal(() => checkText(text, path));
      expect(refused?.code).toBe('invalid_json');
      expect(refused?.message).toContain(said);
    });
  }

  verifies('W-05').test('a byte order mark is no defect', () => {
    expect(checkText(`\uFEFF${JSON.stringify(node('N', { B: gate() }))}`, 'w.json').findings).toEqual([]);
  });

  verifies('W-05').test('a key __proto__ is data', () => {
    const { findings } = checkText('{"__proto__": {"polluted": true}}', 'w.json');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect(findings.length).toBeGreaterThan(0);
  });
});

verifies('W-05').test('more than 1 MiB or 5,000 blocks is too large', () => {
  const blocks = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`B${n}`, { t: 1 }]));
  const sizes = {
    bytes: refusal(() => checkText(JSON.stringify({ a: 'x'.repeat(1024 * 1024) }), 'w.json'))?.code,
    blocks: refusal(() => check(node('N', blocks(5_001))))?.code,
    allowed: refusal(() => check(node('N', blocks(5_000))))?.code,
  };
  expect(sizes).toEqual({ bytes: 'manifest_too_large', blocks: 'manifest_too_large', allowed: undefined });
});

verifies('W-02').test('the first of three names wins and the others are named', async () => {
  const files: Record<string, string> = { '.vision/workflows.json': '{}', '.reef/workflows.yaml': 'x: 1' };
  const found = await findManifest(async (path) => files[path]);
  const none = await findManifest(async () => undefined);
  expect({ found, none, refusal: manifestNotFound().code }).toEqual({
    found: { path: '.reef/workflows.yaml', text: 'x: 1', ignored: ['.vision/workflows.json'] },
    none: undefined,
    refusal: 'manifest_not_found',
  });
  const text = JSON.stringify(node('N', { B: gate() }));
  const { findings } = checkManifest({ text, path: 'w.json' }, { agents, ignored: ['.vision/workflows.json'] });
  expect(findings.map(({ code, severity, message }) => ({ code, severity, message }))).toEqual([
    { code: 'wf_other_file', severity: 'warning', message: '.vision/workflows.json is ignored: w.json comes first' },
  ]);
});

verifies('W-07').test('a run begins with the node named, start, the only node, or the shipped workflow', () => {
  const manifest = (value: object) => check(value).manifest;
  const two = { ...node('One', { B: gate() }), ...node('Two', { B: gate() }) };
  expect([
    chooseStart(manifest(two), 'Two'),
    chooseStart(manifest({ nodes: two, start: 'One' })),
    chooseStart(manifest(node('Only', { B: gate() }))),
    chooseStart(manifest(two)),
    chooseStart(undefined),
    refusal(() => chooseStart(manifest(two), 'Too'))?.message,
  ]).toEqual(['Two', 'One', 'Only', undefined, undefined, 'There is no node "Too". Did you mean "Two"?']);
});

verifies('W-06').test('Worker:X is Agent:X, and an unknown X falls to the default agent with a warning', () => {
  const value = node('N', {
    A: {
      worker: 'Worker:CodeGenerator',
      payload_merge_strategy: [],
      transitions: [DEFAULT, to('SUCCESS', 'JUMP:N__B')],
    },
    B: { worker: 'Agent:claude', transitions: [DEFAULT] },
    C: { worker: 'Worker:writer', transitions: [DEFAULT, to('SUCCESS', 'JUMP:N')] },
  });
  const { findings } = check({ nodes: value, workers: { writer: { agent: 'codex' } } });
  expect(findings.map(({ code, severity, pointer }) => ({ code, severity, pointer }))).toEqual([
    { code: 'wf_agent_default', severity: 'warning', pointer: '/nodes/N/blocks/A/worker' },
    { code: 'wf_unreachable', severity: 'warning', pointer: '/nodes/N/blocks/C' },
  ]);
});

verifies('W-06').test('unknown keys warn, wherever they stand', () => {
  const value = {
    colour: 1,
    workers: { coder: { agent: 'claude', modle: 'x' } },
    nodes: node(
      'N',
      { B: { ...gate({ ...to('OTHER', 'RETURN'), when: 'x' }), timeout: 3, context_slice: ['map:.'] } },
      { x: 1 },
    ),
  };
  const { findings, manifest } = check(value);
  expect(findings.map(({ code, pointer }) => `${code} ${pointer}`).sort()).toEqual([
    'wf_unknown_key /colour',
    'wf_unknown_key /nodes/N/blocks/B/timeout',
    'wf_unknown_key /nodes/N/blocks/B/transitions/0/when',
    'wf_unknown_key /nodes/N/x',
    'wf_unknown_key /workers/coder/modle',
  ]);
  expect(manifest?.nodes.N?.blocks.B?.context).toEqual(['map:.']);
});

/** One defect each: the code, and a file that has it and nothing else. */
const defects: [code: string, value: object, pointer: string][] = [
  ['wf_entry', node('N', { B: gate() }, { entry_block: 'N__C' }), '/N/entry_block'],
  ['wf_entry', node('N', { B: gate() }, { entry_block: 'B' }), '/N/entry_block'],
  ['wf_entry', node('N', { B: gate() }, { entry_block: undefined }), '/N/entry_block'],
  ['wf_entry', { ...node('N', { B: gate() }, { entry_block: 'M__B' }), ...node('M', { B: gate() }) }, '/N/entry_block'],
  ['wf_action', node('N', { B: gate(to('X', 'GOTO:N')) }), '/N/blocks/B/transitions/0/action'],
  ['wf_action', node('N', { B: gate({ on_signal: 'SIGNAL:X' }) }), '/N/blocks/B/transitions/0/action'],
  ['wf_target', node('N', { B: gate(to('X', 'JUMP:N__Z')) }), '/N/blocks/B/transitions/0/action'],
  ['wf_target', node('N', { B: gate(to('X', 'CALL:Fix')) }), '/N/blocks/B/transitions/0/action'],
  ['wf_target', node('N', { B: { ...gate(), returns_to: 'N__Zed' } }), '/N/blocks/B/returns_to'],
  ['wf_target', { nodes: node('N', { B: gate() }), start: 'M' }, '/start'],
  [
    'wf_target',
    { ...node('N', { B: gate(to('X', 'FORK:P,Q')) }), ...node('P', { B: gate() }), ...node('Q', { B: gate() }) },
    '/N/blocks/B/transitions/0/action',
  ],
  ['wf_worker', node('N', { B: { ...gate(), worker: 'Internal:Nothing' } }), '/N/blocks/B/worker'],
  [
    'wf_signal',
    node('N', { B: gate({ on_signal: 'SUCCESS!', action: 'RETURN' }) }),
    '/N/blocks/B/transitions/0/on_signal',
  ],
  ['wf_duplicate', node('N', { B: gate(to('SUCCESS', 'RETURN')) }), '/N/blocks/B/transitions/1'],
  ['wf_guard', node('N', { B: gate(to('X', 'RETURN', { guard: 'last(X' })) }), '/N/blocks/B/transitions/0/guard'],
  [
    'wf_bind',
    node('N', { B: gate(to('X', 'RETURN', { bind_args: [{ to: 'a', from: 'last(' }] })) }),
    '/N/blocks/B/transitions/0/bind_args/0/from',
  ],
  [
    'wf_bind',
    node('N', { B: gate(to('X', 'HALT_AND_FLAG', { bind_args: [{ to: 'a', from: '1' }] })) }),
    '/N/blocks/B/transitions/0/bind_args',
  ],
  [
    'wf_strategy',
    node('N', { B: { ...gate(), payload_merge_strategy: ['KEEP:X'] } }),
    '/N/blocks/B/payload_merge_strategy/0',
  ],
  ['wf_context', node('N', { B: { ...gate(), context: ['outline:src/a.ts', 'what:src'] } }), '/N/blocks/B/context/1'],
  ['wf_schema_ref', node('N', { B: { ...gate(), validationSchema: 'Poem' } }), '/N/blocks/B/validationSchema'],
  ['wf_schema_ref', node('N', { B: { ...gate(), validationSchema: 'constructor' } }), '/N/blocks/B/validationSchema'],
  ['wf_schema_ref', { nodes: node('N', { B: gate() }), schemas: { S: { type: 'strong' } } }, '/schemas/S'],
  [
    'wf_fork_writers',
    {
      ...node('N', { B: gate(to('X', 'FORK:P,Q:N__C')), C: gate() }),
      ...node('P', { A: agent(to('SUCCESS', 'RETURN')) }),
      ...node('Q', { B: gate(to('X', 'CALL:P')) }),
    },
    '/N/blocks/B/transitions/0/action',
  ],
  [
    'wf_no_default',
    node('N', { B: { worker: 'Agent:claude', transitions: [to('SUCCESS', 'RETURN')] } }),
    '/N/blocks/B/transitions',
  ],
  ['wf_unreachable', node('N', { B: gate(), C: gate() }), '/N/blocks/C'],
  ['wf_uncapped_loop', node('N', { B: gate(to('X', 'JUMP:N__C')), C: gate(to('X', 'JUMP:N')) }), '/N/blocks/B'],
  [
    'wf_no_exit',
    node('N', {
      B: { worker: 'Internal:UpdateChangePlan', max_visits: 2, transitions: [to('SUCCESS', 'JUMP:N')] },
    }),
    '/N',
  ],
  [
    'wf_reentry',
    {
      ...node('N', {
        B: { worker: 'Internal:TestRunner', transitions: [to('SUCCESS', 'CALL:M'), to('FAILURE', 'RETURN')] },
      }),
      ...node('M', { B: gate() }),
    },
    '/N/blocks/B/transitions/0/action',
  ],
  ['wf_recursion', node('N', { B: { ...gate(to('X', 'CALL:N:N__B')), max_visits: 3 } }), '/N'],
  [
    'wf_usd_unreported',
    node('N', { B: { ...agent(to('SUCCESS', 'RETURN')), worker: 'Agent:codex', budget: { usd: 2 } } }),
    '/N/blocks/B/budget/usd',
  ],
  [
    'wf_usd_unreported',
    { nodes: node('N', { B: { ...agent(to('SUCCESS', 'RETURN')), worker: 'Agent:codex' } }), budget: { usd: 2 } },
    '/budget/usd',
  ],
  ['wf_unknown_key', node('N', { B: gate() }, { colour: 1 }), '/N/colour'],
  [
    'wf_agent_default',
    node('N', { B: { ...agent(to('SUCCESS', 'RETURN')), worker: 'Agent:poet' } }),
    '/N/blocks/B/worker',
  ],
  ['schema_validation', node('N', { B: { ...gate(), max_visits: 'many' } }), '/N/blocks/B/max_visits'],
  ['schema_validation', node('N', { B: { ...gate(), budget: { money: 1 } } }), '/N/blocks/B/budget'],
  ['schema_validation', { 'a b': node('N', { B: gate() }).N }, '/a b'],
];

describe('one defect is one finding', () => {
  for (const [code, value, pointer] of defects) {
    const isNamed = code === 'schema_validation' && pointer === '/a b';
    verifies('W-08', 'W-09').test(`${code} at ${pointer}`, () => {
      const found = check(value).findings.map((finding) => [finding.code, finding.pointer]);
      expect(isNamed ? found.filter(([each]) => each === code) : found).toEqual([[code, pointer]]);
    });
  }
});

verifies('W-08', 'W-09').test('a file with all defects lists them all in one pass, in the order of the file', () => {
  const all: { [key: string]: Json } = {};
  const wanted: string[] = [];
  defects.forEach(([code, value], index) => {
    if ('nodes' in value || 'a b' in value) return;
    wanted.push(code);
    const renamed = JSON.stringify(value).replaceAll(/\b(N|M|P|Q)(?=__|"|:|,)/g, `$1x${index}`);
    Object.assign(all, JSON.parse(renamed));
  });
  const { findings, manifest } = check(all);
  expect(manifest).toBeUndefined();
  expect(findings.map(({ code }) => code).sort()).toEqual(wanted.sort());
  expect(findings.map(({ line }) => line)).toEqual(findings.map(({ line }) => line).sort((a, b) => a - b));
});

verifies('W-08').test('a finding says code, severity, place, message and hint; the nearest name is offered', () => {
  const text =
    '{"Fix": {"entry_block": "Fix__Go", "context_inheritance": true, "blocks": {"Go": {"worker": "Internal:TestRunner",\n' +
    ' "transitions": [{"on_signal": "SIGNAL:SUCCESS", "action": "JUMP:Fix__Og"}, {"on_signal": "SIGNAL:FAILURE", "action": "RETURN"}], "max_visits": 2}}}}';
  expect(checkText(text, 'w.json').findings).toEqual([
    {
      code: 'wf_target',
      severity: 'error',
      pointer: '/Fix/blocks/Go/transitions/0/action',
      line: 2,
      column: 60,
      message: 'there is no "Fix__Og"; did you mean "Fix__Go"?',
      hint: 'Name a block or node that exists.',
    },
  ]);
});

verifies('W-08').test('--strict turns warnings into errors, and a run starts only without errors', () => {
  const value = node('N', { B: gate(), C: gate() });
  const strict = check(value, { strict: true });
  expect([strict.findings.map(({ severity }) => severity), strict.manifest]).toEqual([['error'], undefined]);
  expect(runnableManifest({ text: JSON.stringify(value), path: 'w.json' }, { agents }).manifest).toEqual({
    nodes: value,
  });
  const broken = (change: object) => () =>
    runnableManifest({ text: JSON.stringify(node('N', { B: { ...gate(), ...change } })), path: 'w.json' }, { agents });
  expect([refusal(broken({ worker: 'Nobody' })), refusal(broken({ approve: 'yes', worker: 'x' }))?.code]).toEqual([
    { code: 'workflow_invalid', message: 'w.json:1:79: "Nobody" is not a worker' },
    'schema_validation',
  ]);
});

verifies('W-09').test('isolation: worktree and read-only agents may fork', () => {
  const branches = {
    ...node('P', { A: agent(to('SUCCESS', 'RETURN')) }),
    ...node('Q', { A: { ...agent(to('SUCCESS', 'RETURN')), worker: 'Agent:reader' } }),
  };
  const fork = (more: object) => ({
    workers: { reader: { agent: 'claude', readonly: true } },
    nodes: { ...node('N', { B: gate(to('X', 'FORK:P,Q,Q:N__C', { ...more })), C: gate() }), ...branches },
  });
  const twoWriters = {
    ...node('N', { B: gate(to('X', 'FORK:P,P:N__C', { isolation: 'worktree' })), C: gate() }),
    ...branches,
  };
  const cap = (codes: string[]) => codes.filter((code) => code !== 'wf_agent_default');
  expect([codes(fork({})), cap(codes(twoWriters))]).toEqual([[], []]);
});

verifies('W-08').test('what is of another kind altogether is said so, and the rest is still checked', () => {
  const found = (value: unknown) =>
    checkText(JSON.stringify(value), 'w.json')
      .findings.map(({ code, pointer, message }) => `${code} ${pointer} ${message}`)
      .sort();
  const blocks = { B: 'x', C: { worker: 'Internal:RunBuilder', transitions: {} } };
  expect([
    found([]),
    found({ N: 3 }),
    found({ N: { entry_block: 'N__B', context_inheritance: true, blocks } }),
    found({ nodes: node('N', { B: gate() }), workers: { w: 3 }, budget: { tokens: -1 } }),
    found({ nodes: node('N', { 'b c': gate() }, { entry_block: 'N__b' }) }),
  ]).toEqual([
    ['schema_validation  is not a map of nodes'],
    ['schema_validation /N is not an object', 'schema_validation /N/blocks is not a map of blocks'],
    [
      'schema_validation /N/blocks/B is not an object',
      'schema_validation /N/blocks/B/transitions is not a list of transitions',
      'schema_validation /N/blocks/C/transitions is not a list of transitions',
      'wf_no_default /N/blocks/C/transitions N__C says nothing about other signals: they would halt the run',
      'wf_no_exit /N from N nothing leads to RETURN or HALT_AND_FLAG',
      'wf_unreachable /N/blocks/C nothing leads to N__C',
    ],
    [
      'schema_validation /budget/tokens Too small: expected number to be >0',
      'schema_validation /workers/w Invalid input: expected object, received number',
    ],
    [
      'schema_validation /nodes/N/blocks/b c "b c" is not a valid block name',
      'wf_entry /nodes/N/entry_block N has no block "b"',
    ],
  ]);
});

test('a manifest of 5,000 blocks in one circle is checked', () => {
  const blocks = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, n) => [
      `B${n}`,
      { worker: 'Internal:TestRunner', transitions: [to('FAIL_DEFAULT', `JUMP:N__B${(n + 1) % 5_000}`)] },
    ]),
  );
  expect(checkText(JSON.stringify(node('N', blocks)), 'w.json').findings.map(({ code }) => code)).toEqual([
    'wf_no_exit',
    'wf_uncapped_loop',
  ]);
});
