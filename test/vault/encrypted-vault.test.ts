import { expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import { systemClock } from '../../src/runtime/clock.js';
import { openEncryptedVault } from '../../src/vault/encrypted-vault.js';
import type { SealedEntries, SealedEntry } from '../../src/vault/ports.js';
import { testRandom } from '../support/chance.js';
import { settled, VirtualClock } from '../sync/support/virtual-clock.js';

const { signal } = new AbortController();
const keyOf = (letter: string) => Buffer.alloc(32, letter).toString('base64');

/** The entries of a database that hosts share. */
function sharedEntries() {
  const stored = new Map<string, SealedEntry>();
  const locks = new Map<string, { readonly holder: string; readonly fence: number }>();
  const renewed: number[] = [];
  let fences = 0;
  const entries: SealedEntries = {
    read: async (key) => stored.get(key) ?? null,
    write: async (entry, fence) => {
      if (fence !== null && locks.get(entry.key)?.fence !== fence) return false;
      stored.set(entry.key, entry);
      return true;
    },
    replace: async (before, after) => {
      if (stored.get(before.key)?.sealed !== before.sealed) return false;
      stored.set(after.key, after);
      return true;
    },
    remove: async (key) => void stored.delete(key),
    keys: async (prefix) => [...stored.keys()].filter((key) => key.startsWith(prefix)).sort(),
    byKeyId: async () => {
      const ids = [...stored.values()].map(({ keyId }) => keyId);
      return [...new Set(ids)].map((keyId) => ({ keyId, entries: ids.filter((id) => id === keyId).length }));
    },
    underOtherKeys: async (keyId, after, limit) =>
      [...stored.keys()]
        .sort()
        .flatMap((key) => stored.get(key) ?? [])
        .filter((entry) => entry.keyId !== keyId && entry.key > after)
        .slice(0, limit),
    claim: async (key, holder) => {
      if (locks.has(key)) return null;
      fences += 1;
      locks.set(key, { holder, fence: fences });
      return fences;
    },
    renew: async (key, fence) => {
      renewed.push(fence);
      return locks.get(key)?.fence === fence;
    },
    release: async (key, fence) => {
      if (locks.get(key)?.fence === fence) locks.delete(key);
    },
    close: async () => {},
  };
  return { entries, stored, locks, renewed };
}

/** A vault whose keys are read from `reveal`, one after the other. */
function vaultWith(
  { entries }: Pick<ReturnType<typeof sharedEntries>, 'entries'>,
  reveals: readonly (() => Promise<string>)[],
  clock = systemClock as VirtualClock | typeof systemClock,
) {
  const keys = reveals.map((reveal, at) => ({ name: `vault.keys[${at}]`, reveal }));
  return openEncryptedVault({ entries, keys, holder: 'test', clock, random: testRandom() });
}

const keyed = (shared: Pick<ReturnType<typeof sharedEntries>, 'entries'>, ...letters: string[]) =>
  vaultWith(
    shared,
    letters.map((letter) => async () => keyOf(letter)),
  );

test('vault: keys are read again after a reload that comes while they are being read', async () => {
  const shared = sharedEntries();
  let file = keyOf('a');
  let goOn = () => {};
  const vault = vaultWith(shared, [
    async () => {
      const read = file;
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
      return read;
    },
  ]);
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
  expect(await keyed(shared, 'b').read('sign-in/crm')).toBe('two');
});

test('vault: a key that cannot be read is reported before a write, and keys that worked stay in use', async () => {
  let reads = 0;
  let isThere = false;
  const vault = vaultWith(sharedEntries(), [
    async () => {
      reads += 1;
      if (!isThere) throw new Fault('usage', 'the file is missing');
      return keyOf('a');
    },
  ]);
  await expect(vault.requireWritable()).rejects.toMatchObject({ code: 'usage' });
  isThere = true;
  await vault.write('sign-in/crm', 'one');
  await vault.checkKeys();
  expect(reads).toBe(2);
  isThere = false;
  vault.reload();
  expect(await vault.read('sign-in/crm')).toBe('one');
  expect(await vault.read('sign-in/crm')).toBe('one');
  expect(reads).toBe(4);
});

test.each([
  ['of another length', ['a', 'short'], /^vault\.keys\[1\]: is not a key$/],
  ['listed twice', ['a', 'a'], /^vault\.keys\[1\]: is key [0-9a-f]{12}, which is listed before$/],
] as const)('vault: a key %s is refused with its place', async (_, letters, message) => {
  const reveals = letters.map((letter) => async () => (letter === 'short' ? 'short' : `${keyOf(letter)}\n`));
  await expect(vaultWith(sharedEntries(), reveals).checkKeys()).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringMatching(message),
  });
});

