import { expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import { systemClock } from '../../src/runtime/clock.js';
import { openEncryptedVault } from '../../src/vault/encrypted-vault.js';
import type { SealedEntries, SealedEntry } from '../../src/vault/ports.js';
import { testRandom } from '../support/chance.js';

const keyOf = (letter: string) => Buffer.alloc(32, letter).toString('base64');

/** A vault in memory. `reveal` reads the file with its only key. */
function vaultWith(stored: Map<string, SealedEntry>, reveal: () => Promise<string>) {
  const entries: Partial<SealedEntries> = {
    read: async (key) => stored.get(key) ?? null,
    write: async (entry) => {
      stored.set(entry.key, entry);
      return true;
    },
  };
  return openEncryptedVault({
    entries: entries as SealedEntries,
    keys: [{ name: 'vault.keys[0]', reveal }],
    holder: 'test',
    clock: systemClock,
    random: testRandom(),
  });
}

test('vault: keys are read again after a reload that comes while they are being read', async () => {
  const stored = new Map<string, SealedEntry>();
  let file = keyOf('a');
  let goOn = () => {};
  const vault = vaultWith(stored, async () => {
    const read = file;
    await new Promise<void>((resolve) => {
      goOn = resolve;
    });
    return read;
  });
  const first = vault.write('sign-in/crm', 'one');
  await new Promise(setImmediate);
  file = keyOf('b');
  vault.reload();
  goOn();
  await first;

  const second = vault.write('sign-in/crm', 'two');
  await new Promise(setImmediate);
  goOn();
  await second;
  const other = vaultWith(stored, async () => keyOf('b'));
  expect(await other.read('sign-in/crm')).toBe('two');
});

test('vault: a key that cannot be read is reported before a write', async () => {
  const vault = vaultWith(new Map(), () => Promise.reject(new Fault('usage', 'the file is missing')));
  await expect(vault.requireWritable()).rejects.toMatchObject({ code: 'usage' });
});
