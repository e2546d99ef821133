import { expect, onTestFinished } from 'vitest';
import { type AlertsParts, watchAlerts } from '../../src/daemon/alerts.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { Alerts } from '../../src/store/alerts.js';
import { postgresConnection, sqliteConnection } from '../../src/store/connection.js';
import { test } from '../store/both-databases.js';
import { freshStore, rowsOf } from '../store/mirror-fixture.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

const minute = 60_000;

const receiver = (name: string) =>
  ({ name, about: ['alerts'], rules: {} }) as unknown as AlertsParts['config']['notices'][number];

/** A watch over the disk alone, of which `disk` says how much is free. */
async function diskWatch() {
  const store = await freshStore();
  const connection =
    store.kind === 'sqlite' ? sqliteConnection(store.sqlite) : postgresConnection(store.postgres);
  const clock = new VirtualClock();
  const disk: { freeBytes: number | 'unknown' } = { freeBytes: 0 };
  const watching = (...names: readonly string[]) => {
    const watch = watchAlerts({
      alerts: new Alerts(connection),
      config: {
        alerts: { failingMinutes: 15, diskFreeMegabytes: 1 },
        notices: names.map(receiver),
      },
      clock,
      logger: silentLogger,
      leads: () => true,
      isLed: () => false,
      status: async () => ({
        ...{ sources: [], staleMillis: 5 * minute, endpoint: null, backup: null },
        ...{ exports: null, lake: null, problems: [] },
      }),
      freeBytes: async () => disk.freeBytes,
      tried: () => new Set(),
      onQueued: () => {},
    });
    onTestFinished(() => watch.close());
    return watch;
  };
  const messages = async () => {
    const rows = await rowsOf(store, 'SELECT target, body FROM alert_rows ORDER BY notice');
    return (rows as { target: string; body: string }[]).map(
      ({ target, body }) => `${target}: ${JSON.parse(body).type}`,
    );
  };
  const open = async () => (await rowsOf(store, 'SELECT key FROM open_alerts')).length;
  const later = async <Result>(read: () => Promise<Result>) => {
    await clock.advance(minute);
    return await read();
  };
  return { disk, watching, messages, open, later };
}

test('alerts: a receiver that is new hears nothing of the end of an alert that began before it', async () => {
  const { disk, watching, messages, open, later } = await diskWatch();
  const first = watching('ops');
  await expect.poll(() => later(open)).toBe(1);
  await first.close();
  const began = ['ops: alert.raised'];
  expect(await messages()).toEqual(began);

  disk.freeBytes = 1e9;
  watching('ops', 'new');
  await expect.poll(() => later(open)).toBe(0);
  const ended = [...began, 'ops: alert.resolved'];
  expect(await messages()).toEqual(ended);

  disk.freeBytes = 0;
  await expect.poll(() => later(open)).toBe(1);
  disk.freeBytes = 1e9;
  await expect.poll(() => later(open)).toBe(0);
  expect(await messages()).toEqual([
    ...ended,
    ...['ops: alert.raised', 'new: alert.raised'],
    ...['ops: alert.resolved', 'new: alert.resolved'],
  ]);
});

test('alerts: a disk that was low is not reported as resolved while its free space cannot be read', async () => {
  const { disk, watching, messages, open, later } = await diskWatch();
  watching('ops');
  await expect.poll(() => later(open)).toBe(1);
  disk.freeBytes = 'unknown';
  for (let minutes = 0; minutes < 15; minutes += 1) await later(messages);
  expect(await messages()).toEqual(['ops: alert.raised']);
  disk.freeBytes = 1e9;
  await expect.poll(() => later(open)).toBe(0);
  expect(await messages()).toEqual(['ops: alert.raised', 'ops: alert.resolved']);
});

test('alerts: free space that cannot be read raises no alert', async () => {
  const { disk, watching, open, later } = await diskWatch();
  disk.freeBytes = 'unknown';
  watching('ops');
  for (let minutes = 0; minutes < 5; minutes += 1) await later(open);
  expect(await open()).toBe(0);
});
