import { basename, extname } from 'node:path';

const SOURCE = new Set(
  `ts tsx js jsx mjs cjs py go rs java kt c h cc cpp hpp cs rb php swift scala sh bash lua pl sql vue svelte ex erl
  zig`.split(/\s+/),
);
const WORDS: Readonly<Record<string, string>> = { md: 'markdown', yml: 'yaml', txt: 'text' };
const NAMES: Readonly<Record<string, string>> = {
  'go.mod': 'go module',
  Makefile: 'makefile',
  Dockerfile: 'dockerfile',
};

/** The `type` of a file: its extension in lower case, or its name when it has no extension. */
export function fileType(path: string): string {
  return extname(path).slice(1).toLowerCase() || basename(path).replace(/^\./, '');
}

export function describeType(path: string, type: string): string {
  const named = NAMES[basename(path)];
  if (named !== undefined) return named;
  if (SOURCE.has(type)) return `${type} source`;
  return WORDS[type] ?? (extname(path) === '' ? 'file' : type);
}
