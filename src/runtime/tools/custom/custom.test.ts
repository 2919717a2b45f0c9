import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bench, commands, folder } from '../../../../test/support/engine/workbench.ts';
import { verifies } from '../../../../test/support/verifies.ts';
import { run } from '../../../process/run.ts';
import { failureOutput } from '../output.ts';
import { parseArgcTags } from './argc-tags.ts';
import type { CustomToolDeps } from './custom-tool.ts';
import { CustomTools, type LoadedTools } from './load-custom.ts';

const python = await run({
  file: 'python3',
  args: ['-V'],
  cwd: '/',
  env: { PATH: process.env.PATH ?? '' },
  timeoutMs: 60_000,
}).catch(() => undefined);
const hasPython = python?.code === 0;

async function openTools(given: Partial<CustomToolDeps>): Promise<CustomTools> {
  const functionsDir = given.functionsDir ?? folder();
  const deps = { functionsDir, utilsFile: join(functionsDir, 'utils/prompt-utils.sh'), configDir: functionsDir };
  return new CustomTools({ run: await commands(), cacheDir: folder(), variables: {}, ...deps, ...given });
}

async function load(files: Record<string, string>, variables: Record<string, string> = {}) {
  const dir = folder(files);
  const cacheDir = folder();
  const custom = await openTools({ functionsDir: dir, cacheDir, variables });
  return { dir, cacheDir, custom, loaded: await custom.load(dir) };
}
const shapes = ({ tools, broken }: LoadedTools) => ({
  tools: tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
  broken: broken.map(({ file, reason }) => [file.slice(file.lastIndexOf('/') + 1), reason]),
});

const WEATHER = `#!/usr/bin/env bash
set -e
# @describe Get the weather of a city.
# In any unit.
# @option --city! The city
# @option --unit[=metric|imperial] Which unit
# @option --days <INT> How many days
# @option --tag* Tags
# @flag --long-form All of it
# @env LLM_OUTPUT=/dev/stdout The output path
# @env WEATHER_KEY! The key
main() {
  echo "city=$argc_city unit=$argc_unit days=$argc_days long=$argc_long_form key=$WEATHER_KEY" >> "$LLM_OUTPUT"
  echo "tags=\${#argc_tag[@]}:\${argc_tag[1]}" >> "$LLM_OUTPUT"
  echo "$LLM_TOOL_NAME" >> "$LLM_OUTPUT"
  echo "progress" >&2
}
eval "$(argc --argc-eval "$0" "$@")"
`;

