import { z } from 'zod';
import { descriptorAnchor, realpathAnchor } from '../../../base/safe-dir.ts';
import { safeParts } from '../../../base/safe-path.ts';
import { defineTool } from '../define-tool.ts';
import type { Tool } from '../tool.ts';
import { type Location, type Locations, named } from './location.ts';
import { applyPatch } from './patch.ts';

const path = z.string().min(1).describe('Path, relative to the working directory');
const FILE_MODE = 0o644;
const DIR_MODE = 0o755;
const MOST_REMOVED = 10_000;

export function writingTools(locations: Locations): Tool[] {
  const { claims } = locations;
  return [
    defineTool({
      name: 'fs_write',
      description: 'Writes a file, whole. Missing folders are made.',
      effect: 'write',
      arguments: z.object({ path, contents: z.string() }),
      claims,
      async run({ path: file, contents }, { cwd }) {
        const location = locations.locate(file, cwd);
        await named(location, async () =>
          location.dir.write(location.path, Buffer.from(contents), await modeOf(location)),
        );
        return `wrote ${Buffer.byteLength(contents)} bytes to ${location.shown}`;
      },
    }),
    defineTool({
      name: 'fs_patch',
      description: 'Changes a file by a unified diff; the lines around each change must be as they are in the file.',
      effect: 'write',
      arguments: z.object({ path, contents: z.string().min(1).describe('Hunks, each beginning with @@') }),
      claims,
      async run({ path: file, contents }, { cwd }) {
        const location = locations.locate(file, cwd);
        const before = await named(location, async () => (await location.dir.read(location.path)).toString('utf8'));
        const { text, hunks } = applyPatch(before, contents);
        await named(location, () => location.dir.write(location.path, Buffer.from(text)));
        return `changed ${hunks} place${hunks === 1 ? '' : 's'} of ${location.shown}`;
      },
    }),
    defineTool({
      name: 'fs_mkdir',
      description: 'Makes a folder, with those above it that are missing.',
      effect: 'write',
      arguments: z.object({ path }),
      claims,
      async run({ path: folder }, { cwd }) {
        const location = locations.locate(folder, cwd);
        const openAnchor = process.platform === 'linux' ? descriptorAnchor : realpathAnchor;
        await named(location, async () =>
          openAnchor({ root: location.dir.root, parts: safeParts(location.path), makeMode: DIR_MODE }).close(),
        );
        return null;
      },
    }),
    defineTool({
      name: 'fs_rm',
      description: 'Removes a file, or a folder with all that is in it.',
      effect: 'write',
      arguments: z.object({ path }),
      claims,
      async run({ path: target }, { cwd, signal }) {
        const location = locations.locate(target, cwd);
        const removed = await named(location, () => remove(location, signal));
        return `removed ${removed} entr${removed === 1 ? 'y' : 'ies'}`;
      },
    }),
  ];
}

async function modeOf({ dir, path: file }: Location): Promise<number | undefined> {
  try {
    await dir.stat(file);
    return undefined;
  } catch {
    return FILE_MODE;
  }
}

/** Counts the entries before it removes any: a mistake must not empty a large tree. */
async function remove({ dir, path: target, shown }: Location, signal: AbortSignal): Promise<number> {
  const entries = [target];
  for (let at = 0; at < entries.length; at++) {
    signal.throwIfAborted();
    const entry = entries[at] ?? '';
    if ((await dir.stat(entry)).kind !== 'dir') continue;
    entries.push(...(await dir.list(entry)).map(({ name }) => `${entry}/${name}`));
    if (entries.length > MOST_REMOVED) throw new Error(`${shown} has more than ${MOST_REMOVED} entries`);
  }
  for (const entry of entries.reverse()) await dir.remove(entry);
  return entries.length;
}
