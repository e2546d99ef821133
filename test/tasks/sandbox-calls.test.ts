import { expect, test } from 'vitest';
import { control } from '../../src/tasks/sandbox-calls.js';

const call = { method: 'GET', path: '/webhooks' } as const;

/** Answers with headers, then fails within the body. */
const cutWithin = async (): Promise<Response> =>
  new Response(
    new ReadableStream({
      pull: (body) => body.error(new TypeError('terminated')),
    }),
  );

test('a sandbox that ends within its answer is unreachable', async () => {
  const calls = { fetch: cutWithin, url: 'http://127.0.0.1:1', signal: new AbortController().signal };
  await expect(control(call, calls)).rejects.toMatchObject({ code: 'unreachable' });
});

test('a call that is stopped within its answer is stopped', async () => {
  const calls = { fetch: cutWithin, url: 'http://127.0.0.1:1', signal: AbortSignal.abort() };
  await expect(control(call, calls)).rejects.toMatchObject({ code: 'stopped' });
});
