const { Visitor } = require('@swc/core/Visitor.js');

// swc's visitor does not know `using` declarations: it throws, and the cruise ends there.
const { visitStatement } = Visitor.prototype;
Visitor.prototype.visitStatement = function visit(statement) {
  if (statement.type !== 'UsingDeclaration') return visitStatement.call(this, statement);
  return { ...statement, decls: this.visitVariableDeclarators(statement.decls) };
};

/**
 * The layers of src, lowest first. Imports point downwards only and rooms of one layer stay apart:
 * the consumer declares the small interface it needs, and the composition root passes the instance in.
 */
const LAYERS = [
  ['protocol'],
  ['base'],
  ['process', 'git', 'events', 'store'],
  ['child-servers'],
  ['runtime', 'context', 'repostate', 'agents', 'worktrees'],
  ['workflow', 'coder'],
  ['fleet'],
  ['app'],
  ['surfaces'],
  // Entry points: they see everything, and nobody imports them.
  ['programs'],
];
const ADAPTERS = 'acp|claude|codex|native|reef-protocol';
/** Development dependencies that the build copies into the package (docs/decisions/0013). */
const BUNDLED = [
  '@agentclientprotocol/sdk',
  '@ai-sdk/[^/]+',
  '@codemirror/(legacy-modes|streamparser)',
  '@dagrejs/dagre',
  '@hono/node-server',
  '@modelcontextprotocol/(client|server)',
  '@preact/signals',
  'ai',
  'commander',
  'diff',
  'fastest-levenshtein',
  'gpt-tokenizer',
  'hono',
  'marked',
  'preact',
  'unpdf',
  'virtua',
  'web-tree-sitter',
  'yaml',
  'zod',
];
/** Optional peers: only a fleet loads them, and says how to install them (src/fleet/load-package.ts). */
const PEERS = ['@dbos-inc/dbos-sdk', 'pg'];
const TESTS = String.raw`\.test\.ts$`;

/** Matches files of the given rooms; a room is a folder or, like app.ts, one file. */
const inRooms = (rooms) => String.raw`^src/(${rooms.join('|')})(/|\.ts$)`;

const layerRules = LAYERS.flatMap((layer, depth) =>
  layer.map((room) => {
    const siblings = layer.filter((other) => other !== room);
    return {
      name: `layer-${room}`,
      comment: `${room} imports only what lies below it`,
      severity: 'error',
      from: { path: inRooms([room]), pathNot: TESTS },
      to: { path: inRooms([...siblings, ...LAYERS.slice(depth + 1).flat()]) },
    };
  }),
);

/** A capability is held by whoever may import its module. */
const only = (name, rooms, modules) => ({
  name: `only-${name}`,
  comment: `only ${rooms.join(' and ')} may import ${modules.join(', ')}`,
  severity: 'error',
  from: { path: '^(src|web)/', pathNot: [TESTS, String.raw`^src/(${rooms.join('|')})(/|\.ts$)`] },
  to: { path: modules.map((module) => `^(node:)?${module}$|(^|/)node_modules/${module}/`) },
});

module.exports = {
  forbidden: [
    ...layerRules,
    {
      name: 'web-sees-protocol-only',
      severity: 'error',
      from: { path: '^web/', pathNot: TESTS },
      to: { path: '^src/(?!protocol/)' },
    },
    {
      name: 'adapters-apart',
      comment: 'what one agent needs stays in its own folder',
      severity: 'error',
      from: { path: `^src/agents/(${ADAPTERS})/`, pathNot: TESTS },
      to: { path: `^src/agents/(${ADAPTERS})/`, pathNot: '^src/agents/$1/' },
    },
    {
      name: 'product-needs-no-test',
      severity: 'error',
      from: { path: '^(src|web|bin)/', pathNot: TESTS },
      to: { path: [String.raw`^(test|scripts|bench)/(?!check-node\.cjs$)`, TESTS], dependencyTypesNot: ['core'] },
    },
    {
      name: 'product-needs-no-dev-dependency',
      comment: 'an installed package has what it depends on and what was built into it',
      severity: 'error',
      from: { path: '^(src|web|bin)/', pathNot: TESTS },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        pathNot: `(^|/)node_modules/(${[...BUNDLED, ...PEERS].join('|')})/`,
      },
    },
    // Cycles of folders: scripts/tree.ts. The cruiser's own rule sees the tests beside the sources, and no subfolders.
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    only('processes', ['process'], ['child_process']),
    only(
      'sockets',
      ['surfaces', 'runtime/mcp', 'app/runtime/http-requests', 'process/egress'],
      ['net', 'tls', 'http', 'https', 'http2', 'dgram', 'hono', '@hono/[^/]+'],
    ),
    only('mcp', ['surfaces', 'runtime/mcp', 'context/server'], ['@modelcontextprotocol/[^/]+']),
    only('models', ['runtime/models'], ['ai', '@ai-sdk/[^/]+']),
    only('pdf', ['runtime/rag/load'], ['unpdf']),
    only('parsers', ['context/lang'], ['web-tree-sitter', 'tree-sitter-[^/]+', '@tree-sitter-grammars/[^/]+']),
    only('tokenizer', ['base'], ['gpt-tokenizer']),
    only('database', ['store'], ['better-sqlite3', 'sqlite']),
    only('postgres', ['fleet'], ['pg', '@dbos-inc/[^/]+']),
    only('command-line', ['programs', 'surfaces/terminal'], ['commander']),
  ],
  options: {
    // TypeScript 7 has no compiler API; with cruiser's own parser it would cruise 0 modules and be green.
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    // What is built of src is no source.
    exclude: { path: '^dist/' },
    enhancedResolveOptions: { conditionNames: ['import', 'types', 'node', 'default'], exportsFields: ['exports'] },
  },
};
