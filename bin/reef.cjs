#!/usr/bin/env node
'use strict';
// Plain CommonJS that any Node can parse: an old one must hear what is wrong instead of a syntax error.
require('../scripts/check-node.cjs');
const { enableCompileCache } = require('node:module');
const { homedir } = require('node:os');
const { join } = require('node:path');

enableCompileCache(join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'reef', 'compile-cache'));

process.once('SIGINT', () => process.exit(130));
process.stdout.on('error', (error) => {
  // Whoever read us has seen enough, as `head` does.
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

void import('../src/main.ts').then(async ({ main }) => {
  process.exitCode = await main(process);
});
