import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { openDesk } from '../../../../test/support/runtime/app.ts';
import { verifies } from '../../../../test/support/verifies.ts';

const SCRIPT = '[{ reply: { text: Yes. }, times: always }]';

/** A person who says yes, and takes the options with these numbers. */
function person(...numbers: number[]) {
  const asked: string[] = [];
  return {
    asked,
    ui: {
      confirm: async (question: string) => asked.push(question) > 0,
      input: async () => '',
      async choose(question: string, options: readonly string[]) {
        asked.push(`${question} ${options.join(' ')}`);
        return numbers.flatMap((at) => options[at] ?? []);
      },
    },
  };
}

verifies('R-161').test('.macro with a new name opens the editor, and the macro is there to be run', async () => {
  const { asked, ui } = person();
  const edit = async (file: string) => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, 'variables: [{ name: who }]\nsteps: ["hello {{who}}"]\n');
  };
  await using desk = await openDesk({ script: SCRIPT, face: { edit }, ui });
  const file = desk.runtime.app.paths.macroFile('greet');
  expect(await desk.type('.macro greet')).toEqual([`Saved ${file}\nUsage: .macro greet <who>`]);
  expect(asked).toEqual(['There is no macro greet. Write one?']);
  expect(await desk.type('.macro greet you')).toEqual(['>> hello you', 'Yes.']);
});

verifies('R-161').test('.delete without a name lets a person choose, and nobody else', async () => {
  const files = { 'roles/one.md': '1', 'roles/two.md': '2', 'roles/three.md': '3' };
  const { asked, ui } = person(0, 2);
  await using desk = await openDesk({ script: SCRIPT, files, ui });
  expect(await desk.type('.delete role')).toEqual(['Deleted role one, two']);
  expect(asked).toEqual(['Delete which role? Nothing deletes nothing. one three two']);
  const left = ['one', 'two', 'three'].filter((name) => existsSync(join(desk.dir, `.config/reef/roles/${name}.md`)));
  expect(left).toEqual(['three']);
  await expect(desk.type('.delete macro')).rejects.toMatchObject({ message: 'there is no macro to delete' });
  await using alone = await openDesk({ script: SCRIPT, files });
  await expect(alone.type('.delete role')).rejects.toMatchObject({
    message: 'nobody can choose here: add one of one, three, two',
  });
});

verifies('R-161').test('one question has no tools that ask back; a chat has', async () => {
  const names = async (workingMode: 'cmd' | 'repl') => {
    await using desk = await openDesk({ script: SCRIPT, workingMode });
    return desk.ctx.toolScope.functions.tools.map(({ name }) => name);
  };
  expect([await names('cmd'), await names('repl')]).toEqual([[], expect.arrayContaining(['user__ask'])]);
});
