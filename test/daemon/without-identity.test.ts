import { expect, test } from 'vitest';
import { nameless } from '../../src/daemon/without-identity.js';
import { readPage } from '../../src/store/page-facts.js';
import { identity, record, rejected, tombstone } from '../store/samples.js';

test('identity "drop" removes unknown fields at every level and counts each by name', () => {
  const person = record(
    'inv_1',
    { extra: '{"nickname":"CANARY"}' },
    { ...identity('CANARY'), extra: '{"phone":"CANARY"}' },
  );
  const items = [person, record('inv_2'), rejected('inv_3', 'CANARY'), tombstone('inv_4')].map(nameless);
  expect(JSON.stringify(items)).not.toContain('CANARY');
  expect([...readPage(items).unknownFields]).toEqual([
    ['nickname', 1],
    ['investor.phone', 1],
  ]);
  expect([...readPage(items).unknownFields]).toEqual([...readPage([person]).unknownFields]);
});
