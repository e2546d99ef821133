import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { leaveAddress } from '../../src/daemon/leave-address.js';
import { addressFile } from '../../src/reading/daemon-address.js';
import { HealthRegister } from '../../src/runtime/health-register.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { tempFolder } from '../store/temp-folder.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

function daemon() {
  const folder = tempFolder();
  const config = {
    database: { kind: 'sqlite', file: join(folder, 'mirror.db') } as const,
    forget: { ledger: join(folder, 'forget.ledger') },
  };
  const key = 'k'.repeat(32);
  const file = addressFile(config, { key });
  if (file === null) throw new Error('a mirror on SQLite has an address file');
  const clock = new VirtualClock();
  const health = new HealthRegister();
  const leave = async () => {
    const parts = { config, url: 'http://127.0.0.1:9', key, clock, health, logger: silentLogger };
    const address = await leaveAddress(parts);
    onTestFinished(() => address.close());
    return address;
  };
  return { file, clock, health, leave };
}

test('the address file of a daemon is removed when the daemon stops', async () => {
  const { file, health, leave } = daemon();
  const address = await leave();
  expect(existsSync(file)).toBe(true);
  expect(health.list()).toEqual([]);
  await address.close();
  expect(existsSync(file)).toBe(false);
});

test('an address file that cannot be written is reported and written again later', async () => {
  const { file, clock, health, leave } = daemon();
  // Where the file is written to before it gets its name.
  const inTheWay = `${file}.new`;
  mkdirSync(inTheWay);
  const address = await leave();
  expect(health.list()).toMatchObject([
    { key: 'address', severity: 'attention', text: expect.stringContaining(`${file} cannot be written`) },
  ]);
  await clock.advance(30_000);
  expect(existsSync(file)).toBe(false);
  rmSync(inTheWay, { recursive: true });
  await clock.advance(30_000);
  await expect.poll(() => health.list()).toEqual([]);
  expect(existsSync(file)).toBe(true);
  await address.close();
  expect(existsSync(file)).toBe(false);
});
