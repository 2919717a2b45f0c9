import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { ReefError } from '../../protocol/errors.ts';
import { readLayer } from './load.ts';
import { reefSchema } from './reef-block.ts';
import { readConfig } from './user-config.ts';

let dir: string;
let path: string;
beforeEach(() => {
  dir = temporaryFolder();
  path = join(dir, 'config.yaml');
});

const readFile = (file = path) => readConfig({ all: { REEF_CONFIG_FILE: file }, home: dir });
const read = (text: string) => {
  writeFileSync(path, text);
  return readFile();
};
const refusal = (text: string) => {
  try {
    return { read: read(text) };
  } catch (error) {
    if (!(error instanceof ReefError)) throw error;
    return { code: error.code, message: error.message.replaceAll(path, 'FILE') };
  }
};
const defaults = reefSchema.parse({});

describe('the configuration', () => {
  test('is not needed: without a file, or with an empty one, the defaults hold', () => {
    expect([readFile(join(dir, 'none.yaml')), read(''), read('# nothing\n'), read('{}')]).toEqual(
      Array.from({ length: 4 }, () => defaults),
    );
  });

  test('says how many jobs run, which agents there are, and how long things take', () => {
    const text = `
maxJobs: 3
agents:
  acp:mine: { command: [mine, --acp], env: { MINE_KEY: secret }, auth: api-key }
  claude: { command: [/opt/claude] }
timings: { linger: 0, idle: 1000, ceiling: 60000 }
`;
    expect(read(text)).toEqual({
      ...defaults,
      max_jobs: 3,
      agents: {
        'acp:mine': { command: ['mine', '--acp'], env: { MINE_KEY: 'secret' }, auth: 'api-key' },
        claude: { command: ['/opt/claude'] },
      },
      timings: { linger: 0, idle: 1000, ceiling: 60000 },
    });
  });

  test('has its place in the block `reef` of the one file, beside the settings of the runtime', () => {
    const text = `
model: openai:gpt-4o
reef:
  max_jobs: 3
  agents: { claude: { command: [/opt/claude] } }
  timings: { daemon_idle: 5 }
`;
    expect(read(text)).toEqual({
      ...defaults,
      max_jobs: 3,
      agents: { claude: { command: ['/opt/claude'] } },
      timings: { daemon_idle: 5 },
    });
  });

  verifies('R-11').test('with a key it does not know holds without it, and says which was meant', () => {
    const config = read('maxJobs: 2\nstraem: true\n');
    const told = readLayer(path)?.warnings.map(({ line, message }) => `${line}: ${message}`);
    expect({ config, told }).toEqual({
      config: { ...defaults, max_jobs: 2 },
      told: [
        '1: maxJobs is called reef.max_jobs here, and is in effect',
        '2: straem is not a setting and is ignored: did you mean stream?',
      ],
    });
  });

  const bad: [string, string, RegExp][] = [
    ['a number that is none', 'maxJobs: many', /^FILE:1: maxJobs: /],
    ['no jobs at all', 'maxJobs: 0', /^FILE:1: maxJobs: /],
    ['a command without a program', 'agents: { x: { command: [] } }', /^FILE:1: agents\.x\.command/],
    ['a secret that is no text', 'agents: { x: { env: { KEY: 12 } } }', /^FILE:1: agents\.x\.env\.KEY: .*a number$/],
    ['several mistakes at once', 'maxJobs: 0\nagents: []', /maxJobs: [\s\S]*:2: agents: /],
    ['no YAML', 'agents: [', /^FILE:1: .*column 10/],
    ['a key twice', 'maxJobs: 1\nmaxJobs: 2', /^FILE:2: /],
    ['a list', '- maxJobs', /^FILE: /],
  ];
  for (const [what, text, message] of bad) {
    test(`with ${what} is config_invalid and says where`, () => {
      expect(refusal(text)).toEqual({ code: 'config_invalid', message: expect.stringMatching(message) });
    });
  }

  test('that cannot be read is config_invalid, not empty', () => {
    mkdirSync(path);
    expect(() => readFile()).toThrow(expect.objectContaining({ code: 'config_invalid' }));
  });

  test('that multiplies itself by aliases is refused', () => {
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]'];
    for (const [name, last] of [...'bcdefgh'].map((letter, index) => [letter, 'abcdefg'[index]])) {
      bomb.push(`${name}: &${name} [${Array(9).fill(`*${last}`).join(', ')}]`);
    }
    expect(refusal(bomb.join('\n'))).toEqual({ code: 'config_invalid', message: expect.stringContaining('FILE') });
  });

  test('sets nothing on the prototype of objects', () => {
    refusal('agents: { __proto__: { command: [x] } }\n__proto__: { maxJobs: 1 }');
    expect(({} as { maxJobs?: number; command?: string[] }).maxJobs).toBe(undefined);
  });
});
