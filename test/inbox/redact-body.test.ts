import { expect, test } from 'vitest';
import { redactBody } from '../../src/inbox/redact-body.js';

test('redact body: the announcement is kept and personal data is removed, wherever it may be', () => {
  const body = {
    id: 'evt_1',
    event: 'investment.created',
    actor: { name: 'CANARY' },
    data: {
      id: 'inv_1',
      status: 'active',
      fields: ['status', 'amounts'],
      observed_at: '2026-10-20T12:00:00Z',
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
])('redact body: %s has nothing to remove', (body) => {
  expect(JSON.parse(redactBody(JSON.parse(body)))).toEqual({ id: 'evt_1', event: 'x', data: {} });
});
