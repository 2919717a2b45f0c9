import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import type { Language } from './contract.ts';
import { languageOf } from './language-of.ts';

const of = (path: string, text = '', siblings: string[] = []): Language | undefined =>
  languageOf(path, { head: Buffer.from(text), siblingExtensions: new Set(siblings) });

verifies('C-041', 'C-040').test('an extension decides, whatever its case and the folders before it', () => {
  const languages = {
    'a.ts': 'typescript',
    'a.d.mts': 'typescript',
    'a.cts': 'typescript',
    'a.tsx': 'tsx',
    'a.js': 'javascript',
    'a.jsx': 'javascript',
    'a.mjs': 'javascript',
    'a.cjs': 'javascript',
    'a.py': 'python',
    'a.pyi': 'python',
    'src/main.go': 'go',
    'lib.rs': 'rust',
    'A.java': 'java',
    'a.kt': 'kotlin',
    'build.gradle.kts': 'kotlin',
    'a.scala': 'scala',
    'a.sc': 'scala',
    'a.c': 'c',
    'a.cpp': 'cpp',
    'a.CC': 'cpp',
    'a.cxx': 'cpp',
    'a.hpp': 'cpp',
    'a.hxx': 'cpp',
    'a.hh': 'cpp',
    'a.m': 'objc',
    'a.mm': 'objc',
    'a.cs': 'csharp',
    'a.php': 'php',
    'a.rb': 'ruby',
    'a.swift': 'swift',
    'a.sh': 'bash',
    'dir.py/readme.md': undefined,
    'a.json': undefined,
    '.ts': undefined,
    'folder.ts/Makefile': undefined,
  };
  const found = Object.fromEntries(Object.keys(languages).map((path) => [path, of(path)]));
  expect(found).toEqual(languages);
});

verifies('C-041').test('a header is what it declares, or what its folder holds', () => {
  expect({
    plain: of('a.h', 'int f(void);\n'),
    interface: of('a.h', '#include <a.h>\n@interface Cart : NSObject\n@end\n', ['cpp']),
    protocol: of('a.h', '  @protocol Store;\n'),
    import: of('a.h', '#import <Foundation/Foundation.h>\n'),
    mentioned: of('a.h', '// the @interface of a module\nint f(void);\n'),
    besideCpp: of('a.h', 'int f(void);\n', ['h', 'cc']),
    besideC: of('a.h', 'int f(void);\n', ['h', 'c']),
    template: of('a.h', 'template <typename T> T f(T t);\n', ['h']),
    namespace: of('a.h', 'namespace shop {\n}\n', ['h']),
    standard: of('a.h', '#include <string>\n', ['h']),
    cHeader: of('a.h', '#include <string.h>\n/* class */ struct a;\n', ['h']),
    empty: of('a.h'),
  }).toEqual({
    plain: 'c',
    interface: 'objc',
    protocol: 'objc',
    import: 'objc',
    mentioned: 'c',
    besideCpp: 'cpp',
    besideC: 'c',
    template: 'cpp',
    namespace: 'cpp',
    standard: 'cpp',
    cHeader: 'c',
    empty: 'c',
  });
});

verifies('C-041').test('without an extension the first line decides', () => {
  const scripts = {
    '#!/bin/sh\n': 'bash',
    '#!/usr/bin/env bash\n': 'bash',
    '#! /usr/bin/python3.12 -u\n': 'python',
    '#!/usr/bin/env -S LANG=C python3 -u\n': 'python',
    '#!/usr/bin/env node\n': 'javascript',
    '#!/usr/local/bin/ruby\n': 'ruby',
    '#!/usr/bin/env php\r\n': 'php',
    '#!/usr/bin/perl\n': undefined,
    'echo "#!/bin/sh"\n': undefined,
    '#!': undefined,
    '': undefined,
  };
  const found = Object.fromEntries(Object.keys(scripts).map((text) => [text, of('bin/tool', text)]));
  expect(found).toEqual(scripts);
});
