import { expect, test } from 'vitest';
import { readEachSecond } from '../../src/daemon/read-each-second.js';
import { Fault } from '../../src/domain/fault.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

test('a table that is read each second and may not be read is one warning, and a database that is away is none', async () => {
  const warned: unknown[] = [];
  const logger = { ...silentLogger, warn: (...line: unknown[]) => void warned.push(line) };
  let error: Error | null = null;
  const look = async () => {
    if (error !== null) throw error;
  };
  const lookAgain = readEachSecond(look, { clock: new VirtualClock(), logger }, 'it could not be read');
  for (const code of ['database_busy', 'database_full'] as const) {
    error = new Fault(code, 'the server is away');
    await lookAgain();
  }
  expect(warned).toEqual([]);
  error = new Fault('database_unusable', 'it lacks SELECT');
  await lookAgain();
  await lookAgain();
  error = null;
  await lookAgain();
  expect(warned).toEqual([
    [{ error: new Fault('database_unusable', 'it lacks SELECT') }, 'it could not be read'],
  ]);
});
