import { expect, onTestFailed, test } from 'vitest';
import { Counters } from './counters.js';
import type { Fault } from './network/plan.js';
import { begin, playEpoch } from './network/play.js';
import { calm } from './network/proxy.js';
import { World } from './network/world.js';

/** `npm run torture:network` plays hundreds of faults. */
const seed = 2;
const plan: readonly Fault[] = [
  { kind: 'cut', from: 'a', to: 'd1', ways: 'back', millis: 1_500 },
  { kind: 'weather', host: 'c', weather: { ...calm, resetShare: 0.2 }, millis: 1_500 },
  { kind: 'kill', host: 'b', millis: 0 },
  { kind: 'vanish', host: 'x', how: 'unplugged', millis: 1_000 },
  { kind: 'promotion', primary: 'killed' },
];

// Namespaces need root on Linux. Where they cannot be made, the fleet runs on proxies on the loopback, as it does
// everywhere with `npm run torture:network -- --loopback`.
test('a fleet on several hosts survives cuts, weather, kills and a promotion, and every promise holds', {
  timeout: 600_000,
}, async () => {
  const world = await World.open({ seed, synchronous: true, small: true, namespaces: true });
  if (world.missing !== null) process.stdout.write(`network torture on the loopback: ${world.missing}\n`);
  onTestFailed(() => {
    process.stdout.write(world.lastLines(15));
  });
  try {
    const since = await begin(world);
    const counters = new Counters();
    const strikes = plan.map((fault) => ({ afterMillis: 200, fault }));
    await playEpoch(world, { seed, plan: strikes, restMillisMax: 300_000 }, since, counters);
    expect(counters.of('promotion, primary killed')).toBe(1);
    expect(world.lines('accepted').length).toBeGreaterThan(0);
  } finally {
    await world.close(true);
  }
});
