import { afterEach, expect } from 'vitest';
import { plainGit } from '../../../../test/support/repository.ts';
import { sampleJob } from '../../../../test/support/surfaces/samples.ts';
import { smallCore } from '../../../../test/support/surfaces/small-core.ts';
import { openSocket, type TestSocket } from '../../../../test/support/surfaces/socket.ts';
import { spoken } from '../../../../test/support/surfaces/spoken.ts';
import { verifies } from '../../../../test/support/verifies.ts';

let socket: TestSocket | undefined;
afterEach(() => socket?.close());

/** A command at a terminal, where this is typed when it asks. */
async function at(command: string, keys: string) {
  const item = { name: 'reef.config.yaml', kind: 'config' as const, content: 'gates: {}', hash: 'h1', trusted: false };
  const { core, calls } = smallCore(sampleJob(), { trust: async () => ({ repository: '/repo', items: [item] }) });
  socket = await openSocket(core);
  plainGit(socket.dir)('init', '-q');
  const said = await spoken({
    ...{ args: [command], cwd: socket.dir, isTTY: true },
    env: { PATH: '/usr/bin:/bin', HOME: socket.dir, ...socket.env, NO_COLOR: '1' },
    person: (stdin, stderr) =>
      void stderr.on('data', (asked: Buffer) => void (asked.toString().includes('[y/N]') && stdin.write(keys))),
  });
  await socket.close();
  return { ...said, trusted: calls.flatMap(({ input }) => (input as { hashes?: string[] }).hashes ?? []) };
}

verifies('X-16', 'U-02').test(
  'Ctrl-C and Ctrl-D at the question trust nothing, and are no defect of ours',
  async () => {
    for (const key of ['\u0003', '\u0004']) {
      const { code, err, trusted } = await at('trust', key);
      expect([code, trusted]).toEqual([3, []]);
      expect(err).toMatch(/\nNothing was trusted\. To trust what is shown: reef trust --yes\n$/);
      const first = await at('init', key);
      expect([first.code, first.trusted, first.out.includes('reef trust')], first.err).toEqual([0, [], true]);
    }
    expect(await at('trust', 'y\r')).toMatchObject({ code: 0, trusted: ['h1'] });
  },
);
