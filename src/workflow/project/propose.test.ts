import { expect, test } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { proposalBelow, proposeProject } from './propose.ts';
import type { ProjectFolder } from './toolchain.ts';

const folder = (files: Record<string, string>): ProjectFolder => ({
  names: new Set(Object.keys(files)),
  read: async (name) => files[name],
});
const json = (value: unknown) => JSON.stringify(value);

/** Commands as one types them; a folder's entry in `files` is its name alone. */
async function proposed(files: Record<string, string>): Promise<Record<string, string | string[]>> {
  const { toolchains, gates, setup, leaves } = await proposeProject(folder(files));
  const commands = Object.entries({ ...gates, ...(setup && { setup }) });
  return {
    toolchains,
    ...Object.fromEntries(commands.map(([name, { command }]) => [name, command.join(' ')])),
    ...(leaves.length > 0 && { leaves }),
  };
}

const cases: [what: string, files: Record<string, string>, is: Record<string, string | string[]>][] = [
  ['nothing that is known', { 'README.md': '' }, { toolchains: [] }],
  [
    'scripts of package.json, with a lock file',
    { 'package.json': json({ scripts: { lint: 'a', build: 'b', test: 'c' } }), 'package-lock.json': '' },
    { toolchains: ['Node'], lint: 'npm run lint', build: 'npm run build', test: 'npm test', setup: 'npm ci' },
  ],
  [
    'whole scripts although their tools are dependencies, and a check of types',
    {
      'package.json': json({
        scripts: { test: 'tsc --noEmit && vitest --run', lint: 'eslint src', typecheck: 'tsc' },
        devDependencies: { vitest: '1', eslint: '9' },
      }),
      'pnpm-lock.yaml': '',
    },
    {
      toolchains: ['Node'],
      lint: 'pnpm run lint',
      build: 'pnpm run typecheck',
      test: 'pnpm test',
      setup: 'pnpm install --frozen-lockfile',
      leaves: ['node_modules'],
    },
  ],
  [
    'vitest and eslint as dependencies that no script runs',
    { 'package.json': json({ scripts: { start: 'x' }, devDependencies: { vitest: '1', eslint: '9' } }) },
    {
      toolchains: ['Node'],
      lint: 'eslint . --format=json',
      test: 'vitest run --reporter=verbose',
      setup: 'npm install --no-package-lock',
      leaves: ['node_modules'],
    },
  ],
  [
    'no part of a script: eslint runs in the tests',
    { 'package.json': json({ scripts: { test: 'eslint . && ava' }, dependencies: { eslint: '9' } }) },
    {
      toolchains: ['Node'],
      test: 'npm test',
      setup: 'npm install --no-package-lock',
      leaves: ['node_modules'],
    },
  ],
  [
    'Bun, whose own `bun test` is not the script',
    { 'package.json': json({ scripts: { test: 'vitest --run', build: 'bun run ./build.ts' } }), 'bun.lock': '' },
    {
      toolchains: ['Node'],
      build: 'bun run build',
      test: 'bun run test',
      setup: 'bun install --frozen-lockfile',
    },
  ],
  [
    'the package manager that is named, with several lock files',
    {
      'package.json': json({ scripts: { test: 'x' }, packageManager: 'yarn@4.1.0' }),
      ...{ 'yarn.lock': '', 'package-lock.json': '', 'pnpm-lock.yaml': '' },
    },
    { toolchains: ['Node'], test: 'yarn test', setup: 'yarn install --immutable' },
  ],
  [
    'the package manager that is named, without a lock file',
    { 'package.json': json({ scripts: { test: 'x' }, packageManager: 'pnpm@9.0.0', dependencies: { a: '1' } }) },
    { toolchains: ['Node'], test: 'pnpm test', setup: 'pnpm install --no-lockfile', leaves: ['node_modules'] },
  ],
  [
    'dependencies without a lock file',
    {
      'package.json': json({
        dependencies: { x: '1' },
        scripts: { test: 'echo "Error: no test specified" && exit 1' },
      }),
    },
    { toolchains: ['Node'], setup: 'npm install --no-package-lock', leaves: ['node_modules'] },
  ],
  ['a package.json that cannot be read', { 'package.json': '{' }, { toolchains: ['Node'] }],
  [
    'yarn of either kind',
    { 'package.json': json({ scripts: { test: 'x' } }), 'yarn.lock': '', '.yarnrc.yml': '' },
    { toolchains: ['Node'], test: 'yarn test', setup: 'yarn install --immutable' },
  ],
  [
    'targets of a Makefile before what the language suggests',
    { Makefile: 'CC := cc\nall: build\nbuild test: deps\n\tcc\nLINT = x\ncheck:\n', 'go.mod': 'module x' },
    { toolchains: ['Make', 'Go'], lint: 'go vet ./...', build: 'make build', test: 'make test' },
  ],
  [
    'recipes of a justfile',
    { justfile: 'test *args:\n  x\nsetup:\n  y\nlint: test\n' },
    { toolchains: ['just'], lint: 'just lint', test: 'just test', setup: 'just setup' },
  ],
  [
    'Rust with lints',
    { 'Cargo.toml': '[package]\n[lints.rust]\n' },
    {
      toolchains: ['Rust'],
      lint: 'cargo clippy --all-targets',
      build: 'cargo build',
      test: 'cargo test',
      leaves: ['target'],
    },
  ],
  [
    'Python with pytest, ruff and mypy, without caches',
    { 'pyproject.toml': '[tool.ruff]\n[tool.mypy]\n[tool.pytest.ini_options]\n' },
    {
      toolchains: ['Python'],
      lint: 'ruff check --no-cache .',
      build: 'mypy --cache-dir=/dev/null .',
      test: 'python3 -B -m pytest -p no:cacheprovider',
      leaves: ['__pycache__'],
    },
  ],
  [
    'mypy with settings that say what to check',
    { 'pyproject.toml': '[tool.mypy]\npython_version = "3.10"\nfiles = ["src"]\nstrict = true\n\n[tool.other]\n' },
    { toolchains: ['Python'], build: 'mypy --cache-dir=/dev/null', leaves: ['__pycache__'] },
  ],
  [
    'files of another tool are not those of mypy',
    { 'pyproject.toml': '[tool.mypy]\nstrict = true\n\n[tool.other]\nfiles = ["src"]\n' },
    { toolchains: ['Python'], build: 'mypy --cache-dir=/dev/null .', leaves: ['__pycache__'] },
  ],
  [
    'Python with nothing but its own tests',
    { 'setup.py': '', 'test_it.py': '' },
    { toolchains: ['Python'], test: 'python3 -B -m unittest discover', leaves: ['__pycache__'] },
  ],
  [
    'Python with uv',
    { 'pyproject.toml': 'pytest', 'uv.lock': '' },
    {
      toolchains: ['Python'],
      test: 'uv run python -B -m pytest -p no:cacheprovider',
      setup: 'uv sync --frozen',
      leaves: ['__pycache__', '.venv'],
    },
  ],
  [
    'Gradle with its wrapper',
    { 'build.gradle.kts': '', gradlew: '' },
    { toolchains: ['Gradle'], build: './gradlew assemble', test: './gradlew test', leaves: ['build', '.gradle'] },
  ],
  [
    'Maven',
    { 'pom.xml': '' },
    { toolchains: ['Maven'], build: 'mvn -q -B test-compile', test: 'mvn -B test', leaves: ['target'] },
  ],
  [
    '.NET',
    { 'shop.sln': '' },
    { toolchains: ['.NET'], build: 'dotnet build', test: 'dotnet test', leaves: ['bin', 'obj'] },
  ],
  [
    'Ruby with rspec and rubocop',
    { Gemfile: "gem 'rspec'\ngem 'rubocop'", Rakefile: '' },
    { toolchains: ['Ruby'], lint: 'bundle exec rubocop', test: 'bundle exec rspec', setup: 'bundle install' },
  ],
  [
    'Elixir',
    { 'mix.exs': '' },
    {
      toolchains: ['Elixir'],
      build: 'mix compile',
      test: 'mix test',
      setup: 'mix deps.get',
      leaves: ['_build', 'deps'],
    },
  ],
  ['Deno', { 'deno.json': '{}' }, { toolchains: ['Deno'], lint: 'deno lint', test: 'deno test' }],
];

