import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/domain/json.js';
import { contentShape, identityShape, packed, unpacked } from '../../../src/platform/investments/packed.js';
import { all } from '../../../src/platform/state/statements.js';
import { company, startPlatform } from '../../conformance/running-platform.js';

const identity: JsonObject = {
  external_username: null,
  message: 'Hello',
  investor: { name: 'A', legal_name: 'B', email: null, address: { city: 'C' }, bio: null },
};

test('a published record is stored without field names and read back with its fields in order', () => {
  const text = packed(identityShape, identity);
  expect(text).toBe('[null,"Hello",["A","B",null,{"city":"C"},null]]');
  expect(JSON.stringify(unpacked(identityShape, text))).toBe(JSON.stringify(identity));
});

test.each([
  ['a field more', { ...identity, colour: 'red' }],
  ['a field less', { message: 'Hello' }],
  ['another order', { message: 'Hello', external_username: null, investor: identity.investor ?? null }],
  ['no object where one belongs', { ...identity, investor: null }],
  ['an inner field more', { ...identity, investor: { ...(identity.investor as JsonObject), phone: '1' } }],
])('a published record with %s is stored as it is', (_, object: JsonObject) => {
  const text = packed(identityShape, object);
  expect(text).toBe(JSON.stringify(object));
  expect(unpacked(identityShape, text)).toEqual(object);
});

test('every seeded record is stored without field names, and records of earlier versions are read as before', async () => {
  const platform = await startPlatform();
  const { state } = platform.services;
  const rows = all<{ content: string; identity: string }>(
    state,
    'SELECT content, identity FROM publications',
  );
  expect(rows.length).toBeGreaterThan(20);
  for (const row of rows) expect([row.content[0], row.identity[0]]).toEqual(['[', '[']);
  const list = async () => (await platform.get('/investments', { token: company(platform).token })).body.data;
  const before = await list();
  const plain = state.prepare<[string, string, string, string]>(
    'UPDATE publications SET content = ?, identity = ? WHERE content = ? AND identity = ?',
  );
  for (const row of rows)
    plain.run(
      JSON.stringify(unpacked(contentShape, row.content)),
      JSON.stringify(unpacked(identityShape, row.identity)),
      row.content,
      row.identity,
    );
  expect(await list()).toEqual(before);
  await platform.close();
});
