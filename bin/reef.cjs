#!/usr/bin/env node
'use strict';
// Plain CommonJS that any Node can parse: an old one must hear what is wrong instead of a syntax error.
require('../scripts/check-node.cjs');
const { existsSync } = require('node:fs');
const { enableCompileCache } = require('node:module');
const { homedir } = require('node:os');
const { join } = require('node:path');

// A command checks a file or two: to compile checks for speed takes longer than to make them.
globalThis.__zod_globalConfig = { jitless: true };
enableCompileCache(join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'reef', 'compile-cache'));

process.once('SIGINT', () => process.exit(130));
process.stdout.on('error', (error) => {
  // Whoever read us has seen enough, as `head` does.
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

async function start() {
  // A checkout runs its sources as they are, whatever was built of them; a package has none (docs/decisions/0013).
  const isCheckout = existsSync(join(__dirname, '../src/main.ts'));
  const { main } = isCheckout ? await import('../src/main.ts') : require('../dist/cli/main.cjs');
  process.exitCode = await main(process);
}

void start();
