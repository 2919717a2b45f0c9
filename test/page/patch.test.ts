import { expect, test } from 'vitest';
import { readPatch, sideBySide } from '../../web/src/screens/worktree/patch.ts';

/** Patches as git writes them, with all that is in them besides lines. */

const OLD = '1'.repeat(40);
const NEW = '2'.repeat(40);

const CHANGED = `diff --git a/src/a b.ts b/src/a b.ts
index ${OLD}..${NEW} 100644
--- a/src/a b.ts\t
+++ b/src/a b.ts\t
@@ -3,3 +3,4 @@ function total() {
 same
-diff --git a/x b/x
+--- not a header
+more
 end
`;

test('lines are numbered on both sides, and what looks like a header inside of a hunk is a line', () => {
  const [file, ...rest] = readPatch(CHANGED);
  expect(rest).toEqual([]);
  expect(file).toMatchObject({
    path: 'src/a b.ts',
    what: 'changed',
    blobs: { old: OLD, new: NEW },
    added: 2,
    removed: 1,
  });
  expect(file?.hunks[0]?.title).toBe('function total() {');
  const lines = file?.hunks[0]?.lines ?? [];
  expect(lines).toEqual([
    { kind: 'same', text: 'same', old: 3, new: 3 },
    { kind: 'removed', text: 'diff --git a/x b/x', old: 4 },
    { kind: 'added', text: '--- not a header', new: 4 },
    { kind: 'added', text: 'more', new: 5 },
    { kind: 'same', text: 'end', old: 5, new: 6 },
  ]);
  expect(sideBySide(lines).map((row) => [row.old?.old, row.new?.new])).toEqual([
    [3, 3],
    [4, 4],
    [undefined, 5],
    [5, 6],
  ]);
});

test('files that came, went, were renamed, are not text or have strange names', () => {
  const none = '0'.repeat(40);
  const files = readPatch(
    [
      ...['diff --git a/new.txt b/new.txt', 'new file mode 100644', `index ${none}..${NEW}`, '--- /dev/null'],
      ...['+++ b/new.txt', '@@ -0,0 +1 @@', '+hello\r', '\\ No newline at end of file'],
      ...['diff --git a/gone.txt b/gone.txt', 'deleted file mode 100644', `index ${OLD}..${none}`, '--- a/gone.txt'],
      ...['+++ /dev/null', '@@ -1 +0,0 @@', '-bye'],
      ...['diff --git a/from.txt b/to.txt', 'similarity index 100%', 'rename from from.txt', 'rename to to.txt'],
      ...['diff --git a/p.png b/p.png', `index ${OLD}..${NEW} 100644`, 'Binary files a/p.png and b/p.png differ'],
      ...['diff --git a/run.sh b/run.sh', 'old mode 100644', 'new mode 100755'],
      ...['diff --git "a/\\303\\244.txt" "b/\\303\\244.txt"', `index ${OLD}..${NEW} 100644`],
      ...['--- "a/\\303\\244.txt"', '+++ "b/\\303\\244.txt"', '@@ -1 +1 @@', '-a', '+b', ''],
    ].join('\n'),
  );
  expect(files.map(({ path, from, what, blobs, note }) => ({ path, from, what, blobs, note }))).toEqual([
    { path: 'new.txt', from: undefined, what: 'added', blobs: { new: NEW }, note: undefined },
    { path: 'gone.txt', from: undefined, what: 'removed', blobs: { old: OLD }, note: undefined },
    { path: 'to.txt', from: 'from.txt', what: 'renamed', blobs: {}, note: 'No line of it differs' },
    {
      path: 'p.png',
      from: undefined,
      what: 'changed',
      blobs: { old: OLD, new: NEW },
      note: 'Not text: its content is not shown',
    },
    { path: 'run.sh', from: undefined, what: 'changed', blobs: {}, note: 'Its mode was 100644 and is 100755' },
    { path: 'ä.txt', from: undefined, what: 'changed', blobs: { old: OLD, new: NEW }, note: undefined },
  ]);
  expect(files[0]?.hunks[0]?.lines).toEqual([{ kind: 'added', text: 'hello', new: 1 }]);
});

test('what was cut at its cap keeps its whole hunks and says that more is missing', () => {
  const [file] = readPatch(`${CHANGED}@@ -20,9 +21,9 @@\n same\n-cut he…[cut 99 bytes]`);
  expect([file?.hunks.length, file?.note]).toEqual([1, 'The rest of this file is cut off']);
});
