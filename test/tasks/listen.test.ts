import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { listenToSandbox } from '../../src/tasks/listen.js';
import { testRandom } from '../support/chance.js';

/** The second between two looks at the endpoint does not pass. */
const clock: Clock = Object.assign(Object.create(systemClock) as Clock, {
  wait: (millis: number, signal?: AbortSignal) => systemClock.wait(millis === 1_000 ? 1 : millis, signal),
});

test('listen waits for a sandbox that was reset and is away again before the endpoint is registered', async () => {
  const stop = new AbortController();
  const notes: string[] = [];
  let registrations = 0;
  const fetch = async (_: unknown, { method }: RequestInit = {}): Promise<Response> => {
    if (method === 'GET') return Response.json({}, { status: 404 });
    if (method === 'DELETE') return Response.json({});
    registrations += 1;
    if (registrations === 2) throw new TypeError('fetch failed');
    return Response.json({ id: `we_${registrations}`, secret: 'whsec_x' });
  };
  const ask = { forwardTo: new URL('http://127.0.0.1:1/'), events: [] };
  const listening = await listenToSandbox(
    ask,
    { fetch, url: 'http://127.0.0.1:1' },
    {
      clock,
      random: testRandom(),
      signal: stop.signal,
      onForwarded: () => {},
      onNote: (text) => {
        notes.push(text);
        if (text.includes('we_3')) stop.abort();
      },
    },
  );
  await listening.ended;
  expect(notes).toEqual([
    'the sandbox does not respond; waiting for it',
    'the sandbox was reset; we_3 is registered with the same secret',
  ]);
});
