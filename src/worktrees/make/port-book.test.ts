import { mkdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../test/support/temporary-folder.ts';
import { verifies } from '../../../test/support/verifies.ts';
import { ReefError } from '../../protocol/errors.ts';
import { PortBook } from './port-book.ts';

function openBook(folder: string, isFree: (port: number) => Promise<boolean> = async () => true): PortBook {
  const book = new PortBook({ path: join(folder, 'state', 'ports.db'), isFree });
  onTestFinished(() => book.close());
  return book;
}

/** As a program would: by binding it. */
function canBind(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

verifies('T-46').test('fifty that ask at once, through several homes, share no port', async () => {
  const folder = temporaryFolder();
  const books = Array.from({ length: 5 }, () => openBook(folder));
  const asked = Array.from({ length: 50 }, (_, n) => books[n % 5]?.reserve(`id-${n}`, folder));
  const bases = await Promise.all(asked);
  expect(new Set(bases).size).toBe(50);
  expect(bases.every((base) => base !== undefined && base % 10 === 0 && base >= 20_000 && base <= 31_990)).toBe(true);
});

verifies('T-46').test(
  'a block in which somebody listens is passed over, and the slot follows from the id',
  async () => {
    const [one, other] = [temporaryFolder(), temporaryFolder()];
    const first = await openBook(one).reserve('the same id', one);
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(first + 7, '127.0.0.1', resolve);
    });
    onTestFinished(() => void server.close());
    const second = await openBook(other, canBind).reserve('the same id', other);
    expect([second > first || second < first, second % 10]).toEqual([true, 0]);
    expect(second).not.toBe(first);
  },
);

verifies('T-46').test('an owner keeps its block until it lets go of it, also through a restart', async () => {
  const folder = temporaryFolder();
  const book = openBook(folder);
  const base = await book.reserve('a', folder);
  const later = openBook(folder, async () => false);
  expect([later.held('a'), later.held('b')]).toEqual([base, undefined]);
  later.release('a');
  expect(book.held('a')).toBeUndefined();
});

verifies('T-46').test('blocks of folders that are gone are free again, and with none left it is said', async () => {
  const folder = temporaryFolder();
  const gone = join(folder, 'gone');
  mkdirSync(gone);
  const book = openBook(folder);
  const base = await book.reserve('x', gone);
  rmSync(gone, { recursive: true });
  await book.reserve('y', folder);
  expect(book.held('x')).toBeUndefined();
  expect(await openBook(folder, async (port) => port >= base && port < base + 10).reserve('x', folder)).toBe(base);
  const full = openBook(temporaryFolder(), async () => false).reserve('z', folder);
  await expect(full).rejects.toThrow(ReefError);
});
