import { join } from 'node:path';
import { expect, test } from 'vitest';
import { integrityCheck } from '../../src/doctor/damage-checks.js';
import { folder } from '../config/load-config.js';
import { placeMigrated } from '../support/migrated-file.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

test('doctor prints a command for a file of any name when the quick check takes too long', async () => {
  const file = join(folder(), 'the mirror.db');
  placeMigrated(file);
  const clock = new VirtualClock();
  const checking = integrityCheck(file, clock, new AbortController().signal);
  while (clock.sleeping === 0) await clock.advance(0);
  // The start of the process that runs the query has ten seconds of its own.
  await clock.advance(20_000);
  expect(await checking).toMatchObject({
    verdict: 'warn',
    mend: `sqlite3 "${file}" 'PRAGMA quick_check'`,
  });
});
