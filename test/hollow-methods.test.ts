import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from '@swc/core';
import { expect } from 'vitest';
import { isTest, ROOT, sourceFiles } from './support/source-files.ts';
import { verifies } from './support/verifies.ts';

/** The runtime has many methods that its seed names. One that only a test calls promises what nobody gets. */

type Node = Record<string, unknown> & { type: string };

function* nodes(value: unknown): Generator<Node> {
  if (typeof value !== 'object' || value === null) return;
  if ('type' in value && typeof value.type === 'string') yield value as Node;
  for (const child of Object.values(value)) yield* nodes(child);
}

const nameOf = (key: unknown) => {
  const { type, value } = (key ?? {}) as { type?: string; value?: string };
  return type === 'Identifier' ? value : undefined;
};

/** Methods of classes and interfaces, and the functions of `Paths`. */
function defined(node: Node, path: string): string | undefined {
  if (node.type === 'ClassMethod') return nameOf(node.key);
  if (node.type === 'TsMethodSignature') return nameOf(node.key);
  const { type } = (node.value ?? {}) as { type?: string };
  const isPath = path === 'src/runtime/paths.ts' && node.type === 'KeyValueProperty';
  return isPath && type === 'ArrowFunctionExpression' ? nameOf(node.key) : undefined;
}

/** `a.name`, and `{ name } = a`. */
function used(node: Node): string | undefined {
  if (node.type === 'MemberExpression' || node.type === 'SuperPropExpression') return nameOf(node.property);
  return node.type === 'AssignmentPatternProperty' || node.type === 'KeyValuePatternProperty'
    ? nameOf(node.key)
    : undefined;
}

const treeOf = (path: string) =>
  parseSync(readFileSync(join(ROOT, path), 'utf8'), { syntax: 'typescript', target: 'es2024' });

verifies('R-165').test('every method of the runtime is called by the product', () => {
  const product = sourceFiles('src').filter((path) => !isTest(path));
  const names = new Set<string>();
  const calls = new Set<string>();
  for (const path of product) {
    const isRuntime = path.startsWith('src/runtime/');
    for (const node of nodes(treeOf(path))) {
      const name = isRuntime ? defined(node, path) : undefined;
      if (name !== undefined) names.add(name);
      const call = used(node);
      if (call !== undefined) calls.add(call);
    }
  }
  expect(names.size).toBeGreaterThan(200);
  expect([...names].filter((name) => !calls.has(name)).sort()).toEqual([]);
});
