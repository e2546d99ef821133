import { expect, test } from 'vitest';
import { createClockWatch } from '../../src/daemon/clock-watch.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import { systemClock } from '../../src/runtime/clock.js';
import { HealthRegister } from '../../src/runtime/health-register.js';
import { type LogFields, type Logger, silentLogger } from '../../src/runtime/logger.js';
import { signed } from '../inbox/support/raw-http.js';
import { freePort } from '../support/free-port.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';
import { configFor, freshFolder, partsFor, sandboxFor } from './daemon-fixture.js';

function remembering() {
  const warned: [LogFields, string][] = [];
  const informed: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    info: (_, message) => informed.push(message),
    warn: (fields, message) => warned.push([fields, message]),
    child: () => logger,
  };
  return { warned, informed, logger };
}

function world() {
  const clock = new VirtualClock();
  const health = new HealthRegister();
  const platform = { aheadMillis: 0, sinceObservedMillis: Number.POSITIVE_INFINITY };
  const { warned, informed, logger } = remembering();
  return {
    clock,
    health,
    platform,
    warned,
    informed,
    watch: createClockWatch({ clock, logger, health, platform }),
  };
}

test('clock watch: a two-hour difference to the platform logs one warning and is a problem until the clocks agree; 300 s are tolerated', () => {
  const { clock, health, platform, warned, informed, watch } = world();
  platform.sinceObservedMillis = 0;
  platform.aheadMillis = 300_000;
  watch.look();
  expect([health.list(), informed]).toEqual([[], []]);
  platform.aheadMillis = -7_200_000;
  // A response counts for an hour.
  platform.sinceObservedMillis = 3_600_001;
  watch.look();
  expect(health.list()).toEqual([]);
  platform.sinceObservedMillis = 3_600_000;
  for (let tick = 0; tick < 50; tick += 1) {
    clock.jump(60_000);
    watch.look();
  }
  expect(health.list()).toMatchObject([
    { key: 'clock-skew', severity: 'attention', since: '2026-11-01T00:01:00.000Z' },
  ]);
  expect(health.list()[0]?.text).toContain("the platform's clock is 7200 s behind this one");
  expect(warned.length).toBe(1);
  platform.aheadMillis = 0;
  watch.look();
  expect(health.list()).toEqual([]);
});

test('clock watch: a clock that keeps changing logs one warning an hour', () => {
  const { clock, health, platform, warned, watch } = world();
  platform.sinceObservedMillis = 0;
  for (let tick = 0; tick < 240; tick += 1) {
    platform.aheadMillis = tick % 2 === 0 ? 400_000 : 0;
    watch.look();
    if (tick === 0)
      expect(health.list()[0]?.text).toContain("the platform's clock is 400 s ahead of this one");
    clock.jump(60_000);
  }
  expect(warned.length).toBe(4);
  expect(health.list()).toEqual([]);
});

test('clock watch: before any platform response, one late genuine delivery raises the alarm and a timely one ends it', () => {
  const { health, warned, watch } = world();
  watch.delivered(-7200);
  watch.delivered(-7201);
  expect(health.list()[0]?.text).toMatch(/7201 s behind this one.*Set this clock/);
  expect(warned.length).toBe(1);
  watch.delivered(null);
  expect(health.list()).toEqual([]);
});

test('clock watch: while both clocks agree, the third replayed delivery raises the alarm, not the first two', () => {
  const { clock, health, platform, watch } = world();
  platform.sinceObservedMillis = 1000;
  watch.delivered(-9000);
  watch.delivered(-9000);
  expect(health.list()).toEqual([]);
  watch.delivered(null);
  watch.delivered(-9000);
  watch.delivered(-9000);
  expect(health.list()).toEqual([]);
  watch.delivered(-9000);
  expect(health.list()[0]?.text).toContain('agree with this clock');
  // No late delivery for an hour ends the alarm.
  clock.jump(3_600_001);
  watch.look();
  expect(health.list()).toEqual([]);
});

test('a daemon with a clock two hours ahead rejects genuine deliveries, warns once, and counts them separately from forged ones', async () => {
  const sandbox = await sandboxFor({ companies: 1 });
  const port = await freePort();
  const secret = 'whsec_test_0123456789';
  const config = configFor(sandbox, { folder: freshFolder(), receiver: { port, secret } });
  const { warned, logger } = remembering();
  let aheadMillis = 7_200_000;
  const clock = { ...systemClock, now: () => Date.now() + aheadMillis };
  const daemon = await startDaemon({ ...partsFor(config), clock, logger });
  const deliver = async (id: string, key = secret) => {
    const body = JSON.stringify({ id, event: 'investment.changed' });
    const headers = {
      'content-type': 'application/json',
      'service-signature': signed(body, Math.floor(Date.now() / 1000), key),
    };
    return (await fetch(`http://127.0.0.1:${port}/webhooks`, { method: 'POST', headers, body })).status;
  };
  try {
    for (let number = 0; number < 23; number += 1) expect(await deliver(`evt_${number}`)).toBe(401);
    await daemon.engine.sync.idle();
    expect(daemon.engine.health.list()).toMatchObject([{ key: 'clock-skew', severity: 'attention' }]);
    expect(warned.filter(([{ code }]) => code === 'clock-skew').length).toBe(1);
    expect(JSON.stringify(warned)).not.toContain(secret);
    aheadMillis = 0;
    await daemon.engine.sync.tick(config.sources[0]?.name ?? ('' as never));
    expect(await deliver('evt_right')).toBe(202);
    expect(daemon.engine.health.list()).toEqual([]);
    expect(await deliver('evt_forged', 'whsec_guess')).toBe(401);
    expect(daemon.engine.health.list()).toEqual([]);
  } finally {
    await daemon.close();
  }
});