for (const [what, files, is] of cases) {
  test(`recognises ${what}`, async () => {
    expect(await proposed(files)).toEqual(is);
  });
}

const django = {
  ...{ 'pyproject.toml': '[tool.black]\n', 'tox.ini': '[testenv:flake8]\n', tests: '', 'tests/runtests.py': '' },
  'package.json': json({ private: true, scripts: { test: 'grunt test' }, devDependencies: { grunt: '1' } }),
};
const mixed: [what: string, files: Record<string, string>, is: Record<string, string | string[]>, spare: string[]][] = [
  [
    'Python beside a package.json for its own tools',
    django,
    { toolchains: ['Python', 'Node'], lint: 'flake8', test: 'env PYTHONPATH=. python3 -B tests/runtests.py' },
    ['Node setup npm install --no-package-lock', 'Node test npm test'],
  ],
  [
    'Django with pages built by npm',
    { 'manage.py': '', 'package.json': json({ scripts: { build: 'webpack' } }) },
    { toolchains: ['Python', 'Node'], test: 'python3 -B manage.py test' },
    ['Node build npm run build'],
  ],
  [
    'Node beside a program in Python',
    { 'release.py': '', tests: '', 'package.json': json({ scripts: { test: 'ava' } }) },
    { toolchains: ['Node', 'Python'], test: 'npm test' },
    [],
  ],
  [
    'a package with native code in Rust',
    { 'Cargo.toml': '[package]\n', 'package.json': json({ main: 'index.js', scripts: { test: 'ava' } }) },
    { toolchains: ['Node', 'Rust'], test: 'npm test' },
    ['Rust build cargo build', 'Rust test cargo test'],
  ],
  [
    'Rust beside a package.json that formats',
    { 'Cargo.toml': '[package]\n', 'package.json': json({ scripts: { lint: 'prettier', test: 'x' } }) },
    { toolchains: ['Rust', 'Node'], build: 'cargo build', test: 'cargo test' },
    ['Node lint npm run lint', 'Node test npm test'],
  ],
  [
    'the language with tests before one without',
    { 'go.mod': '', 'package.json': json({ main: 'x', scripts: { build: 'y' } }) },
    { toolchains: ['Go', 'Node'], lint: 'go vet ./...', build: 'go build ./...', test: 'go test ./...' },
    ['Node build npm run build'],
  ],
  [
    'a Makefile beside a package.json for tools',
    { Makefile: 'test:\n', 'package.json': json({ scripts: { test: 'x', lint: 'y' } }) },
    { toolchains: ['Make', 'Node'], lint: 'npm run lint', test: 'make test' },
    ['Node test npm test'],
  ],
  [
    'a second script for a gate',
    { 'package.json': json({ scripts: { build: 'x', typecheck: 'tsc', test: 'y' } }) },
    { toolchains: ['Node'], build: 'npm run build', test: 'npm test' },
    ['Node build npm run typecheck'],
  ],
];

