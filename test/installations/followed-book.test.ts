import { expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import { FollowedBook } from '../../src/installations/followed-book.js';
import type { FollowedSource } from '../../src/installations/ports.js';
import { MemoryFollowedSources } from './fake-application.js';
import { source, worldWith } from './following-fixture.js';

/** A book of the stored row of one connected source, and what it asked the store and announced. */
async function bookOf(announce: () => void = () => {}) {
  const { world } = await worldWith('Acme');
  const acme = world.row('acme') as FollowedSource;
  const calls: string[] = [];
  const store = new (class extends MemoryFollowedSources {
    override async list() {
      calls.push('list');
      return await super.list();
    }
    override async save(...changes: Parameters<MemoryFollowedSources['save']>) {
      calls.push('save');
      return await super.save(...changes);
    }
  })();
  await store.save([{ before: null, next: acme }]);
  const book = new FollowedBook(store, async (connected) => {
    announce();
    calls.push(`announce ${connected.length}`);
  });
  await book.refresh();
  calls.length = 0;
  return { acme, book, calls, store };
}

test('followed rows are read again only after another process wrote', async () => {
  const { acme, book, calls, store } = await bookOf();
  expect([await book.refresh(), calls]).toEqual([false, []]);
  await book.save([{ before: acme, next: { ...acme, mints: 2 } }]);
  expect([await book.refresh(), calls]).toEqual([false, ['save']]);
  await store.save([{ before: { ...acme, mints: 2 }, next: { ...acme, mints: 3 } }]);
  expect([await book.refresh(), book.find(acme.source)?.mints]).toEqual([true, 3]);
});

test('without changes, nothing is written to the followed rows', async () => {
  const { book, calls } = await bookOf();
  expect([await book.save([]), calls]).toEqual([[], []]);
});

test('a change that met another row is not stored, and the book has the row that another process wrote', async () => {
  const { acme, book, store } = await bookOf();
  const beta = { ...acme, source: source('beta'), target: 'co_Beta' };
  await store.save([{ before: acme, next: { ...acme, mints: 5 } }]);
  const saved = await book.save([
    { before: acme, next: { ...acme, state: 'disconnected', reason: 'revoked' } },
    { before: null, next: beta },
  ]);
  expect(saved.map(({ next }) => next.source)).toEqual(['beta']);
  expect(book.rows()).toEqual([{ ...acme, mints: 5 }, beta]);
});

test('a change that could not be announced is reported, and announced with the next reading', async () => {
  let fails = 0;
  const { acme, book, calls } = await bookOf(() => {
    fails -= 1;
    if (fails === 0) throw new Fault('database_busy', 'busy');
  });
  fails = 1;
  const end = { before: acme, next: { ...acme, state: 'disconnected' as const } };
  await expect(book.save([end])).rejects.toThrow('busy');
  expect([await book.refresh(), calls.at(-1)]).toEqual([true, 'announce 0']);
});
