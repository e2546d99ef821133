import { type LakeDisk, systemLakeDisk } from '../../../src/exports/lake/disk.js';
import { syncLake } from '../../../src/exports/lake/sync-lake.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { seededRandom } from '../../../src/runtime/random.js';
import { readForLake } from '../../../src/store/reads/lake-source.js';

// A lake sync whose process is killed before the n-th operation of a kind: see crash.long.test.ts.

const [file = '', folder = '', step = '', nth = ''] = process.argv.slice(2);
let left = Number(nth);

const dying =
  <Args extends readonly unknown[]>(name: string, work: (...args: Args) => Promise<void>) =>
  async (...args: Args): Promise<void> => {
    if (name === step) {
      left -= 1;
      if (left === 0) process.kill(process.pid, 'SIGKILL');
    }
    await work(...args);
  };

const disk: LakeDisk = {
  write: dying('write', systemLakeDisk.write),
  sync: dying('sync', systemLakeDisk.sync),
  rename: dying('rename', systemLakeDisk.rename),
  syncFolder: dying('syncFolder', systemLakeDisk.syncFolder),
  makeFolder: dying('makeFolder', systemLakeDisk.makeFolder),
  protect: dying('protect', systemLakeDisk.protect),
  remove: dying('remove', systemLakeDisk.remove),
};

await syncLake(
  (work) => readForLake({ kind: 'sqlite', file }, work),
  { folder, identity: true, keep: 2, compact: true },
  {
    clock: systemClock,
    random: seededRandom(9),
    signal: new AbortController().signal,
    disk,
    version: '0.1.0',
  },
);
