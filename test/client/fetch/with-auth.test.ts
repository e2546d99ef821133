import { expect, test } from 'vitest';
import { withAuth } from '../../../src/client/fetch/with-auth.js';
import { staticToken, storedToken } from '../../../src/client/tokens/static-token.js';
import { answer, callTo, scripted } from './calls.js';

const url = 'http://api.test/investments';
const { signal } = new AbortController();

function rereadable(...tokens: string[]) {
  let reads = 0;
  const provider = staticToken(() => tokens[Math.min(reads++, tokens.length - 1)] ?? '');
  return { provider, reads: () => reads };
}

test('OAUTH-01 CLIENT-01 auth: every call carries the bearer token, which is read once', async () => {
  const fetch = scripted(answer(200));
  const { provider, reads } = rereadable('at_1');
  const send = withAuth(fetch, provider);
  await send(callTo(url));
  await send(callTo(url));
  expect(fetch.calls.map((call) => call.headers.authorization)).toEqual(['Bearer at_1', 'Bearer at_1']);
  expect(reads()).toBe(1);
});

test('CLIENT-10 auth: after a 401 the token is renewed once and the same bytes are sent once more, for any method', async () => {
  const fetch = scripted(answer(401), answer(201));
  const { provider } = rereadable('at_1', 'at_2');
  const call = callTo(url, { method: 'POST', body: '{"a":1}', replayable: false });
  expect((await withAuth(fetch, provider)(call)).status).toBe(201);
  expect(fetch.calls).toMatchObject([
    { method: 'POST', body: '{"a":1}', headers: { authorization: 'Bearer at_1' } },
    { method: 'POST', body: '{"a":1}', headers: { authorization: 'Bearer at_2' } },
  ]);
});

test('CLIENT-10 auth: a second 401 is returned after two requests', async () => {
  const fetch = scripted(answer(401));
  expect((await withAuth(fetch, rereadable('at_1').provider)(callTo(url))).status).toBe(401);
  expect(fetch.calls).toHaveLength(2);
});

test('auth: concurrent 401s share one read of the token', async () => {
  const fetch = scripted(answer(401), answer(401), answer(401), answer(200));
  const { provider, reads } = rereadable('at_1', 'at_2');
  const send = withAuth(fetch, provider);
  const answers = await Promise.all([send(callTo(url)), send(callTo(url)), send(callTo(url))]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(reads()).toBe(2);
});

test.each([
  ['', 'the token is empty'],
  ['  \n', 'the token is empty'],
  ...['at_1\r\nHost: evil', 'at 1', 'ät_1'].map((text) => [
    text,
    'the token has characters that are not allowed in a token',
  ]),
])('auth: the token %j is rejected before it is sent, without being quoted', async (text, message) => {
  const fetch = scripted(answer(200));
  const sending = withAuth(
    fetch,
    staticToken(() => text ?? ''),
  )(callTo(url));
  await expect(sending).rejects.toMatchObject({ code: 'usage', message });
  expect(fetch.calls).toEqual([]);
});

test('auth: a token that was refused after it had been replaced is not read again', async () => {
  const { provider, reads } = rereadable('at_1', 'at_2', 'at_3');
  expect(await provider.current(signal)).toBe('at_1');
  expect(await provider.renew('at_1', signal)).toBe('at_2');
  expect(await provider.renew('at_1', signal)).toBe('at_2');
  expect(reads()).toBe(2);
});

test('auth: a stored token is read from the vault, again after a 401, and missed where there is none', async () => {
  const entries: (string | null)[] = ['at_1', 'at_2', null];
  const stored = storedToken(
    { read: async (key) => (key === 'inst_1' ? (entries.shift() ?? null) : null) },
    'inst_1',
  );
  expect([await stored.current(signal), await stored.renew('at_1', signal)]).toEqual(['at_1', 'at_2']);
  await expect(stored.renew('at_2', signal)).rejects.toMatchObject({
    code: 'reauthorize',
    message: 'there is no token: the vault has no entry "inst_1"',
  });
});

test('auth: the line break at the end of a token file is not part of the token', async () => {
  const fetch = scripted(answer(200));
  await withAuth(
    fetch,
    staticToken(() => 'at_1\n'),
  )(callTo(url));
  expect(fetch.calls[0]?.headers.authorization).toBe('Bearer at_1');
});
