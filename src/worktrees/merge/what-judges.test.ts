import { expect } from 'vitest';
import { verifies } from '../../../test/support/verifies.ts';
import { isJudging } from './what-judges.ts';

const JUDGES = [
  ...['.reef/config.yaml', '.reef/workflows.yaml', '.reef/deep/er.txt', '.worktreeinclude', '.vision/workflows.json'],
  ...['.github/workflows/ci.yml', '.github/actions/x/action.yml', '.forgejo/workflows/ci.yaml', '.circleci/config.yml'],
  ...[
    '.gitlab-ci.yml',
    'azure-pipelines.yaml',
    '.woodpecker/build.yml',
    '.drone.yml',
    'Jenkinsfile',
    '.buildkite/run.sh',
  ],
  ...['vitest.config.ts', 'sub/jest.config.cjs', '.mocharc.json', 'pytest.ini', 'tests/conftest.py', '.nycrc'],
  ...[
    'eslint.config.js',
    'web/.eslintrc.json',
    'biome.json',
    '.golangci.yml',
    'tsconfig.json',
    'sub/tsconfig.build.json',
  ],
  ...[
    '.npmrc',
    'sub/.npmrc',
    '.yarnrc',
    '.yarnrc.yml',
    '.pnpmfile.cjs',
    '.yarn/releases/yarn.cjs',
    '.cargo/config.toml',
  ],
  ...['Makefile', 'sub/Makefile', 'rules.mk', 'justfile', 'Taskfile.yml', 'Rakefile', 'build.rs'],
  ...['setup.py', 'setup.cfg', 'pyproject.toml', 'build.gradle', 'app/build.gradle.kts', 'gradlew', 'pom.xml'],
  ...['.husky/pre-commit', 'lefthook.yml', '.pre-commit-config.yaml', '.lintstagedrc.json', '.githooks/pre-push'],
  ...['.claude/settings.json', 'sub/.claude/hooks/x.sh', '.codex/config.toml', '.gemini/settings.json'],
  ...['opencode.json', 'opencode.jsonc', '.mcp.json', '.cursor/mcp.json', '.vscode/tasks.json', '.envrc'],
  ...[
    'vite.config.ts',
    'web/webpack.config.js',
    'vitest.setup.ts',
    '.prettierrc',
    'gulpfile.js',
    'turbo.json',
    'flake.nix',
  ],
  ...['node_modules/.bin/npm', 'web/node_modules/judge/index.js', '.venv/bin/python', '.idea/runConfigurations/a.xml'],
  ...['.reef', '.claude', '.REEF/config.yaml', 'sub/.MCP.json'], // links to folders, and names on other file systems
  ...['.gitmodules', '.gitattributes', 'sub/.gitattributes'],
];
const ORDINARY = [
  ...['src/index.ts', 'README.md', 'sum.test.mjs', 'docs/github/workflows.md', 'package-lock.json', 'Cargo.toml'],
  ...['go.mod', 'src/makefile.ts', 'src/reef/config.yaml', 'AGENTS.md', '.gitignore', '.github/CODEOWNERS'],
];

verifies('T-31', 'X-136').test('what judges or executes is told from ordinary files', () => {
  expect(JUDGES.filter((path) => !isJudging(path))).toEqual([]);
  expect(ORDINARY.filter(isJudging)).toEqual([]);
});