describe('a tool in shell', () => {
  const weather = {
    name: 'weather',
    description: 'Get the weather of a city.\nIn any unit.',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string', description: 'The city' },
        unit: { type: 'string', enum: ['metric', 'imperial'], description: 'Which unit', default: 'metric' },
        days: { type: 'integer', description: 'How many days' },
        tag: { type: 'array', items: { type: 'string' }, description: 'Tags' },
        long_form: { type: 'boolean', description: 'All of it' },
      },
      required: ['city'],
    },
  };

  verifies('R-91').test('is declared by its comment tags', async () => {
    const { loaded } = await load({ 'weather.sh': WEATHER });
    expect(shapes(loaded)).toEqual({ tools: [weather], broken: [] });
  });

  verifies('R-91').test('gets its arguments as variables, arrays included, and whatever they contain', async () => {
    const { loaded, dir } = await load({ 'weather.sh': WEATHER }, { WEATHER_KEY: 'k' });
    const { use } = bench(loaded.tools, dir);
    const args = { city: '$(touch hacked) "x"', days: 3, tag: ['one', 'two words'], long_form: true };
    expect(await use('weather', args)).toBe(
      'city=$(touch hacked) "x" unit=metric days=3 long=1 key=k\ntags=2:two words\nweather\n',
    );
  });

  verifies('R-91').test('says which argument or variable is missing', async () => {
    const { loaded, dir } = await load({ 'weather.sh': WEATHER });
    const { use } = bench(loaded.tools, dir);
    expect([
      await use('weather', {}),
      await use('weather', { city: 'x', no: 1 }),
      await use('weather', { city: 'x' }),
    ]).toEqual(['! weather needs city', '! weather has no argument no', '! weather needs the variable WEATHER_KEY']);
  });

  verifies('X-68').test('may write more than anybody reads: the rest is left out, and that is said', async () => {
    const { loaded, dir } = await load({ 'big.sh': '# @describe Big\nhead -c 20000000 /dev/zero > "$LLM_OUTPUT"\n' });
    const { use } = bench(loaded.tools, dir);
    const text = String(await use('big'));
    expect(text.slice(2 ** 24)).toBe('\n[Only the first 16 MiB were read]');
  });

  verifies('R-91').test('may do without functions, and fails as a command does', async () => {
    const { loaded, dir } = await load({
      'plain.sh': '# @describe Plain\n# @option --word!\necho "said $argc_word"\n',
      'main.sh': '# @describe Main\nmain() { echo from main; }\n',
      'fails.sh':
        '# @describe Fails\nset -e\nmain() { echo before; false; echo after; }\neval "$(argc --argc-eval "$0" "$@")"\n',
    });
    const { use, find, context } = bench(loaded.tools, dir);
    expect([await use('plain', { word: 'hi' }), await use('main')]).toEqual(['said hi\n', 'from main\n']);
    const failed = await find('fails')
      .run({}, context)
      .catch((error: unknown) => error);
    expect(JSON.parse(failureOutput(failed).text)).toEqual({
      tool_call_error: 'Exit code 1',
      stdout: 'before\n',
      stderr: '',
    });
  });

  test('may spell its tags in all the ways of argc', () => {
    const { main } = parseArgcTags(
      [
        '# @describe D',
        '# @option -n --name! <TEXT> Words here',
        '# @option --level=3 <NUM>',
        '# @option --many+ <INT> All',
        '# @option --pick[`_list`] One',
        '# @arg target Where',
        '# @option --quoted="a b" Q',
        '# @env TOKEN! T',
        '# @env OTHER=x O',
      ].join('\n'),
    );
    expect(main).toEqual({
      name: 'main',
      description: 'D',
      parameters: {
        type: 'object',
        properties: {
          name: { type: 'string', description: 'Words here' },
          level: { type: 'number', default: '3' },
          many: { type: 'array', items: { type: 'integer' }, description: 'All' },
          pick: { type: 'string', description: 'One' },
          target: { type: 'string', description: 'Where' },
          quoted: { type: 'string', description: 'Q', default: 'a b' },
        },
        required: ['name', 'many'],
      },
      env: [
        { name: 'TOKEN', isRequired: true },
        { name: 'OTHER', isRequired: false, preset: 'x' },
      ],
      lists: ['many'],
      programs: [],
    });
  });
});

const SUM = `
import os
from typing import List, Literal, Optional

def run(numbers: List[float], name: str, mode: Literal["sum", "max"] = "sum", note: Optional[str] = None, deep: bool | None = None):
    """Adds numbers up.

    And more.
    Args:
        numbers: The numbers
            to add
        name (str): Whose they are
    Returns:
        The sum
    """
    print("working")
    result = sum(numbers) if mode == "sum" else max(numbers)
    return {"name": name, "result": result, "tool": os.environ["LLM_TOOL_NAME"]}
`;

describe('a tool in Python', () => {
  verifies('R-91')
    .needs(hasPython, 'python3')
    .test('is declared by types and docstring, and runs', async () => {
      const { loaded, dir } = await load({
        'add.py': SUM,
        'later.py': 'async def run(a: int):\n    """Later."""\n    return str(a + 1)\n',
        'printer.py': 'def run():\n    """Prints."""\n    print("printed")\n',
      });
      expect(shapes(loaded).tools[0]).toEqual({
        name: 'add',
        description: 'Adds numbers up.\n\nAnd more.',
        parameters: {
          type: 'object',
          properties: {
            numbers: { type: 'array', items: { type: 'number' }, description: 'The numbers to add' },
            name: { type: 'string', description: 'Whose they are' },
            mode: { type: 'string', enum: ['sum', 'max'] },
            note: { type: 'string' },
            deep: { type: 'boolean' },
          },
          required: ['numbers', 'name'],
        },
      });
      const { use } = bench(loaded.tools, dir);
      expect([
        JSON.parse(String(await use('add', { numbers: [1, 2.5], name: 'x' }))),
        await use('later', { a: 1 }),
        await use('printer'),
        await use('later', { a: 'b' }),
      ]).toEqual([{ name: 'x', result: 3.5, tool: 'add' }, '2', 'printed\n', '! Exit code 1']);
    });
});

