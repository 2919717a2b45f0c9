import { z } from 'zod';
import { pathFilter } from '../../../base/glob.ts';
import type { SafeDir } from '../../../base/safe-dir.ts';
import { defineTool } from '../define-tool.ts';
import type { Tool } from '../tool.ts';
import { searchLines } from './line-search.ts';
import { type Location, type Locations, named } from './location.ts';

const MOST_FILES = 50_000;
const MOST_PATHS = 1_000;
const MAX_FILE = 4 * 1024 * 1024;
/** Skipped unless the model names it. */
const CROWDED = 'node_modules';

const folder = z.string().min(1).default('.').describe('Folder to look in');

export function searchingTools(locations: Locations): Tool[] {
  const { claims } = locations;
  return [
    defineTool({
      name: 'fs_glob',
      description: 'Finds files by a pattern such as src/**/*.ts.',
      effect: 'read',
      arguments: z.object({ pattern: z.string().min(1), path: folder }),
      claims,
      async run({ pattern, path }, { cwd, signal }) {
        const isWanted = pathFilter(pattern);
        const wantsCrowd = `${pattern}/${path}`.includes(CROWDED);
        const found: string[] = [];
        for await (const file of walk(locations.locate(path, cwd), { signal, wantsCrowd })) {
          if (isWanted(file)) found.push(file);
          if (found.length > MOST_PATHS) break;
        }
        if (found.length === 0) return '(no file)';
        const more = found.length > MOST_PATHS ? [`(more than ${MOST_PATHS}; narrow the pattern)`] : [];
        return [...found.slice(0, MOST_PATHS), ...more].join('\n');
      },
    }),
    defineTool({
      name: 'fs_grep',
      description: 'Finds lines by a regular expression (JavaScript). Answers path:line: text.',
      effect: 'read',
      arguments: z.object({
        pattern: z.string().min(1),
        path: folder,
        include: z.string().min(1).optional().describe('Only files that fit this pattern, such as *.ts'),
      }),
      claims,
      async run({ pattern, path, include }, { cwd, signal }) {
        const location = locations.locate(path, cwd);
        const wantsCrowd = `${include ?? ''}/${path}`.includes(CROWDED);
        const files = filesOf(location, { signal, wantsCrowd, include });
        const read = reading(location.dir, location.path);
        const { lines, isCut } = await searchLines({ pattern, files, read, signal });
        if (lines.length === 0) return '(no line)';
        return [...lines, ...(isCut ? ['(there are more; narrow the pattern)'] : [])].join('\n');
      },
    }),
  ];
}

interface Walk {
  signal: AbortSignal;
  wantsCrowd: boolean;
}

const under = (base: string, name: string) => (base === '' ? name : `${base}/${name}`);

/** The files below a folder, relative to it. Links are not followed. */
async function* walk({ dir, path, shown }: Location, { signal, wantsCrowd }: Walk): AsyncGenerator<string> {
  const folders = [''];
  for (let seen = 0, at = folders.shift(); at !== undefined; at = folders.shift()) {
    signal.throwIfAborted();
    const here = at;
    const location = { dir, path: under(path, here), shown: under(shown, here) } as Location;
    const entries = await named(location, () => dir.list(location.path));
    for (const { name, kind } of entries) {
      if (kind === 'file') yield under(here, name);
      if (kind === 'dir' && (wantsCrowd || name !== CROWDED)) folders.push(under(here, name));
      if (++seen > MOST_FILES) return;
    }
  }
}

async function* filesOf(
  location: Location,
  { include, ...how }: Walk & { include?: string | undefined },
): AsyncGenerator<string> {
  const { kind } = await named(location, () => location.dir.stat(location.path));
  if (kind === 'file') {
    yield '';
    return;
  }
  // `*.ts` matches the name in every folder; a pattern with a slash matches the path.
  const isWanted = include === undefined ? () => true : pathFilter(include.includes('/') ? include : `**/${include}`);
  for await (const file of walk(location, how)) if (isWanted(file)) yield file;
}

/** Skips files that are too large, gone or binary. */
function reading(dir: SafeDir, base: string) {
  return async (file: string): Promise<{ shown: string; text: string } | undefined> => {
    const path = file === '' ? base : under(base, file);
    try {
      const bytes = await dir.read(path, MAX_FILE);
      return bytes.subarray(0, 8_192).includes(0) ? undefined : { shown: path, text: bytes.toString('utf8') };
    } catch {
      return undefined;
    }
  };
}
