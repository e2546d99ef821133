import { expect, test } from 'vitest';
import type { FeedItem, Identity, Investment } from '../../src/domain/investment.js';
import { withoutErased, withoutForgotten } from '../../src/store/forgotten.js';

const record = (id: string, investor: string | null): FeedItem => ({
  kind: 'record',
  investment: { id, investor_id: investor } as Investment,
  identity: { name: 'Ada' } as Identity,
});
const rejected = (id: string | null, body: string): FeedItem => ({
  kind: 'rejected',
  id: id as Investment['id'] | null,
  problem: 'p',
  body,
});
const tombstone = (id: string) => ({ kind: 'tombstone', id }) as FeedItem;
const stranger = () => null;
const named = (items: readonly FeedItem[]) =>
  items.map((item) =>
    item.kind === 'record' ? item.identity?.name : item.kind === 'rejected' ? item.body : null,
  );

test('a page loses the identity of a forgotten investment or investor; other records stay unchanged', () => {
  const others = [record('inv_3', null), record('inv_4', 'usr_4'), tombstone('inv_1')];
  const items = [record('inv_1', 'usr_1'), record('inv_2', 'usr_2'), ...others];
  expect(named(withoutForgotten(items, new Set(['inv_1', 'usr_2']), stranger))).toEqual([
    ...[undefined, undefined, 'Ada', 'Ada', null],
  ]);
});

test('earlier entries of a record that an unreadable one erases lose identity and body; others stay unchanged', () => {
  const items = [
    ...[record('inv_1', 'usr_1'), record('inv_2', 'usr_2'), rejected('inv_1', 'a'), rejected('inv_2', 'b')],
    ...[rejected(null, 'c'), tombstone('inv_1')],
  ];
  const gone = withoutErased(items, new Map([['inv_1', 'tombstone']]));
  expect(named(gone)).toEqual([undefined, 'Ada', '', 'b', 'c', null]);
});

test('an unreadable record that mentions a forgotten id loses its body', () => {
  const bodies = [rejected(null, '{"investor":{"id":"usr_2"}}'), rejected(null, 'c'), rejected('inv_3', 'd')];
  const items = [rejected('inv_1', 'a'), ...bodies];
  expect(named(withoutForgotten(items, new Set(['inv_1', 'usr_2']), stranger))).toEqual(['', '', 'c', 'd']);
});

test('without forgotten ids the page is returned as the same object', () => {
  const items = [record('inv_1', 'usr_1')];
  expect(withoutForgotten(items, new Set(), stranger)).toBe(items);
  expect(withoutErased(items, new Map())).toBe(items);
});

test('an entry without an investor loses its identity when its stored investor is forgotten', () => {
  const items = [record('inv_1', null), rejected('inv_1', 'a'), record('inv_2', null)];
  const investorOf = (id: string) => (id === 'inv_1' ? 'usr_1' : null);
  expect(named(withoutForgotten(items, new Set(['usr_1']), investorOf))).toEqual([undefined, '', 'Ada']);
});

test('idsIn finds whole ids in a text, not prefixes of longer ids', () => {
  const items = [rejected(null, '{"id":"inv_12"}'), rejected(null, '{"id":"inv_1"}')];
  expect(named(withoutForgotten(items, new Set(['inv_1']), stranger))).toEqual(['{"id":"inv_12"}', '']);
});
