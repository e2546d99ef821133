import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expect, onTestFinished, test } from 'vitest';
import { sendFile } from '../../src/console/routes/page-context.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

/** Returns the address of a server that ends with the test. */
async function served(app: RequestListener): Promise<string> {
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test('sending a large file does not block the event loop', async () => {
  let turns = 0;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const turnsAt: number[] = [];
  const app = express().get('/', async (_request, response) => {
    const pieces = async function* () {
      for (let piece = 0; piece < 20; piece += 1) {
        turnsAt.push(turns);
        yield `${piece}\n`;
      }
    };
    await sendFile(response, 'roster.csv', pieces(), {
      clock: new VirtualClock(),
      logger: silentLogger,
      millisMax: 60_000,
    });
  });
  try {
    const text = await (await fetch(await served(app))).text();
    expect(text.split('\n')).toHaveLength(21);
    expect(new Set(turnsAt).size).toBe(20);
  } finally {
    clearImmediate(next);
  }
});

test('a download that its client pauses is ended when its time is over, and what it reads is given back', async () => {
  const clock = new VirtualClock();
  const warned: string[] = [];
  const logger = { ...silentLogger, warn: (_fields: object, message: string) => void warned.push(message) };
  let giveBack = () => {};
  const givenBack = new Promise<void>((resolve) => {
    giveBack = resolve;
  });
  async function* endless() {
    try {
      for (;;) yield 'x'.repeat(65_536);
    } finally {
      giveBack();
    }
  }
  const app = express().get('/', (_request, response) =>
    sendFile(response, 'roster.csv', endless(), { clock, logger, millisMax: 60_000 }),
  );
  const [paused] = (await once(get(await served(app), { agent: false }), 'response')) as [IncomingMessage];
  await clock.advance(59_000);
  expect(warned).toEqual([]);
  await clock.advance(1_000);
  await givenBack;
  expect(warned).toEqual(['a download was ended: its client did not take it in time']);
  const cut = once(paused, 'error');
  paused.resume();
  expect((await cut)[0]).toMatchObject({ code: 'ECONNRESET' });
  expect(paused.complete).toBe(false);
});
