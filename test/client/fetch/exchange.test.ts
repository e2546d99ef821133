import type { Dispatcher } from 'undici';
import { expect, test } from 'vitest';
import { exchange } from '../../../src/client/fetch/exchange.js';

const idle = { dispatch: () => expect.unreachable('nothing is sent') } as unknown as Dispatcher;

test.each([
  ['an error', new Error('30 seconds are over'), '30 seconds are over'],
  ['anything else', 'text', 'the request was aborted'],
])(
  'exchange: a request that was aborted before with %s reaches no connection',
  async (_, reason, message) => {
    const init = { method: 'GET', headers: {}, body: null, redirect: 'manual' } as const;
    const sending = exchange(idle, new URL('http://api.test/'), {
      ...init,
      signal: AbortSignal.abort(reason),
    });
    await expect(sending).rejects.toThrow(new Error(message));
  },
);
