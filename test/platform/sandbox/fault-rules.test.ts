import { beforeAll, expect, test } from 'vitest';
import { type Control, controlOf } from '../../support/control-sandbox.js';
import { startSeededSandbox } from '../../support/seeded-sandbox.js';

let url = '';
let control: Control;
beforeAll(async () => {
  const sandbox = await startSeededSandbox({ companies: 1, records: 5 });
  url = sandbox.url;
  control = controlOf(sandbox);
  return () => sandbox.close();
});

const status = { status: 503 };
test.each([
  ['a path without a slash', { path: 'investments', action: status }, /^path: must begin with \//],
  ['a path with a query', { path: '/investments?cursor=c', action: status }, /^path: .*without a query/],
  [
    'a path of the control API',
    { path: '/_sandbox/churn', action: status },
    /^path: is a path of the sandbox/,
  ],
  ['the start page', { path: '/', action: status }, /^path: is a path of the sandbox itself/],
  [
    'an unknown method',
    { method: 'GTE', path: '/explore', action: status },
    /^method: must be one of \*, GET/,
  ],
  [
    'an event that does not exist',
    { path: 'webhook', event: 'investment.change', action: { lose: true } },
    /^event: matches no event/,
  ],
  [
    'an event of a request',
    { path: '/explore', event: '*', action: status },
    /^event: is for webhook deliveries/,
  ],
  [
    'a lost request',
    { path: '/explore', action: { lose: true } },
    /^action\.lose: is for webhook deliveries/,
  ],
  ['a held request', { path: '*', action: { hold: true } }, /^action\.hold: is for webhook deliveries/],
  [
    'a shortened delivery',
    { path: 'webhook', action: { truncate: 5 } },
    /^action\.truncate: is for requests/,
  ],
  [
    'the body of a delivery',
    { path: 'webhook', action: { ...status, body: 'x' } },
    /^action\.body: is for requests/,
  ],
  [
    'a body without a status',
    { path: '/explore', action: { delayMs: 1, body: 'x' } },
    /^action\.body: has no effect without status/,
  ],
  [
    'headers without a status',
    { path: '/explore', action: { drop: true, headers: {} } },
    /^action\.headers: has no effect without status/,
  ],
  [
    'a recount without omitting',
    { path: '/explore', action: { ...status, recount: true } },
    /^action\.recount: has no effect without omit/,
  ],
])('a fault rule that would never take effect is refused: %s', async (_, rule, message) => {
  const answer = await fetch(`${url}/_sandbox/faults`, { method: 'POST', body: JSON.stringify(rule) });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({
    error: { type: 'invalid_params', message: expect.stringMatching(message) },
  });
});

test('a fault rule with the prefix of older clients applies to requests with and without it', async () => {
  for (const path of ['/explore', '/api/v2/explore']) {
    await control('POST', '/faults', { method: 'get', path: '/api/v2/explore', action: status });
    expect((await fetch(`${url}${path}`)).status).toBe(503);
    expect((await fetch(`${url}${path}`)).status).toBe(401);
  }
});
