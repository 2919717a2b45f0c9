import { expect, test } from 'vitest';
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
    'vitest and eslint as dependencies, and a check of types',
    {
      'package.json': json({
        scripts: { test: 'vitest', typecheck: 'tsc' },
        devDependencies: { vitest: '1', eslint: '9' },
      }),
      'pnpm-lock.yaml': '',
    },
    {
      toolchains: ['Node'],
      lint: 'eslint . --format=json',
      build: 'pnpm run typecheck',
      test: 'vitest run --reporter=verbose',
      setup: 'pnpm install --frozen-lockfile',
      leaves: ['node_modules'],
    },
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
