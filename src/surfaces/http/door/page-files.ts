import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export const PAGE_FOLDER = fileURLToPath(new URL('../../../../dist/web/', import.meta.url));

/** The addresses of the page, which it makes itself from one file. */
const PAGE_PATH = /^\/(?:(?:now|runs|jobs|worktrees|code|usage|new)(?:\/[\w@.~%-]{1,300})?\/?)?$/;
const ASSET_PATH = /^\/assets\/([\w-][\w.-]{0,200})$/;

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
  json: 'application/json',
  webmanifest: 'application/manifest+json',
  woff2: 'font/woff2',
  txt: 'text/plain; charset=utf-8',
};

interface PageFile {
  status: number;
  type: string;
  body: Uint8Array<ArrayBuffer> | string;
}

const NOT_BUILT = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Reef</title>
<h1>The page is not built yet</h1>
<p>The door is open, and its interfaces work. For the page itself, type this in the folder of Reef, then reload:</p>
<pre>node scripts/build-web.ts</pre>
</html>
`;

/** What the built page has at this path; undefined where nothing of the page can be. */
export async function pageFile(path: string, folder: string): Promise<PageFile | undefined> {
  if (PAGE_PATH.test(path)) {
    const html = await readOrNothing(`${folder}/index.html`);
    return { status: html ? 200 : 503, type: 'text/html; charset=utf-8', body: html ?? NOT_BUILT };
  }
  const name = ASSET_PATH.exec(path)?.[1];
  if (name === undefined) return undefined;
  const body = await readOrNothing(`${folder}/assets/${name}`);
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1)];
  if (!body || type === undefined) return { status: 404, type: 'text/plain; charset=utf-8', body: 'not found' };
  return { status: 200, type, body };
}

async function readOrNothing(path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return await readFile(path);
  } catch {
    return undefined;
  }
}
