import { createServer, request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock.js';
import { listen } from '../../src/runtime/listening.js';
import { openForwarder } from '../../src/tasks/forward.js';

test('a delivery with a Trailer header, as a proxy may add it, is forwarded without it', async () => {
  const got: string[] = [];
  const local = createServer((incoming, response) => {
    got.push(...incoming.rawHeaders.map((text) => text.toLowerCase()));
    response.end();
  });
  const { port } = await listen(local, 0, '127.0.0.1');
  const forwarder = await openForwarder({
    at: { host: '127.0.0.1', port: 0 },
    path: null,
    forwardTo: new URL(`http://127.0.0.1:${port}/`),
    clock: systemClock,
    accepts: () => true,
    onAnswer: () => {},
  });
  onTestFinished(async () => {
    await forwarder.close();
    local.close();
  });
  const headers = { trailer: 'x-sum', 'transfer-encoding': 'chunked', 'x-kept': 'yes' };
  const status = await new Promise((resolve, reject) => {
    const options = { port: forwarder.port, method: 'POST', headers, agent: false, timeout: 5_000 };
    const sent = request(options, (answer) => resolve(answer.resume().statusCode));
    sent.on('error', reject).on('timeout', () => sent.destroy(new Error('no answer')));
    sent.end('{}');
  });
  expect(status).toBe(200);
  expect(got).toContain('x-kept');
  expect(got).not.toContain('trailer');
});