test('vault: a rotation moves every entry that decrypts to the first key, in slices, and names the others', async () => {
  const shared = sharedEntries();
  const old = keyed(shared, 'a');
  const names = ['a', 'b', 'c', 'd', 'e'].map((name) => `sign-in/${name}`);
  for (const name of names) await old.write(name, `secret of ${name}`);
  await keyed(shared, 'x').write('sign-in/bb', 'of a key that is lost');
  const vault = keyed(shared, 'b', 'a');
  const slice = { replaced: 2, unreadable: [], more: true };
  expect(await vault.reencrypt(2)).toEqual(slice);
  expect(await vault.reencrypt(2)).toEqual({ ...slice, replaced: 1, unreadable: ['sign-in/bb'] });
  expect(await vault.status()).toMatchObject({
    entries: 6,
    keys: [
      { role: 'first', entries: 3 },
      { role: 'older', entries: 2 },
      { role: 'missing', entries: 1 },
    ],
  });
  expect(await vault.reencrypt(2)).toEqual(slice);
  expect(await vault.reencrypt(2)).toEqual({ ...slice, replaced: 0, more: false });
  // The next pass begins anew.
  expect(await vault.reencrypt(2)).toEqual({ replaced: 0, unreadable: ['sign-in/bb'], more: false });
  const later = keyed(shared, 'b');
  for (const name of names) expect(await later.read(name)).toBe(`secret of ${name}`);
});

test('vault: what another host writes during a step of a rotation is kept', async () => {
  const shared = sharedEntries();
  await keyed(shared, 'a').write('sign-in/crm', 'before');
  const vault = keyed(
    {
      entries: {
        ...shared.entries,
        underOtherKeys: async (keyId, after, limit) => {
          const found = await shared.entries.underOtherKeys(keyId, after, limit);
          await keyed(shared, 'a').write('sign-in/crm', 'after');
          return found;
        },
      },
    },
    ...['b', 'a'],
  );
  expect(await vault.reencrypt(9)).toEqual({ replaced: 0, unreadable: [], more: false });
  expect(await vault.read('sign-in/crm')).toBe('after');
});

test.each<[string, (entry: SealedEntry) => SealedEntry, string, RegExp]>([
  [
    'copied from another entry',
    (entry) => ({ ...entry, key: 'sign-in/b' }),
    'database_unusable',
    /"sign-in\/b" does not decrypt/,
  ],
  [
    'cut off',
    ({ sealed, ...entry }) => ({ ...entry, sealed: sealed.slice(0, 8) }),
    'database_unusable',
    /does not decrypt/,
  ],
  [
    'changed',
    ({ sealed, ...entry }) => ({ ...entry, sealed: sealed.replace(/^./, '+') }),
    'database_unusable',
    /does not decrypt/,
  ],
  [
    'of an unknown key',
    (entry) => ({ ...entry, keyId: '0123456789ab' }),
    'usage',
    /key 0123456789ab, which is not listed/,
  ],
])('vault: an entry %s does not decrypt, and the error has no secret', async (_, damage, code, message) => {
  const shared = sharedEntries();
  const vault = keyed(shared, 'a');
  await vault.write('sign-in/a', 'x');
  const damaged = damage(shared.stored.get('sign-in/a') as SealedEntry);
  shared.stored.set(damaged.key, damaged);
  await expect(vault.read(damaged.key)).rejects.toMatchObject({
    code,
    message: expect.stringMatching(message),
  });
});

test('vault: an entry that an earlier version stored is read', async () => {
  const shared = sharedEntries();
  const sealed = 'rM9+tTcc61OGbfQhUAVPOpIT59PB8JQBPBxN6Kw7dEew7TLsduuK8B+gsU2r2LDI0R+qRg==';
  shared.stored.set('sign-in/crm', { key: 'sign-in/crm', keyId: '3a9aaa58101d', sealed });
  expect(await keyed(shared, 'a').read('sign-in/crm')).toBe('as version 0.2 sealed it');
});

