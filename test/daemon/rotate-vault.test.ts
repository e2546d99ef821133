import { expect, onTestFinished, test } from 'vitest';
import { startVaultRotation } from '../../src/daemon/rotate-vault.js';
import { Fault } from '../../src/domain/fault.js';
import { HealthRegister } from '../../src/runtime/health-register.js';
import { silentLogger } from '../../src/runtime/logger.js';
import type { EncryptedVault, Reencrypted } from '../../src/vault/encrypted-vault.js';
import { manualClock } from '../support/manual-clock.js';

/** A rotation over slices that the test names; each turn takes the next. */
function rotation(slices: readonly (Reencrypted | Error)[], leads = () => true, isLed = () => !leads()) {
  const clock = manualClock(0);
  const register = new HealthRegister();
  const asked: number[] = [];
  const reencrypt = async (): Promise<Reencrypted> => {
    const next = slices[asked.length] ?? { replaced: 0, unreadable: [], more: false };
    asked.push(clock.now());
    if (next instanceof Error) throw next;
    return next;
  };
  const encrypted: Pick<EncryptedVault, 'reencrypt'> = { reencrypt };
  const running = startVaultRotation({
    vault: { encrypted: async () => encrypted as EncryptedVault },
    clock,
    logger: silentLogger,
    register,
    leads,
    isLed,
  });
  onTestFinished(() => running.close());
  /** Advances step by step, so that each turn ends before the next one is due. */
  const pass = async (millis: number) => {
    for (let left = millis; left > 0; left -= 500) {
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
      clock.advance(Math.min(500, left));
    }
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  };
  return { asked, register, pass };
}

const some = { replaced: 50, unreadable: [], more: true };

test('vault rotation: slices follow each other a second apart, and an hour later it looks again', async () => {
  const { asked, pass } = rotation([some, some, { replaced: 3, unreadable: [], more: false }]);
  await pass(10_000);
  expect(asked).toEqual([0, 1_000, 2_000]);
  await pass(3_600_000 - 10_000);
  expect(asked).toHaveLength(3);
  await pass(5_000);
  expect(asked).toHaveLength(4);
});

test('vault rotation: only the leader rotates, and a new leader begins within a minute', async () => {
  let leads = false;
  const { asked, pass } = rotation([], () => leads);
  await pass(120_000);
  expect(asked).toEqual([]);
  leads = true;
  await pass(60_500);
  expect(asked).toHaveLength(1);
});

test('vault rotation: a server that is away is tried again after a minute', async () => {
  const { asked, pass } = rotation([new Fault('database_busy', 'away'), new Error('lost')]);
  await pass(130_000);
  expect(asked).toEqual([0, 60_000, 120_000]);
});

test('vault rotation: an entry that does not decrypt needs attention until it does', async () => {
  const { register, pass } = rotation([
    { replaced: 0, unreadable: ['sign-in/a'], more: true },
    { replaced: 0, unreadable: ['sign-in/b'], more: false },
  ]);
  await pass(5_000);
  expect(register.list()).toMatchObject([
    {
      severity: 'attention',
      text: 'no key in vault.keys decrypts the vault entry "sign-in/a" and 1 more',
    },
  ]);
  await pass(3_600_000);
  expect(register.list()).toEqual([]);
});

test('vault rotation: a daemon that no longer leads reports no entry, because the new leader does', async () => {
  let leads = true;
  const { asked, register, pass } = rotation(
    [
      { replaced: 0, unreadable: ['sign-in/a'], more: false },
      { replaced: 0, unreadable: ['sign-in/b'], more: true },
    ],
    () => leads,
  );
  await pass(5_000);
  expect(register.list()).toMatchObject([
    { text: 'no key in vault.keys decrypts the vault entry "sign-in/a"' },
  ]);
  leads = false;
  await pass(61_000);
  expect(register.list()).toEqual([]);
  // It leads again, for a part of a pass, whose entries the next pass does not report.
  leads = true;
  await pass(54_500);
  leads = false;
  await pass(60_000);
  leads = true;
  await pass(61_000);
  expect(asked).toEqual([0, 120_000, 181_000]);
  expect(register.list()).toEqual([]);
});

test('vault rotation: what it found stays known after a time in which no daemon was known to lead', async () => {
  let leads = true;
  const { asked, register, pass } = rotation(
    [
      { replaced: 0, unreadable: ['sign-in/a'], more: true },
      { replaced: 0, unreadable: [], more: false },
    ],
    () => leads,
    () => false,
  );
  await pass(5_000);
  leads = false;
  await pass(120_000);
  leads = true;
  await pass(120_000);
  expect(register.list()).toHaveLength(1);
  expect(asked).toEqual([0, 1_000]);
});
