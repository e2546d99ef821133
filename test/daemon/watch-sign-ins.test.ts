import { expect, onTestFinished, test } from 'vitest';
import { openTokenWatch } from '../../src/daemon/watch-tokens.js';
import { Fault } from '../../src/domain/fault.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { manualClock } from '../support/manual-clock.js';

const seconds = { interval: 50 };

test('a sign-in that another host stored in the vault is noticed within ten seconds, and a server that is away is no change', async () => {
  const clock = manualClock(0);
  let entry: string | null | Error = 'sign-in 1';
  const events: string[] = [];
  const source = {
    name: 'crm',
    access: {
      kind: 'credentials',
      at: { entry: 'sign-in/crm' },
      clientId: 'pk_test_1',
      clientSecret: null,
    },
  };
  const watch = await openTokenWatch({
    engine: {
      sources: { all: [source], onChange: () => () => {} },
      vault: {
        read: async () => {
          if (entry instanceof Error) throw entry;
          return entry;
        },
      },
      platform: { tokensOf: () => ({ reload: () => events.push('reload') }) },
      sync: { recheck: (name: string) => events.push(`recheck ${name}`) },
    } as never,
    rules: [],
    onRule: () => events.push('rule'),
    clock,
    logger: silentLogger,
  });
  watch.start();
  onTestFinished(() => watch.close());
  const pass = async (millis: number) => {
    for (let left = millis; left > 0; left -= 1_000) {
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
      clock.advance(1_000);
    }
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  };
  await pass(30_000);
  expect(events).toEqual([]);
  entry = new Fault('database_busy', 'away');
  await pass(12_000);
  entry = 'sign-in 1';
  await pass(12_000);
  expect(events).toEqual([]);
  entry = 'sign-in 2';
  await pass(12_000);
  expect(events).toEqual(['reload', 'recheck crm']);
  // A defect does not end the watch, and with it the process.
  entry = new TypeError('no fault');
  await pass(12_000);
  entry = 'sign-in 3';
  await pass(12_000);
  expect(events).toEqual(['reload', 'recheck crm', 'reload', 'recheck crm']);
});

test('a refreshed sign-in is told apart from one that a person replaced, for sources and for rules', async () => {
  const clock = manualClock(0);
  const access = { kind: 'credentials', at: { entry: 'sign-in/crm' }, clientId: 'pk_1', clientSecret: null };
  let entry = 'sign-in 1';
  let signIn = async () => 0;
  const events: string[] = [];
  const watch = await openTokenWatch({
    engine: {
      sources: { all: ['crm', 'erp'].map((name) => ({ name, access })), onChange: () => () => {} },
      vault: { read: async () => entry },
      platform: { tokensOf: () => ({ signIn: () => signIn() }) },
      sync: {
        recheck: (name: string) => events.push(`recheck ${name}`),
        refreshed: (name: string) => events.push(`refreshed ${name}`),
      },
    } as never,
    rules: [{ rule: 'all', access } as never],
    onRule: () => events.push('rule'),
    clock,
    logger: silentLogger,
  });
  onTestFinished(() => watch.close());
  watch.start();
  const seenAt = async (stored: string) => {
    await expect.poll(() => clock.waiting, seconds).toBe(1);
    entry = stored;
    clock.advance(10_000);
    await expect.poll(() => clock.waiting, seconds).toBe(1);
    return events.splice(0);
  };
  expect(await seenAt('sign-in 2')).toEqual(['refreshed crm', 'refreshed erp']);
  signIn = async () => 1;
  expect(await seenAt('sign-in 3')).toEqual(['recheck crm', 'recheck erp', 'rule']);
  expect(await seenAt('sign-in 4')).toEqual(['refreshed crm', 'refreshed erp']);
  signIn = () => Promise.reject(new Fault('reauthorize', 'not readable'));
  expect(await seenAt('sign-in 5')).toEqual(['recheck crm', 'recheck erp', 'rule']);
});