test('vault: an entry of an unknown key makes it read the keys again, once', async () => {
  const shared = sharedEntries();
  let file = keyOf('a');
  let reads = 0;
  const vault = vaultWith(shared, [
    async () => {
      reads += 1;
      return file;
    },
  ]);
  await Promise.all([vault.checkKeys(), vault.checkKeys()]);
  expect(reads).toBe(1);
  file = keyOf('b');
  await keyed(shared, 'b').write('sign-in/crm', 'canary');
  expect(await Promise.all([vault.read('sign-in/crm'), vault.read('sign-in/none')])).toEqual([
    'canary',
    null,
  ]);
  expect(reads).toBe(2);
});

test('vault: one holder at a time has a lock, which is renewed and released, and a holder that lost it cannot write', async () => {
  const shared = sharedEntries();
  const clock = new VirtualClock();
  const vault = vaultWith(shared, [async () => keyOf('a')], clock);
  const order: string[] = [];
  let end = () => {};
  const first = vault.withLock('sign-in/crm', signal, async (isMine) => {
    order.push('first');
    await new Promise<void>((resolve) => {
      end = resolve;
    });
    order.push(`first ends, mine ${await isMine()}`);
  });
  await settled();
  const second = vault.withLock('sign-in/crm', signal, async (isMine) => {
    order.push('second');
    await vault.write('sign-in/crm', 'second');
    shared.locks.set('sign-in/crm', { holder: 'another', fence: 99 });
    order.push(`second lost it, mine ${await isMine()}`);
    await expect(vault.write('sign-in/crm', 'late')).rejects.toMatchObject({ code: 'unreachable' });
  });
  await clock.advance(10_000);
  expect(shared.renewed).toEqual([1, 1]);
  end();
  await first;
  await clock.advance(1_000);
  await second;
  expect(order).toEqual(['first', 'first ends, mine true', 'second', 'second lost it, mine false']);
  expect(shared.locks.get('sign-in/crm')?.holder).toBe('another');
  // Without a lock of its own, a write needs none.
  await vault.write('sign-in/crm', 'third');
  expect(await vault.read('sign-in/crm')).toBe('third');
});

test('vault: a holder that lost its lock to another one of its process leaves the fence of that one', async () => {
  const shared = sharedEntries();
  const vault = keyed(shared, 'a');
  let end = () => {};
  const late = vault.withLock('sign-in/crm', signal, async () => {
    await new Promise<void>((resolve) => {
      end = resolve;
    });
  });
  await settled();
  shared.locks.delete('sign-in/crm');
  await vault.withLock('sign-in/crm', signal, async () => {
    end();
    await late;
    shared.locks.set('sign-in/crm', { holder: 'another', fence: 99 });
    await expect(vault.write('sign-in/crm', 'late')).rejects.toMatchObject({ code: 'unreachable' });
  });
});

test('vault: a lock that stays taken is waited for a minute, and not after a stop', async () => {
  const shared = sharedEntries();
  const clock = new VirtualClock();
  const vault = vaultWith(shared, [async () => keyOf('a')], clock);
  shared.locks.set('sign-in/crm', { holder: 'another', fence: 99 });
  const outcomes: string[] = [];
  const stop = new AbortController();
  const claim = (ends: AbortSignal) =>
    vault
      .withLock('sign-in/crm', ends, async () => {})
      .catch((error: Fault) => outcomes.push(`${error.code}: ${error.message}`));
  const waits = [claim(signal), claim(stop.signal)];
  await clock.advance(1_000);
  stop.abort();
  await clock.advance(58_900);
  expect(outcomes).toEqual(['stopped: stopped while waiting for the vault entry "sign-in/crm"']);
  await clock.advance(100);
  await Promise.all(waits);
  expect(outcomes[1]).toBe('unreachable: another process has held the vault entry "sign-in/crm" for 60 s');
});

test('vault: an empty secret and a name of another form are refused', async () => {
  const shared = sharedEntries();
  const vault = keyed(shared, 'a');
  await expect(vault.write('sign-in/crm', '')).rejects.toThrow('a vault entry cannot be empty');
  for (const use of [() => vault.write('crm', 'x'), () => vault.read('crm'), () => vault.remove('crm')])
    await expect(use()).rejects.toMatchObject({ code: 'usage' });
  expect(shared.stored.size).toBe(0);
});
