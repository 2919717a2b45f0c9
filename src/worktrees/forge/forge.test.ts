import { expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import type { AsUser } from '../deps.ts';
import { Forge } from './programs.ts';
import { forgeOf } from './remote.ts';

test('all ways to write the address of a repository name the same forge, and a folder or an option names none', () => {
  const same = [
    'git@github.com:acme/shop.git',
    'ssh://git@github.com:22/acme/shop.git',
    'https://token@github.com/acme/shop',
    'git://github.com/acme/shop.git/',
  ];
  for (const address of same) expect(forgeOf(address)).toEqual({ host: 'github.com', path: 'acme/shop' });
  expect(forgeOf('git@gitlab.corp.example:team/sub/shop.git')?.path).toBe('team/sub/shop');
  const none = [
    '',
    '/srv/shop.git',
    '../shop',
    'C:/shop',
    'file:///srv/shop.git',
    'git@h.example:a b/c',
    'https://h.example/--x y',
  ];
  expect(none.filter((address) => forgeOf(address))).toEqual([]);
});

/** A program that is installed answers what the table says; anything else it was asked ends with 1. */
function userWith(programs: Record<string, Record<string, string>>) {
  const asked: string[] = [];
  const asUser: AsUser = async (program, args) => {
    asked.push([program, ...args].join(' '));
    const answers = programs[program];
    if (!answers) return undefined;
    const found = Object.entries(answers).find(([beginning]) => args.join(' ').startsWith(beginning));
    return { code: found ? 0 : 1, timedOut: false, stdout: found?.[1] ?? '', stderr: found ? '' : 'no' };
  };
  return { asUser, asked };
}

const wanted = { branch: 'reef/sum-1', target: 'main', title: 'Sum', body: 'text', isDraft: true };
const gitlab = { host: 'gitlab.corp.example', path: 'team/sub/shop' };

verifies('U-49').test(
  'a merge request of GitLab is opened and read by glab, with its pipeline as the check',
  async () => {
    const view = {
      iid: 12,
      web_url: 'https://gitlab.corp.example/team/sub/shop/-/merge_requests/12',
      state: 'opened',
      head_pipeline: { status: 'failed', web_url: 'https://gitlab.corp.example/p/1' },
    };
    const { asUser, asked } = userWith({ glab: { '--version': '', 'mr view': JSON.stringify(view), 'mr create': '' } });
    const forge = await Forge.at(asUser, gitlab);
    await forge?.create(wanted);
    expect(await forge?.find(wanted.branch)).toEqual({
      number: 12,
      url: view.web_url,
      state: 'open',
      checks: [{ name: 'pipeline', result: 'failed', url: 'https://gitlab.corp.example/p/1' }],
    });
    expect(asked.find((line) => line.includes('mr create'))).toBe(
      'glab mr create --repo https://gitlab.corp.example/team/sub/shop --source-branch reef/sum-1 --target-branch main --title Sum --description text --yes --draft',
    );
  },
);

verifies('U-49').test('without the program of the forge there is the address to open', async () => {
  const { asUser } = userWith({});
  const [lab, hub] = await Promise.all(
    [gitlab, { host: 'github.com', path: 'acme/shop' }].map((at) => Forge.at(asUser, at)),
  );
  expect([lab?.isInstalled, hub?.isInstalled, lab?.page(wanted), hub?.page(wanted)]).toEqual([
    false,
    false,
    'https://gitlab.corp.example/team/sub/shop/-/merge_requests/new?merge_request%5Bsource_branch%5D=reef%2Fsum-1&merge_request%5Btarget_branch%5D=main',
    'https://github.com/acme/shop/compare/main...reef/sum-1?expand=1',
  ]);
});

test('a host of another name belongs to the program that is logged in there; nobody knows the others', async () => {
  const { asUser } = userWith({ gh: { 'auth status --hostname code.example': '' }, glab: {} });
  expect((await Forge.at(asUser, { host: 'code.example', path: 'a/b' }))?.program).toBe('gh');
  expect(await Forge.at(asUser, { host: 'other.example', path: 'a/b' })).toBeUndefined();
});

test('an answer that is not one is an error, and none is taken for a pull request', async () => {
  const { asUser } = userWith({ gh: { '--version': '', 'pr view a': '{"number":"1"}', 'pr view b': '[[' } });
  const forge = await Forge.at(asUser, { host: 'github.com', path: 'a/b' });
  for (const branch of ['a', 'b']) await expect(forge?.find(branch)).rejects.toMatchObject({ code: 'forge_refused' });
  expect(await forge?.find('c')).toBeUndefined();
  await expect(forge?.create(wanted)).rejects.toThrow(/gh opened no pull request: no\nBy hand: https:/);
});