test('a watch that is closed while a server does not answer waits for one sign-in, not for each', async () => {
  let reads = 0;
  let answer = () => {};
  const sources = ['a', 'b', 'c'].map((name) => ({
    name,
    access: { kind: 'credentials', at: { entry: `sign-in/${name}` }, clientId: 'pk_1', clientSecret: null },
  }));
  const watch = await openTokenWatch({
    engine: {
      sources: { all: sources, onChange: () => () => {} },
      vault: {
        read: async () => {
          reads += 1;
          if (reads === sources.length + 1) await new Promise<void>((resolve) => (answer = resolve));
          return 'sign-in';
        },
      },
      platform: { tokensOf: () => ({}) },
      sync: {},
    } as never,
    rules: [],
    onRule: () => {},
    clock: manualClock(0),
    logger: silentLogger,
  });
  watch.start();
  await expect.poll(() => reads).toBe(4);
  const closed = watch.close();
  answer();
  await closed;
  expect(reads).toBe(4);
});

test('a sign-in in the vault that another host replaces while the daemon starts is noticed', async () => {
  let entry = 'sign-in 1';
  const access = { kind: 'credentials', at: { entry: 'sign-in/crm' }, clientId: 'pk_1', clientSecret: null };
  const rechecked: string[] = [];
  const watch = await openTokenWatch({
    engine: {
      sources: { all: [{ name: 'crm', access }], onChange: () => () => {} },
      vault: { read: async () => entry },
      platform: { tokensOf: () => ({ reload: () => {} }) },
      sync: { recheck: (name: string) => rechecked.push(name) },
    } as never,
    rules: [],
    onRule: () => {},
    clock: manualClock(0),
    logger: silentLogger,
  });
  onTestFinished(() => watch.close());
  entry = 'sign-in 2';
  watch.start();
  await expect.poll(() => rechecked).toEqual(['crm']);
});

test.each([
  ['stored for the first time', null],
  ['readable again', new Fault('database_unusable', 'the entry does not decrypt')],
])('a sign-in in the vault that is %s after the daemon started is noticed', async (_, before) => {
  let entry: string | null | Error = before;
  const rechecked: string[] = [];
  const access = {
    ...{ kind: 'credentials', at: { entry: 'sign-in/crm' }, clientId: 'pk_test_1' },
    clientSecret: null,
  };
  const clock = manualClock(0);
  const watch = await openTokenWatch({
    engine: {
      sources: { all: [{ name: 'crm', access }], onChange: () => () => {} },
      vault: {
        read: async () => {
          if (entry instanceof Error) throw entry;
          return entry;
        },
      },
      platform: { tokensOf: () => ({ reload: () => {} }) },
      sync: { recheck: (name: string) => rechecked.push(name) },
    } as never,
    rules: [],
    onRule: () => {},
    clock,
    logger: silentLogger,
  });
  onTestFinished(() => watch.close());
  watch.start();
  await expect.poll(() => clock.waiting, seconds).toBe(1);
  expect(rechecked).toEqual([]);
  entry = 'sign-in 1';
  const noticed = () => {
    clock.advance(10_000);
    return rechecked;
  };
  await expect.poll(noticed, seconds).toEqual(['crm']);
});

test('a sign-in that is replaced just after its source was added is noticed', async () => {
  const access = { kind: 'credentials', at: { entry: 'sign-in/crm' }, clientId: 'pk_1', clientSecret: null };
  const all: unknown[] = [];
  let changed = (_: { readonly removed: readonly string[] }) => {};
  let entry = 'sign-in 1';
  let reads = 0;
  const rechecked: string[] = [];
  const clock = manualClock(0);
  const watch = await openTokenWatch({
    engine: {
      sources: {
        all,
        onChange: (listener: typeof changed) => {
          changed = listener;
          return () => {};
        },
      },
      vault: {
        read: async () => {
          reads += 1;
          return entry;
        },
      },
      platform: { tokensOf: () => ({ reload: () => {} }) },
      sync: { recheck: (name: string) => rechecked.push(name) },
    } as never,
    rules: [],
    onRule: () => {},
    clock,
    logger: silentLogger,
  });
  onTestFinished(() => watch.close());
  watch.start();
  await expect.poll(() => clock.waiting, seconds).toBe(1);
  all.push({ name: 'crm', access });
  changed({ removed: [] });
  expect(reads).toBe(1);
  await new Promise(setImmediate);
  entry = 'sign-in 2';
  clock.advance(10_000);
  await expect.poll(() => rechecked, seconds).toEqual(['crm']);
});
