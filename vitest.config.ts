import { defineConfig } from 'vitest/config';
import RequirementsReporter from './test/requirements-reporter.ts';
import { COMPILED } from './test/support/compile-cache.ts';

const HEAVY = ['test/agents/**', 'test/e2e/**', 'test/faults/**', 'test/journeys/**', 'test/page/**'];

interface Group {
  order: number;
  maxWorkers: number;
  include: string[];
  exclude?: string[];
  /** Run once before the first file of the group. */
  globalSetup?: string;
  testTimeout?: number;
}

/** Groups run one after the other: what kills daemons and starts real agents must not starve the small tests. */
function group(name: string, { order, maxWorkers, include, exclude = [], ...more }: Group) {
  const test = {
    ...more,
    name,
    include,
    exclude: ['**/node_modules/**', ...exclude],
    maxWorkers,
    sequence: { groupOrder: order },
  };
  return { extends: true as const, test };
}

export default defineConfig({
  test: {
    // Reached by what fails and by nothing else, also on a machine that does other things as well.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 30_000 } },
    env: { NODE_COMPILE_CACHE: COMPILED },
    pool: 'forks',
    reporters: ['default', new RequirementsReporter()],
    coverage: { enabled: false, provider: 'v8', include: ['src/**/*.ts'], exclude: ['**/*.test.ts'] },
    projects: [
      // More workers than cores: much of a test that starts daemons and agents is waiting.
      group('unit', { order: 0, maxWorkers: 3, include: ['src/**/*.test.ts', 'test/**/*.test.ts'], exclude: HEAVY }),
      group('e2e', {
        order: 1,
        maxWorkers: 4,
        include: ['agents', 'e2e', 'journeys'].map((folder) => `test/${folder}/**/*.test.ts`),
      }),
      // A browser, a daemon and agents for each file: two at a time.
      group('page', {
        order: 2,
        maxWorkers: 2,
        include: ['test/page/**/*.test.ts'],
        globalSetup: 'test/page/set-up.ts',
        testTimeout: 180_000,
      }),
      group('faults', { order: 3, maxWorkers: 4, include: ['test/faults/**/*.test.ts'] }),
    ],
  },
});
