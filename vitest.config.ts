import { defineConfig } from 'vitest/config';
import RequirementsReporter from './test/requirements-reporter.ts';

const HEAVY = ['test/agents/**', 'test/e2e/**', 'test/faults/**', 'test/journeys/**'];

/** Groups run one after the other: what kills daemons and starts real agents must not starve the small tests. */
function group(name: string, groupOrder: number, files: { include: string[]; exclude?: string[] }) {
  const exclude = ['**/node_modules/**', ...(files.exclude ?? [])];
  return { extends: true as const, test: { name, include: files.include, exclude, sequence: { groupOrder } } };
}

export default defineConfig({
  test: {
    // Reached by what fails and by nothing else, also on a machine that does other things as well.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 30_000 } },
    pool: 'forks',
    // More than cores: most of a test that starts daemons and agents is waiting.
    maxWorkers: 3,
    reporters: ['default', new RequirementsReporter()],
    coverage: { enabled: false, provider: 'v8', include: ['src/**/*.ts'], exclude: ['**/*.test.ts'] },
    projects: [
      group('unit', 0, { include: ['src/**/*.test.ts', 'test/**/*.test.ts'], exclude: HEAVY }),
      group('e2e', 1, { include: ['agents', 'e2e', 'journeys'].map((folder) => `test/${folder}/**/*.test.ts`) }),
      group('faults', 2, { include: ['test/faults/**/*.test.ts'] }),
    ],
  },
});
