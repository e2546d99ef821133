import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/postgres/global-setup.ts'],
    pool: 'forks',
    // Half of them wait for processes and disks most of the time; vitest's own default leaves a core idle.
    maxWorkers: Math.max(2, availableParallelism()),
    // For what hangs, not for what is slow: a machine may be ten times slower than the one a test was written on.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 40_000 } },
  },
});
