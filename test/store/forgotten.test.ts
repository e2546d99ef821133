import { expect, test } from 'vitest';
import type { FeedItem, Identity, Investment } from '../../src/domain/investment.js';
import { withoutForgotten } from '../../src/store/forgotten.js';

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
const stranger = () => null;
const named = (items: readonly FeedItem[]) =>
  items.map((item) =>
    item.kind === 'record' ? item.identity?.name : item.kind === 'rejected' ? item.body : null,
  );

test('a page loses the identity of a forgotten investment or investor; other records stay unchanged', () => {
  const items = [record('inv_1', 'usr_1'), record('inv_2', 'usr_2'), record('inv_3', null)];
  expect(named(withoutForgotten(items, new Set(['inv_1', 'usr_2']), stranger))).toEqual([
    undefined,
    undefined,
    'Ada',
  ]);
});

test('an unreadable record that mentions a forgotten id loses its body', () => {
  const items = [rejected('inv_1', 'a'), rejected(null, '{"investor":{"id":"usr_2"}}'), rejected(null, 'c')];
  expect(named(withoutForgotten(items, new Set(['inv_1', 'usr_2']), stranger))).toEqual(['', '', 'c']);
});

test('without forgotten ids the page is returned as the same object', () => {
  const items = [record('inv_1', 'usr_1')];
  expect(withoutForgotten(items, new Set(), stranger)).toBe(items);
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