for (const [what, files, is, spare] of mixed) {
  verifies('J-10').test(`takes one of several toolchains and shows the others: ${what}`, async () => {
    const { leaves: _, ...found } = await proposed(files);
    expect(found).toEqual(is);
    const { alternatives } = await proposeProject(folder(files));
    expect(alternatives.map(({ toolchain, for: wish, command }) => [toolchain, wish, ...command].join(' '))).toEqual(
      spare,
    );
  });
}

const endless: [script: string, word: string | undefined][] = [
  ['vitest --watch', '--watch'],
  ['jest --watchAll', '--watchAll'],
  ['tsc -p . -w', 'tsc -p . -w'],
  ['vitest watch', 'vitest watch'],
  ['nodemon --exec mocha', 'nodemon'],
  ['npm run loop', '--watch'],
  ['react-scripts test', 'react-scripts test'],
  ['CI=true react-scripts test', undefined],
  ['react-scripts test --watchAll=false', undefined],
  ['vitest', undefined],
  ['vitest --watch=false', undefined],
  ['jest --watch false', undefined],
  ['jest -w 2', undefined],
  ['tsc && npm run other -w packages/a', undefined],
  ['mocha --watch-files x', undefined],
];
for (const [test, word] of endless) {
  verifies('J-10').test(`${test} ${word === undefined ? 'ends' : 'is no gate, and the report says why'}`, async () => {
    const scripts = { test, loop: 'npm test && node --watch x', other: 'x' };
    const { gates, notes } = await proposeProject(folder({ 'package.json': json({ scripts }) }));
    expect([gates.test?.command.join(' '), notes]).toEqual(
      word === undefined
        ? ['npm test', []]
        : [undefined, [`Script "test" of package.json cannot be a gate: it watches files and never ends (${word}).`]],
    );
  });
}

verifies('J-10').test('where the script of that name watches, one that ends is taken', async () => {
  const scripts = { test: 'vitest --watch', 'test:run': 'vitest run' };
  const { gates, notes } = await proposeProject(folder({ 'package.json': json({ scripts }) }));
  expect([gates.test?.command, notes.length]).toEqual([['npm', 'run', 'test:run'], 1]);
});

test('every suggestion says what speaks for it', async () => {
  const { gates, setup } = await proposeProject(
    folder({ 'package.json': json({ scripts: { lint: 'x', test: 'y' } }), 'package-lock.json': '' }),
  );
  expect([gates.lint?.because, gates.test?.because, setup?.because]).toEqual([
    'script "lint" of package.json',
    'script "test" of package.json',
    'package-lock.json',
  ]);
});

test('below the root a command goes to its folder first, whatever that is called', async () => {
  const found = await proposeProject(folder({ Makefile: 'test:\n' }));
  expect(proposalBelow(found, 'a b/"c').gates.test).toEqual({
    command: ['sh', '-c', 'cd "$0" && PATH="$PWD/node_modules/.bin:$PATH" exec "$@"', 'a b/"c', 'make', 'test'],
    because: 'target "test" of Makefile, in a b/"c',
  });
});
