import { expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import type { SourceName } from '../../src/domain/ids.js';
import { FollowedBook } from '../../src/installations/followed-book.js';
import { obtainTokens, type TokensWished } from '../../src/installations/obtain-tokens.js';
import type { FollowedSource } from '../../src/installations/ports.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { FakeClock } from '../client/fake-clock.js';
import { at, FakeApplication, MemoryFollowedSources } from './fake-application.js';

/** Waiting sources of as many installations, and what is asked of vault and platform. */
async function waitingFor(count: number, over: Partial<FollowedSource> = {}) {
  const clock = new FakeClock(Date.parse(at(1)));
  const application = new FakeApplication(() => clock.now());
  const store = new MemoryFollowedSources();
  const asked: string[] = [];
  const groups: number[] = [];
  const rows = Array.from(
    { length: count },
    (_, n): FollowedSource => ({
      ...{
        source: `s${n}` as SourceName,
        rule: 'crm',
        realm: 'live',
        targetType: 'company',
        target: `co_${n}`,
      },
      ...{ installation: application.install(`co_${n}`), state: 'waiting', reason: null, scopes: null },
      ...{ mints: 0, lastMintAt: null, firstSeenAt: at(0), connectedAt: null, disconnectedAt: null },
      ...{ eraseAfter: null, erasedAt: null, erasedRows: null, ...over },
    }),
  );
  const book = new FollowedBook(store, async (connected) => {
    groups.push(connected.length);
  });
  await book.save(rows.map((next) => ({ before: null, next })));
  groups.length = 0;
  const tokens = new Map<string, string>();
  const vault = {
    read: async (key: string) => {
      asked.push(`read ${key}`);
      return tokens.get(key) ?? null;
    },
    requireWritable: async () => void asked.push('writable'),
    write: async (key: string, secret: string) => void tokens.set(key, secret),
    remove: async (key: string) => void tokens.delete(key),
    keys: async () => [...tokens.keys()],
  };
  const obtain = (wish: Partial<TokensWished> = {}, signal = new AbortController().signal) =>
    obtainTokens(
      { book, vault, clock, logger: silentLogger },
      application,
      {
        ...{ waiting: book.rows(), onUnreadable: () => {}, scopes: ['read:investments'] },
        ...{ looksAtAll: false, isInterrupted: () => false, ...wish },
      },
      signal,
    );
  const mints = () => application.calls.filter((call) => call.startsWith('mint')).length;
  return { application, asked, book, clock, groups, mints, obtain, rows, store, tokens };
}

test('sources whose tokens arrive within a second are connected together, and after a slow change the next ones after ten times as long', async () => {
  const { application, clock, groups, obtain, store } = await waitingFor(7);
  const arrivals = [500, 1_000, 1_600, 2_100, 2_650, 2_700, 2_750];
  const start = clock.monotonic();
  const { mint } = application;
  let turn = Promise.resolve();
  // One token after the other, at these times at the earliest.
  application.mint = (id, scopes) => {
    const minted = turn.then(async () => {
      clock.advance(Math.max(0, start + (arrivals.shift() ?? 0) - clock.monotonic()));
      return await mint.call(application, id, scopes);
    });
    turn = minted.then(() => new Promise((resolve) => setImmediate(resolve)));
    return minted;
  };
  store.fault = (_, after) => {
    const connected = [...store.rows.values()].filter(({ state }) => state === 'connected').length;
    if (after && connected === 2 && groups.length === 0) clock.advance(150);
  };
  await obtain();
  // The change after 1 s takes 150 ms, so the next one is made 1.5 s later.
  expect(groups).toEqual([2, 5, 7]);
});

test('a token in the vault is looked for at a start, also before another one may be asked for', async () => {
  const { asked, mints, obtain, rows, tokens, book } = await waitingFor(1, { mints: 1, lastMintAt: at(1) });
  const key = `installation/${rows[0]?.installation}`;
  tokens.set(key, 'at_live_canary');
  await obtain();
  expect(asked).toEqual([]);
  await obtain({ looksAtAll: true });
  expect([asked, mints()]).toEqual([[`read ${key}`], 0]);
  expect(book.rows()[0]?.state).toBe('connected');
});

test('the vault of a source that never asked for a token is not read', async () => {
  const { asked, mints, obtain } = await waitingFor(1);
  await obtain({ looksAtAll: true });
  expect([asked, mints()]).toEqual([['writable'], 1]);
});

test('where other reasons to ask arrive, four tokens are asked for, and none while the daemon stops', async () => {
  const { mints, obtain } = await waitingFor(9);
  const stopped = AbortSignal.abort();
  await obtain({}, stopped);
  expect(mints()).toBe(0);
  await obtain({ isInterrupted: () => true });
  expect(mints()).toBe(4);
});

test.each([
  ['refused', 409, 'conflict'],
  ['forbidden', 403, 'forbidden'],
] as const)(
  'an installation whose token is %s keeps no other one from its token',
  async (code, status, type) => {
    const { application, book, obtain, rows } = await waitingFor(2);
    application.fault = (call) => {
      if (call === `mint ${rows[0]?.installation}`) throw new Fault(code, 'not this one', { status, type });
    };
    await obtain();
    expect(book.rows().map(({ state }) => state)).toEqual(['waiting', 'connected']);
  },
);

test('a failure of the platform is thrown, after the tokens beside it were stored', async () => {
  const { application, book, obtain, rows } = await waitingFor(2);
  application.fault = (call) => {
    if (call === `mint ${rows[0]?.installation}`) throw new Fault('platform_error', 'away', { status: 503 });
  };
  await expect(obtain()).rejects.toThrow('away');
  expect(book.rows().map(({ state }) => state)).toEqual(['waiting', 'connected']);
});

test('no token is asked for after another process counted a request of its own', async () => {
  const { mints, obtain, rows, store } = await waitingFor(1);
  const [row] = rows as [FollowedSource];
  await store.save([{ before: row, next: { ...row, mints: 1, lastMintAt: at(1) } }]);
  await obtain();
  expect(mints()).toBe(0);
});
