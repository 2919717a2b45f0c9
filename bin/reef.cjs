#!/usr/bin/env node
'use strict';
// Plain CommonJS that any Node can parse: an old one must hear what is wrong instead of a syntax error.
const { isTooOld, refuse } = require('../scripts/check-node.cjs');
const { existsSync } = require('node:fs');
const { homedir } = require('node:os');
const { dirname, join } = require('node:path');

/** A checkout has a Node of its own, which npm's scripts find by PATH; whoever linked `reef` has only the machine's. */
const OWN_NODE = join(__dirname, '../node_modules/node/bin/node');

const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'reef');

// A command checks a file or two: compiling the checks takes longer than making them.
globalThis.__zod_globalConfig = { jitless: true };

/** Again, by that Node: what a terminal sends reaches it too, what others send is passed on. */
function startAgain() {
  const child = require('node:child_process').spawn(OWN_NODE, [__filename, ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  process.on('SIGINT', () => {});
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(signal === null ? code : 1));
}

async function start() {
  process.once('SIGINT', () => process.exit(130));
  process.stdout.on('error', (error) => {
    // Whoever read us has seen enough, as `head` does.
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  const { main } = await program();
  process.exitCode = await main(process);
}

/** A checkout runs its sources as they are, whatever was built of them; a package has none (docs/decisions/0013). */
function program() {
  if (existsSync(join(__dirname, '../src/programs/reef.ts'))) {
    require('node:module').enableCompileCache(join(CACHE, 'compile-cache'));
    return import('../src/programs/reef.ts');
  }
  const [, , word = ''] = process.argv;
  const command = /^[a-z]{1,20}$/.test(word) ? word : 'any';
  const { builtLoader } = require('./load-built.cjs');
  return builtLoader(join(CACHE, 'built'), command)('reef.cjs');
}

/** In a job the daemon serves the tools. Without that, as where it has just ended in order, this process does. */
function toolsOfJob() {
  const [, , word, ...rest] = process.argv;
  const socket = process.env.REEF_SOCKET;
  if (word !== 'mcp' || rest.length > 0 || !socket) return undefined;
  const path = join(dirname(socket), 'mcp');
  return existsSync(path) ? path : undefined;
}

const tools = isTooOld ? undefined : toolsOfJob();
if (tools !== undefined) require('./job-mcp.cjs').pipeTools(tools);
else if (!isTooOld) void start();
else if (existsSync(OWN_NODE)) startAgain();
else refuse();
