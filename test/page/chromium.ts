import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sparticuz from '@sparticuz/chromium';
import { type Browser, chromium } from 'playwright-core';
import manifest from '../../package.json' with { type: 'json' };
import { ROOT } from '../support/source-files.ts';
import { disposableFolder } from '../support/temporary-folder.ts';

const CACHE = join(ROOT, 'node_modules/.cache/reef');
/** The package brings its browser for Linux on x64 as an archive; it is unpacked here once for its version. */
const UNPACKED = join(CACHE, `chromium-${manifest.devDependencies['@sparticuz/chromium']}`);
const CANDIDATES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

const isInPackage = () => process.platform === 'linux' && process.arch === 'x64';

/** `REEF_CHROMIUM`, else that of the package, else one that is installed; undefined where there is none. */
function executable(): string | undefined {
  const named = process.env.REEF_CHROMIUM;
  if (named) return named;
  if (isInPackage()) return join(UNPACKED, 'chromium');
  return CANDIDATES.find((path) => existsSync(path));
}

export const hasChromium = executable() !== undefined;

/** Test files start browsers at the same time, so this happens once before all of them; half an archive is never used. */
export async function unpackChromium(): Promise<void> {
  if (executable() !== join(UNPACKED, 'chromium') || existsSync(UNPACKED)) return;
  mkdirSync(CACHE, { recursive: true });
  using folder = disposableFolder(CACHE);
  const before = process.env.TMPDIR;
  // The package unpacks into the folder for temporary things, and takes whatever is there already for its own.
  process.env.TMPDIR = join(folder.path, 'chromium');
  mkdirSync(process.env.TMPDIR);
  try {
    await sparticuz.executablePath();
    // Its own list of fonts names folders of other machines.
    const fonts = `<fontconfig><dir>${UNPACKED}/fonts</dir><dir>/usr/share/fonts</dir><cachedir>${UNPACKED}/font-cache</cachedir></fontconfig>`;
    writeFileSync(join(process.env.TMPDIR, 'fonts.xml'), fonts);
    renameSync(process.env.TMPDIR, UNPACKED);
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
}

/** With the security of the web as people have it: the package's own arguments would switch it off. */
export async function startChromium(): Promise<Browser> {
  const path = executable();
  if (path === undefined) throw new Error('There is no Chromium: install one, or name it in REEF_CHROMIUM');
  const fonts = join(UNPACKED, 'fonts.xml');
  return chromium.launch({
    executablePath: path,
    // Containers rarely let it make namespaces, and what it opens here is ours.
    chromiumSandbox: false,
    timeout: 120_000,
    env: { ...process.env, ...(existsSync(fonts) && { FONTCONFIG_FILE: fonts }) } as Record<string, string>,
  });
}
