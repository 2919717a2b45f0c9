import { GATES, type Gate } from '../../protocol/workflow.ts';
import {
  type FindToolchain,
  firstOf,
  type ProjectFolder,
  type Suggestion,
  suggest,
  type Toolchain,
} from './toolchain.ts';

type Gates = Toolchain['gates'];

/** The gates if the condition holds, else none. */
function when(holds: boolean, gates: Gates): Gates {
  return holds ? gates : {};
}

export const findRust: FindToolchain = async ({ names, read }) => {
  const text = await read('Cargo.toml');
  if (text === undefined) return undefined;
  const clippy =
    firstOf(names, 'clippy.toml', '.clippy.toml') ?? (/^\[(workspace\.)?lints/m.test(text) && 'Cargo.toml');
  return {
    name: 'Rust',
    gates: {
      ...when(Boolean(clippy), { lint: suggest(`${clippy} has lints`, 'cargo', 'clippy', '--all-targets') }),
      build: suggest('Cargo.toml', 'cargo', 'build'),
      test: suggest('Cargo.toml', 'cargo', 'test'),
    },
    leaves: ['target'],
  };
};

export const findGo: FindToolchain = async ({ names }) => {
  if (!names.has('go.mod')) return undefined;
  const golangci = firstOf(names, '.golangci.yml', '.golangci.yaml', '.golangci.toml');
  return {
    name: 'Go',
    gates: {
      lint: golangci ? suggest(golangci, 'golangci-lint', 'run') : suggest('go.mod', 'go', 'vet', './...'),
      build: suggest('go.mod', 'go', 'build', './...'),
      test: suggest('go.mod', 'go', 'test', './...'),
    },
    leaves: [],
  };
};

const PYTHON_FILES = ['pyproject.toml', 'setup.py', 'setup.cfg', 'tox.ini', 'pytest.ini', 'manage.py'] as const;
const REQUIREMENTS = ['requirements.txt', 'requirements-dev.txt'] as const;

export const findPython: FindToolchain = async ({ names, read }) => {
  const files = [...PYTHON_FILES, ...REQUIREMENTS].filter((name) => names.has(name));
  const sources = [...names].filter((name) => name.endsWith('.py'));
  const [first = sources[0]] = files;
  if (first === undefined) return undefined;
  const isAside = !PYTHON_FILES.some((name) => names.has(name));
  const text = (await Promise.all(files.map(read))).join('\n');
  const { runner, setup } = pythonRunner(names);
  const has = (tool: string) => new RegExp(`\\b${tool}\\b`).test(text);
  // Without caches: what a gate leaves behind would be part of the work it judges.
  const python = runner.length > 0 ? [...runner, 'python', '-B'] : ['python3', '-B'];
  const usesPytest = has('pytest') || names.has('conftest.py');
  const test = usesPytest
    ? suggest('the project names pytest', ...python, '-m', 'pytest', '-p', 'no:cacheprovider')
    : ((await ownTests({ names, read }, python)) ??
      when(hasTests(names) || (names.has('tests') && !(isAside && names.has('package.json'))), {
        test: suggest(`${first}, and no pytest`, ...python, '-m', 'unittest', 'discover'),
      }).test);
  return {
    name: 'Python',
    gates: {
      ...when(has('ruff'), { lint: suggest('the project names ruff', ...runner, 'ruff', 'check', '--no-cache', '.') }),
      ...when(!has('ruff') && has('flake8'), { lint: suggest('the project names flake8', ...runner, 'flake8') }),
      ...when(has('mypy'), {
        build: suggest(
          'the project names mypy',
          ...runner,
          'mypy',
          '--cache-dir=/dev/null',
          ...(namesForMypy(text) ? [] : ['.']),
        ),
      }),
      ...(test && { test }),
    },
    leaves: ['__pycache__', ...(setup ? ['.venv'] : [])],
    isAside,
    ...(setup && { setup }),
  };
};

/** What is given on the command line would be checked instead of what its settings name. */
function namesForMypy(text: string): boolean {
  const section = text.split(/^\[/m).find((part) => /^(?:tool\.)?mypy\]/.test(part));
  return /^(?:files|packages|modules)\s*=/m.test(section ?? '');
}

/** The project's own program for its tests. It imports from the worktree, also where the project is installed. */
async function ownTests({ names, read }: ProjectFolder, python: string[]): Promise<Suggestion | undefined> {
  for (const script of ['runtests.py', 'tests/runtests.py']) {
    if ((await read(script)) !== undefined) return suggest(script, 'env', 'PYTHONPATH=.', ...python, script);
  }
  return names.has('manage.py') ? suggest('manage.py', ...python, 'manage.py', 'test') : undefined;
}

function hasTests(names: ReadonlySet<string>): boolean {
  return [...names].some((name) => /^test.*\.py$/.test(name));
}

/** Only with a lock file: other projects run with the Python of the shell. */
function pythonRunner(names: ReadonlySet<string>): { runner: string[]; setup?: Suggestion } {
  if (names.has('uv.lock')) return { runner: ['uv', 'run'], setup: suggest('uv.lock', 'uv', 'sync', '--frozen') };
  if (names.has('poetry.lock'))
    return { runner: ['poetry', 'run'], setup: suggest('poetry.lock', 'poetry', 'install') };
  return { runner: [] };
}

export const findJvm: FindToolchain = async ({ names }) => {
  const gradle = firstOf(names, 'build.gradle', 'build.gradle.kts', 'settings.gradle', 'settings.gradle.kts');
  if (gradle !== undefined) {
    const program = names.has('gradlew') ? './gradlew' : 'gradle';
    const build = suggest(gradle, program, 'assemble');
    return { name: 'Gradle', gates: { build, test: suggest(gradle, program, 'test') }, leaves: ['build', '.gradle'] };
  }
  if (!names.has('pom.xml')) return undefined;
  const program = names.has('mvnw') ? './mvnw' : 'mvn';
  const build = suggest('pom.xml', program, '-q', '-B', 'test-compile');
  return { name: 'Maven', gates: { build, test: suggest('pom.xml', program, '-B', 'test') }, leaves: ['target'] };
};

export const findDotnet: FindToolchain = async ({ names }) => {
  const file = [...names].find((name) => /\.(sln|slnx|csproj|fsproj)$/.test(name));
  if (file === undefined) return undefined;
  const gates = { build: suggest(file, 'dotnet', 'build'), test: suggest(file, 'dotnet', 'test') };
  return { name: '.NET', gates, leaves: ['bin', 'obj'] };
};

export const findRuby: FindToolchain = async ({ names, read }) => {
  const gemfile = await read('Gemfile');
  if (gemfile === undefined) return undefined;
  const exec = ['bundle', 'exec'] as const;
  const isRspec = /\brspec/.test(gemfile) || names.has('spec');
  return {
    name: 'Ruby',
    gates: {
      ...when(/\brubocop/.test(gemfile), { lint: suggest('Gemfile names rubocop', ...exec, 'rubocop') }),
      ...when(names.has('Rakefile'), { test: suggest('Rakefile', ...exec, 'rake', 'test') }),
      ...when(isRspec, { test: suggest('rspec', ...exec, 'rspec') }),
    },
    setup: suggest('Gemfile', 'bundle', 'install'),
    leaves: [],
  };
};

export const findElixir: FindToolchain = async ({ names }) => {
  if (!names.has('mix.exs')) return undefined;
  const gates = { build: suggest('mix.exs', 'mix', 'compile'), test: suggest('mix.exs', 'mix', 'test') };
  return { name: 'Elixir', gates, setup: suggest('mix.exs', 'mix', 'deps.get'), leaves: ['_build', 'deps'] };
};

export const findDeno: FindToolchain = async ({ names }) => {
  const file = firstOf(names, 'deno.json', 'deno.jsonc');
  if (file === undefined) return undefined;
  return {
    name: 'Deno',
    gates: { lint: suggest(file, 'deno', 'lint'), test: suggest(file, 'deno', 'test') },
    leaves: [],
  };
};

/** Targets that do the work of a gate, best first. */
const TARGETS: Record<Gate, readonly string[]> = {
  lint: ['lint', 'check-style', 'vet'],
  build: ['build', 'compile', 'typecheck'],
  test: ['test', 'tests', 'check'],
};
const SETUP = ['setup', 'bootstrap', 'deps', 'install-deps'] as const;

/** Words before a colon that assigns nothing. */
const RULE = /^([A-Za-z0-9][^:=#\n]*):(?![=:])/gm;

export const findMake: FindToolchain = async ({ names, read }) => {
  const file = firstOf(names, 'GNUmakefile', 'makefile', 'Makefile');
  return file === undefined ? undefined : toolchain('make', file, wordsBefore((await read(file)) ?? '').flat());
};

export const findJust: FindToolchain = async ({ names, read }) => {
  const file = firstOf(names, 'justfile', 'Justfile', '.justfile');
  return file === undefined
    ? undefined
    : toolchain(
        'just',
        file,
        wordsBefore((await read(file)) ?? '').map(([name = '']) => name),
      );
};

/** In a Makefile each word is a target; in a justfile only the first, and the rest are parameters. */
function wordsBefore(text: string): string[][] {
  return [...text.matchAll(RULE)].map(([, words = '']) => words.trim().split(/\s+/));
}

function toolchain(program: 'make' | 'just', file: string, names: readonly string[]): Toolchain {
  const targets = new Set(names);
  const gates = GATES.flatMap((gate) => {
    const target = TARGETS[gate].find((name) => targets.has(name));
    return target === undefined ? [] : [[gate, suggest(`target "${target}" of ${file}`, program, target)] as const];
  });
  const setup = SETUP.find((name) => targets.has(name));
  return {
    name: program === 'make' ? 'Make' : 'just',
    gates: Object.fromEntries(gates),
    leaves: [],
    isRunner: true,
    ...(setup !== undefined && { setup: suggest(`target "${setup}" of ${file}`, program, setup) }),
  };
}
