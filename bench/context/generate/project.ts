import type { Random } from './random.ts';
import { constantName, functionName, noun, typeName, valueName } from './words.ts';

export interface Project {
  files: Map<string, string>;
  /** Exported functions and where they live. */
  functions: { name: string; path: string }[];
}

/** A small code base whose modules call each other, so that a search finds something in several places. */
export function makeProject(random: Random): Project {
  const project: Project = { files: new Map(), functions: [] };
  const areas = Array.from({ length: 4 }, () => noun(random));
  for (let n = random.between(11, 16); n > 0; n--) {
    const path = `src/${random.pick(areas)}/${noun(random)}-${noun(random)}.ts`;
    if (!project.files.has(path)) project.files.set(path, makeModule(random, project, path));
  }
  for (const path of [...project.files.keys()].slice(0, 5)) {
    const test = path.replace('src/', 'test/').replace('.ts', '.test.ts');
    project.files.set(test, makeTest(random, project, path));
  }
  project.files.set('README.md', `# ${noun(random)}\n\n${typeName(random)} keeps ${noun(random)} data.\n`);
  project.files.set(
    'package.json',
    '{\n  "name": "sample",\n  "type": "module",\n  "scripts": { "test": "node --test" }\n}\n',
  );
  return project;
}

function makeModule(random: Random, project: Project, path: string): string {
  const lines = [`import type { ${typeName(random)} } from './${noun(random)}-types.ts';`, ''];
  lines.push(`const ${constantName(random)} = ${random.between(2, 900)};`, '');
  for (let n = random.between(4, 9); n > 0; n--) {
    const name = functionName(random);
    lines.push(...makeFunction(random, project, name), '');
    project.functions.push({ name, path });
  }
  return `${lines.join('\n')}\n`;
}

export function makeFunction(random: Random, project: Project, name: string): string[] {
  const [first, second] = [valueName(random), valueName(random)];
  const result = typeName(random);
  const lines = [`export function ${name}(${first}: ${typeName(random)}, ${second}: number): ${result} {`];
  let last = first;
  for (let n = random.between(3, 9); n > 0; n--) {
    const value = valueName(random);
    const callee = project.functions.length > 0 ? random.pick(project.functions).name : functionName(random);
    lines.push(...makeStatement(random, { value, callee, last, second }));
    last = value;
  }
  lines.push(`  return ${last};`, '}');
  return lines;
}

function makeStatement(
  random: Random,
  names: { value: string; callee: string; last: string; second: string },
): string[] {
  const { value, callee, last, second } = names;
  const shape = random.between(0, 3);
  if (shape === 0) return [`  const ${value} = ${callee}(${last}, ${second} + ${random.between(1, 99)});`];
  if (shape === 1) return [`  const ${value} = ${last}.${valueName(random)} ?? ${callee}(${last}, ${second});`];
  if (shape === 2) {
    return [
      `  const ${value} = ${last};`,
      `  if (${value}.${noun(random)} > ${second}) throw new RangeError('${noun(random)} of ${noun(random)}');`,
    ];
  }
  return [
    `  // ${noun(random)} before ${noun(random)}: see ${callee}`,
    `  const ${value} = { ...${last}, ${noun(random)}: ${second} };`,
  ];
}

export function makeTest(random: Random, project: Project, path: string): string {
  const own = project.functions.filter((one) => one.path === path).map(({ name }) => name);
  const lines = [
    "import assert from 'node:assert';",
    `import { ${own.slice(0, 4).join(', ')} } from '../${path}';`,
    '',
  ];
  for (const name of own.slice(0, 4)) {
    const value = valueName(random);
    lines.push(
      `test('${name} keeps the ${noun(random)}', () => {`,
      `  const ${value} = ${name}({ ${noun(random)}: ${random.between(1, 99)} }, ${random.between(1, 9)});`,
    );
    lines.push(`  assert.equal(${value}.${noun(random)}, ${random.between(1, 99)});`, '});', '');
  }
  return `${lines.join('\n')}\n`;
}
