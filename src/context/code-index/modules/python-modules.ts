import { dirname, join } from 'node:path';
import type { ViewPaths } from './view-paths.ts';

/** Modules of Python's own library: one alone never means a file of a repository that happens to have its name. */
const OWN = new Set(
  `__future__ abc argparse array ast asyncio atexit base64 bdb binascii bisect builtins bz2 calendar cmath cmd code codecs codeop
  collections colorsys compileall concurrent configparser contextlib contextvars copy copyreg csv ctypes curses dataclasses
  datetime decimal difflib dis doctest email encodings enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib
  functools gc getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http imaplib importlib inspect io ipaddress
  itertools json keyword linecache locale logging lzma mailbox marshal math mimetypes mmap modulefinder multiprocessing netrc
  numbers operator optparse os pathlib pdb pickle pickletools pkgutil platform plistlib poplib posix pprint profile pstats pty pwd
  queue quopri random re readline reprlib resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site
  smtplib socket socketserver sqlite3 ssl stat statistics string stringprep struct subprocess symtable sys sysconfig syslog tarfile
  tempfile termios textwrap threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty turtle types typing
  unicodedata unittest urllib uuid venv warnings wave weakref webbrowser winreg wsgiref xml xmlrpc zipapp zipfile zipimport zlib
  zoneinfo`.split(/\s+/),
);
const SOURCE_FOLDER = /(^|\/)(src|lib|python)$/i;

/**
 * Which file `import a.b` means. An absolute name begins at a root: a folder that is no package itself and holds package `a`, or that
 * lies above the importer as the folder of a script does.
 */
export class PythonModules {
  readonly #paths: ViewPaths;

  constructor(paths: ViewPaths) {
    this.#paths = paths;
  }

  resolve(from: string, source: string): string[] {
    const [, dots = '', rest = ''] = /^(\.*)(.*)/.exec(source) ?? [];
    const path = rest.replaceAll('.', '/');
    if (dots === '') return OWN.has(source) || rest === '' ? [] : this.#absolute(from, path);
    const base = join(dirname(from), '../'.repeat(dots.length - 1), path);
    return this.#paths.first(path === '' ? [join(base, '__init__.py')] : [`${base}.py`, `${base}/__init__.py`]);
  }

  #absolute(from: string, path: string): string[] {
    const [first = ''] = path.split('/');
    const ends = [`${path}.py`, `${path}/__init__.py`, `${path}.pyi`];
    const found = ends.flatMap((end) =>
      this.#paths.endingWith(end).map((file) => ({ file, root: file.slice(0, -end.length).replace(/\/$/, '') })),
    );
    const fit = found.filter(({ root }) => this.#isRoot(root, { first, from }));
    fit.sort((a, b) => Number(isAbove(b.root, from)) - Number(isAbove(a.root, from)) || b.root.length - a.root.length);
    return fit.slice(0, 1).map(({ file }) => file);
  }

  #isRoot(root: string, { first, from }: { first: string; from: string }): boolean {
    if (root === '') return true;
    if (this.#paths.has(`${root}/__init__.py`)) return false;
    return this.#paths.has(`${root}/${first}/__init__.py`) || isAbove(root, from) || SOURCE_FOLDER.test(root);
  }
}

function isAbove(folder: string, path: string): boolean {
  return folder === '' || path.startsWith(`${folder}/`);
}
