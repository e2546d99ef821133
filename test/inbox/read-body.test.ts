import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { drained } from '../../src/inbox/read-body.js';
import { settled, VirtualClock } from '../sync/support/virtual-clock.js';

const megabyte = Buffer.alloc(1024 * 1024);

/** A body that was rejected and goes on arriving. */
function rejected() {
  const request = new PassThrough();
  const clock = new VirtualClock();
  let isOver = false;
  void drained(request as unknown as IncomingMessage, clock).then(() => {
    isOver = true;
  });
  const send = async (...chunks: readonly Buffer[]) => {
    for (const chunk of chunks) request.write(chunk);
    await settled();
    return isOver;
  };
  const wait = async (millis: number) => {
    await clock.advance(millis);
    return isOver;
  };
  return { request, clock, send, wait };
}

test('rest of a rejected body: 16 MB are read, so that a sender that reads later receives its response', async () => {
  const { clock, send } = rejected();
  expect(await send(...Array<Buffer>(16).fill(megabyte))).toBe(false);
  expect(await send(Buffer.alloc(1))).toBe(true);
  expect(clock.sleeping).toBe(0);
});

test('rest of a rejected body: a sender has two seconds for it', async () => {
  const { send, wait } = rejected();
  expect(await wait(1_999)).toBe(false);
  expect(await send(megabyte)).toBe(false);
  expect(await wait(1)).toBe(true);
});

test.each(['end', 'close', 'error'])(
  'rest of a rejected body: nothing is waited for after its %s',
  async (event) => {
    const { request, clock, send } = rejected();
    request.emit(event, new Error('made up'));
    expect(await send()).toBe(true);
    expect(clock.sleeping).toBe(0);
  },
);
