import { expect, onTestFinished, test } from 'vitest';
import { watchAlerts } from '../../src/daemon/alerts.js';
import { type Logger, silentLogger } from '../../src/runtime/logger.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

const minute = 60_000;

test('alerts: a check that fails is logged as a warning once, and again after one that succeeded', async () => {
  const clock = new VirtualClock();
  const logged: string[] = [];
  const log = (level: string) => (_: unknown, message: string) => void logged.push(`${level} ${message}`);
  const logger: Logger = { ...silentLogger, debug: log('debug'), warn: log('warn') };
  let works = false;
  const watch = watchAlerts({
    alerts: {
      open: async () => [],
      queue: async () => {},
      raise: async () => {},
      mark: async () => {},
      resolve: async () => {},
    },
    config: { alerts: { failingMinutes: 15, diskFreeMegabytes: 1 }, notices: [] },
    clock,
    logger,
    leads: () => true,
    status: async () => {
      if (!works) throw new Error('the database is away');
      return { sources: [], endpoint: null, backup: null, exports: null, lake: null, problems: [] };
    },
    freeBytes: async () => null,
    onQueued: () => {},
  });
  onTestFinished(() => watch.close());
  await clock.advance(minute);
  expect(logged.length).toBeGreaterThan(1);
  expect(logged.filter((line) => line === 'warn alerts could not be checked')).toHaveLength(1);
  works = true;
  await clock.advance(minute);
  works = false;
  await clock.advance(minute);
  expect(logged.filter((line) => line === 'warn alerts could not be checked')).toHaveLength(2);
});
