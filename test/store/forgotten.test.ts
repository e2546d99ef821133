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

test('a forgotten investment or investor comes without identity, others as they came', () => {
  const items = [record('inv_1', 'usr_1'), record('inv_2', 'usr_2'), record('inv_3', null)];
  expect(named(withoutForgotten(items, new Set(['inv_1', 'usr_2']), stranger))).toEqual([
    undefined,
    undefined,
    'Ada',
  ]);
});

test('an unreadable record that names somebody forgotten loses its body', () => {
  const items = [rejected('inv_1', 'a'), rejected(null, '{"investor":{"id":"usr_2"}}'), rejected(null, 'c')];
  expect(named(withoutForgotten(items, new Set(['inv_1', 'usr_2']), stranger))).toEqual(['', '', 'c']);
});

test('with nobody forgotten the page stays the very same', () => {
  const items = [record('inv_1', 'usr_1')];
  expect(withoutForgotten(items, new Set(), stranger)).toBe(items);
});

test('whoever is known to stand behind an id is forgotten with it, even when the entry does not say so', () => {
  const items = [record('inv_1', null), rejected('inv_1', 'a'), record('inv_2', null)];
  const investorOf = (id: string) => (id === 'inv_1' ? 'usr_1' : null);
  expect(named(withoutForgotten(items, new Set(['usr_1']), investorOf))).toEqual([undefined, '', 'Ada']);
});

test('an id is found in a text whole, not as the beginning of another', () => {
  const items = [rejected(null, '{"id":"inv_12"}'), rejected(null, '{"id":"inv_1"}')];
  expect(named(withoutForgotten(items, new Set(['inv_1']), stranger))).toEqual(['{"id":"inv_12"}', '']);
});
