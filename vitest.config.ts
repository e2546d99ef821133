import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/**
 * Folders whose tests keep no state in modules, in the environment or in global hooks. Their files share a process, so
 * that what they import is loaded once; `npm run test:flicker` runs them in random order to prove that they may.
 */
export const sharedFolders = [
  'assistants',
  'bench',
  'browser',
  'cli',
  'client',
  'config',
  'conformance',
  'console',
  'daemon',
  'dimensions',
  'docs',
  'doctor',
  'domain',
  'endpoint',
  'exports',
  'fleet',
  'inbox',
  'installations',
  'judges',
  'library',
  'mutation',
  'outbox',
  'packaging',
  'platform',
  'postgres',
  'reading',
  'runtime',
  'store',
  'sync',
  'tasks',
  'tools',
  'torture',
  'upgrade',
  'vault',
  'verify',
  'years',
];
const sharedFiles = sharedFolders.map((folder) => `test/${folder}/**/*.test.ts`);
/** Slow proofs, most with processes, servers or browsers of their own. `npm test` leaves them to `npm run test:long`. */
const longFiles = 'test/**/*.long.test.ts';

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts', 'test/postgres/global-setup.ts'],
    setupFiles: ['test/support/begin-file.ts'],
    pool: 'forks',
    // Half of them wait for processes and disks most of the time, so one more than there are cores keeps all of them busy.
    maxWorkers: availableParallelism() + 1,
    // For what hangs, not for what is slow: a busy machine may be twenty times slower than the one a test was written on.
    // A test that names a shorter time of its own fails there.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'shared',
          isolate: false,
          include: sharedFiles,
          exclude: [longFiles],
          // Not for the simulator, which reads the files of its own connections; no other process opens those.
          setupFiles: ['test/support/keep-locks.ts'],
        },
      },
      {
        extends: true,
        test: { name: 'isolated', include: ['test/**/*.test.ts'], exclude: [...sharedFiles, longFiles] },
      },
      { extends: true, test: { name: 'long', include: [longFiles] } },
    ],
  },
});
