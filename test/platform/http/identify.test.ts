import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from '../../../src/platform/state/statements.js';
import { company, type RunningPlatform, startPlatform, user } from '../../conformance/running-platform.js';

let platform: RunningPlatform;
beforeEach(async () => {
  platform = await startPlatform();
});
afterEach(() => platform.close());

test.each(['at_test_unknown', 'at_live_unknown', 'no_token', 'pk_test_unknown'])(
  'the credential %s, which was never issued, returns 401 unauthorized',
  async (token) => {
    const { status, body } = await platform.get('/investments', { token });
    expect([status, body.error.type]).toEqual([401, 'unauthorized']);
  },
);

test('the first use of an access token is announced once', async () => {
  const uses: number[] = [];
  platform.services.events.onFirstUse((no) => uses.push(no));
  for (const _ of [1, 2, 3])
    expect((await platform.get('/investments', { token: company(platform).token })).status).toBe(200);
  expect(uses).toHaveLength(1);
});

test('a token of a user without a user authenticates no one', async () => {
  platform.expectUndeclared();
  run(platform.services.state, "UPDATE access_tokens SET user_no = NULL WHERE kind = 'user'");
  expect((await platform.get('/explore', { token: user(platform).token })).status).toBe(500);
});

test.each(['disabled', 'deleted'])('a token of an application that is %s returns 401', async (status) => {
  run(platform.services.state, 'UPDATE applications SET status = ?', [status]);
  const answer = await platform.get('/investments', { token: company(platform).token });
  expect([answer.status, answer.body.error.type]).toEqual([401, 'unauthorized']);
});
