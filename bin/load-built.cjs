'use strict';
const { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { constants, Script } = require('node:vm');

const BUILT = join(__dirname, '../dist/cli');

/**
 * Reads files of `dist/cli` as `require` does, but keeps what V8 compiled of them after they have run and not before, as
 * Node's own cache does: that holds no function, and to compile those anew took a third of a start (docs/decisions/0013).
 * What is kept is kept by command, for each runs other functions of the same files.
 */
function builtLoader(cacheDir, command) {
  // V8 compares no more than the length of a source, so that another build must have another folder.
  const build = `${readFileSync(join(BUILT, 'id'), 'utf8')}-${process.version}`;
  const file = join(cacheDir, build, command);
  const kept = readKept(file);
  const scripts = new Map();
  const modules = new Map();

  const load = (name) => {
    const known = modules.get(name);
    if (known) return known.exports;
    const module = { exports: {} };
    modules.set(name, module);
    const filename = join(BUILT, name);
    const script = new Script(
      `(function (exports, require, module, __filename) {${readFileSync(filename, 'utf8')}\n})`,
      {
        filename,
        cachedData: kept.get(name),
        importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      },
    );
    scripts.set(name, script);
    script.runInThisContext()(module.exports, requireFrom, module, filename);
    return module.exports;
  };
  const requireFrom = (id) => (id.startsWith('./') ? load(id.slice(2)) : require(id));

  const isNew = ([name, script]) => !kept.has(name) || script.cachedDataRejected;
  process.on('exit', (code) => {
    // Exit 2 is wrong usage: what is no command gets no file.
    if (code === 2 || ![...scripts].some(isNew)) return;
    for (const [name, script] of scripts) kept.set(name, script.createCachedData());
    try {
      keep(file, kept);
      for (const other of readdirSync(cacheDir)) {
        if (other !== build) rmSync(join(cacheDir, other), { recursive: true, force: true });
      }
    } catch {
      // Where nothing can be kept the next start is as slow as this one.
    }
  });
  return load;
}

/** A line that says which file has how many bytes, then these. */
function readKept(file) {
  const kept = new Map();
  try {
    const bytes = readFileSync(file);
    let at = bytes.indexOf('\n') + 1;
    for (const [name, size] of JSON.parse(bytes.toString('utf8', 0, at))) {
      kept.set(name, bytes.subarray(at, at + size));
      at += size;
    }
  } catch {
    // The first start of this command, or a file that is none of ours: what V8 refuses it compiles again.
  }
  return kept;
}

function keep(file, kept) {
  const sizes = [...kept].map(([name, bytes]) => [name, bytes.length]);
  mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, Buffer.concat([Buffer.from(`${JSON.stringify(sizes)}\n`), ...kept.values()]), {
    flush: true,
  });
  renameSync(temporary, file);
}

module.exports = { builtLoader };
