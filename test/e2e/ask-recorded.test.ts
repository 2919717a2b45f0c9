import { join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../support/verifies.ts';
import { makeUser, type Said } from './runtime-rig.ts';

/** T18 of the seed: ten calls as they were recorded, byte for byte. `vitest -u` records anew, for a change that is meant. */
const CALLS: Readonly<Record<string, { args: string[]; input?: string }>> = {
  hello: { args: ['hello'] },
  role: { args: ['--role', 'explain', 'a reef'] },
  session: { args: ['--session', 'my-project', 'hello'] },
  agent: { args: ['--agent', 'sisyphus', 'where are you?'] },
  info: { args: ['--info'] },
  model: { args: ['--model', 'openai:gpt-4o', 'hello'] },
  'dry-run': { args: ['--dry-run', '--role', 'explain', 'a reef'] },
  code: { args: ['-c', 'a fibonacci function'] },
  file: { args: ['-f', 'notes.txt', 'what is this about?'] },
  stdin: { args: ['summarise this'], input: 'text from a pipe\n' },
};

const recorded = join(import.meta.dirname, '../fixtures/runtime/recorded');

const asText = ({ stdout, stderr, code }: Said) => `exit ${code}\n--- stdout\n${stdout}--- stderr\n${stderr}`;

for (const [name, { args, input }] of Object.entries(CALLS)) {
  verifies('R-138', 'R-114').test(`reef ask ${args.join(' ')} says what it said when it was recorded`, async () => {
    const user = makeUser();
    user.write('work/notes.txt', 'Coral grows slowly.\n');
    const said = await user.reef(['ask', ...args], input === undefined ? {} : { input });
    await expect(asText(said)).toMatchFileSnapshot(join(recorded, `${name}.txt`));
  });
}
