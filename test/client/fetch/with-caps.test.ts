import { expect, test } from 'vitest';
import type { WireFetch } from '../../../src/client/fetch/fetch.js';
import { withCaps } from '../../../src/client/fetch/with-caps.js';
import { callTo } from './calls.js';

const call = callTo('http://api.test/investments');

function sending(status: number, ...chunks: readonly number[]) {
  const wire: WireFetch = async () => ({
    status,
    headers: new Headers(),
    body: (async function* () {
      for (const length of chunks) yield Buffer.alloc(length, 32);
    })(),
  });
  return withCaps(wire)(call);
}

test('caps: a response without a body is one with an empty body', async () => {
  const wire: WireFetch = async () => ({ status: 204, headers: new Headers(), body: null });
  expect(await withCaps(wire)(call)).toMatchObject({ status: 204, body: '' });
});

test.each([
  [399, null],
  [400, 64 * 1024],
  [503, 64 * 1024],
  [200, 64 * 1024 + 1],
])('caps: of the body of a %i, no more is read than its status needs', async (status, length) => {
  const answered = sending(status, 64 * 1024, 1);
  if (length === null)
    await expect(answered).rejects.toMatchObject({ code: 'contract_broken', about: { status } });
  else expect(await answered).toMatchObject({ status, body: ' '.repeat(length) });
});

test('caps: a refusal counts however large its body is, another response does not', async () => {
  const megabytes = Array<number>(40).fill(60_000);
  expect(await sending(429, ...megabytes)).toMatchObject({ status: 429 });
  await expect(sending(200, ...megabytes)).rejects.toMatchObject({
    code: 'contract_broken',
    message: 'GET /investments answered with more than 1048576 bytes',
    about: { status: 200 },
  });
});

test('caps: a call that its caller aborts was stopped', async () => {
  const stopping = new AbortController();
  const wire: WireFetch = async () => {
    stopping.abort();
    throw new Error('aborted');
  };
  await expect(withCaps(wire)(callTo('http://api.test/', { signal: stopping.signal }))).rejects.toMatchObject(
    {
      code: 'stopped',
    },
  );
});