describe('a tool in TypeScript or JavaScript', () => {
  verifies('R-91').test('exports what it is, and runs', async () => {
    const { loaded, dir } = await load({
      'shout.ts': `export const description: string = 'Shouts';
export const parameters = { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] };
export async function run({ word }: { word: string }): Promise<string> { return word.toUpperCase(); }`,
      'count.js': `console.log('loading');
export const description = 'Counts';
export function run() { console.log('seen'); return { cwd: process.cwd(), cache: process.env.LLM_TOOL_CACHE_DIR }; }`,
    });
    expect(shapes(loaded)).toEqual({
      tools: [
        { name: 'count', description: 'Counts', parameters: { type: 'object', properties: {} } },
        {
          name: 'shout',
          description: 'Shouts',
          parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
        },
      ],
      broken: [],
    });
    const work = folder();
    const { use } = bench(loaded.tools, work);
    expect(await use('shout', { word: 'hi' })).toBe('HI');
    expect(JSON.parse(String(await use('count')))).toEqual({ cwd: work, cache: expect.stringMatching(/\/count$/) });
    expect(dir).not.toBe(work);
  });
});

describe('the folder of tools', () => {
  verifies('R-91').test('works without what is broken in it, and says what that is', async () => {
    const files = {
      'good.sh': '# @describe Good\necho good\n',
      'silent.sh': 'echo nobody described me\n',
      'bad.ts': 'export const run = (;',
      'norun.js': 'export const description = "x";',
      'README.md': 'no tool',
      ...(hasPython && { 'bad.py': 'def run(:\n', 'none.py': 'def other():\n    pass\n' }),
    };
    const { loaded } = await load(files);
    const { tools, broken } = shapes(loaded);
    expect(tools.map(({ name }) => name)).toEqual(['good']);
    const expected = [
      ...(hasPython
        ? [['bad.py', expect.stringContaining('SyntaxError')]]
        : [['bad.ts', expect.stringContaining('SyntaxError')]]),
      ...(hasPython ? [['none.py', 'it has no function run']] : []),
      ['norun.js', expect.stringContaining('run has no function run')],
      ['silent.sh', 'it has no "# @describe" line'],
    ];
    expect(broken).toEqual(expected);
  });

  test('that is not there has no tools', async () => {
    const custom = await openTools({ functionsDir: '/', cacheDir: '/' });
    expect(await custom.load('/nowhere/at/all')).toEqual({ tools: [], broken: [] });
  });

  verifies('R-91').test('is read anew when a file changed', async () => {
    const { custom, dir } = await load({ 'a.sh': '# @describe One\n' });
    writeFileSync(join(dir, 'a.sh'), '# @describe Another\n');
    expect((await custom.load(dir)).tools.map(({ description }) => description)).toEqual(['Another']);
  });
});

describe("an agent's own tools", () => {
  const files = {
    'tools.sh': `# @env AGENT_KEY
# @cmd Greets
# @option --who! Whom
greet() { echo "hello $argc_who from $LLM_AGENT_VAR_PLACE" >> "$LLM_OUTPUT"; }
# @cmd Hidden
_hidden() { :; }
# @cmd Instructions
_instructions() { echo "be kind"; }
helper() { :; }
eval "$(argc --argc-eval "$0" "$@")"
`,
    'tools.py': 'def greet(who: str):\n    """Python."""\n    return "python"\n',
    'tools.ts': `export const tools = { greet: { description: 'TypeScript', run: () => 'ts' } };`,
    'tools.js': `export const tools = { greet: { description: 'JavaScript', run: () => 'js' } };`,
  };

  verifies('D13', 'R-91').test(
    'are the functions of one file: shell before Python before TypeScript before JavaScript',
    async () => {
      const custom = await openTools({});
      const order = ['tools.sh', ...(hasPython ? ['tools.py'] : []), 'tools.ts', 'tools.js'];
      const described = [];
      for (const at of order.keys()) {
        const dir = folder(Object.fromEntries(Object.entries(files).filter(([name]) => order.indexOf(name) >= at)));
        const { tools, broken } = await custom.loadAgent({ name: 'a', dir }, {});
        described.push([tools.map(({ name }) => name).join(), tools[0]?.description, broken.length]);
      }
      expect(described).toEqual([
        ['greet,_instructions', 'Greets', 0],
        ...(hasPython ? [['greet', 'Python.', 0]] : []),
        ['greet', 'TypeScript', 0],
        ['greet', 'JavaScript', 0],
      ]);
    },
  );

  verifies('R-91').test('know the variables of their agent', async () => {
    const custom = await openTools({});
    const dir = folder({ 'tools.sh': files['tools.sh'] });
    const { tools } = await custom.loadAgent({ name: 'a', dir }, { LLM_AGENT_VAR_PLACE: 'here' });
    const { use } = bench(tools, dir);
    expect([await use('greet', { who: 'you' }), await use('_instructions')]).toEqual([
      'hello you from here\n',
      'be kind\n',
    ]);
    expect(await custom.loadAgent({ name: 'a', dir: folder() }, {})).toEqual({ tools: [], broken: [] });
  });
});
