import { expect, test } from 'vitest';
import { redactBody } from '../../src/inbox/redact-body.js';

test('what announces a change stays, whoever it speaks of goes, in every place it could stand', () => {
  const body = {
    id: 'evt_1',
    event: 'investment.created',
    actor: { name: 'CANARY' },
    data: {
      ...{
        id: 'inv_1',
        status: 'active',
        fields: ['status', 'amounts'],
        observed_at: '2026-10-20T12:00:00Z',
      },
      investor: { id: 'usr_1', name: 'CANARY', email: 'CANARY@example.org' },
      message: 'CANARY',
      offering: { name: 'CANARY' },
    },
  };
  expect(JSON.parse(redactBody(body))).toEqual({
    id: 'evt_1',
    event: 'investment.created',
    data: {
      id: 'inv_1',
      status: 'active',
      fields: ['status', 'amounts'],
      observed_at: '2026-10-20T12:00:00Z',
    },
  });
});

test.each([
  '{"id":"evt_1","event":"x"}',
  '{"id":"evt_1","event":"x","data":null}',
  '{"id":"evt_1","event":"x","data":[1]}',
])('%s has nothing to leave out', (body) => {
  expect(JSON.parse(redactBody(JSON.parse(body)))).toEqual({ id: 'evt_1', event: 'x', data: {} });
});
