/**
 * The end of `npm ci` and `npm install` in a checkout: npm runs the script called `dependencies`. Each grammar package
 * brings its generated parser and a native build for every platform, of which Reef reads only the `.wasm`. No package
 * carries the `.wasm` alone, so this removes 400 MB again. Plain JavaScript: the Node that runs npm may be an old one.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const PACKAGES = new URL('../node_modules', import.meta.url).pathname;
const UNREAD = new Set(['prebuilds', 'parser.c', 'grammar.json', 'node-types.json']);

function grammarPackages() {
  const scopes = ['', '@tree-sitter-grammars'].map((scope) => join(PACKAGES, scope));
  return scopes
    .filter((dir) => existsSync(dir))
    .flatMap((dir) => readdirSync(dir).map((name) => join(dir, name)))
    .filter((dir) => /\/tree-sitter-[^/]+$/.test(dir));
}

function trim(dir) {
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (UNREAD.has(entry.name)) rmSync(path, { recursive: true });
    else if (entry.isDirectory()) trim(path);
  }
}

for (const dir of grammarPackages()) trim(dir);
