import { expect, test } from 'vitest';
import { withAuth } from '../../../src/client/fetch/with-auth.js';
import { staticToken } from '../../../src/client/tokens/static-token.js';
import { answer, callTo, scripted } from './calls.js';

const url = 'http://api.test/investments';

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

test.each(['', '  \n', 'at_1\r\nHost: evil', 'at 1', 'ät_1'])(
  'auth: the token %j is rejected before it is sent, without being quoted',
  async (text) => {
    const sending = withAuth(
      scripted(answer(200)),
      staticToken(() => text),
    )(callTo(url));
    await expect(sending).rejects.toMatchObject({ code: 'usage' });
    await expect(sending).rejects.not.toThrow(/at_1|evil/);
  },
);

test('auth: the line break at the end of a token file is not part of the token', async () => {
  const fetch = scripted(answer(200));
  await withAuth(
    fetch,
    staticToken(() => 'at_1\n'),
  )(callTo(url));
  expect(fetch.calls[0]?.headers.authorization).toBe('Bearer at_1');
});
