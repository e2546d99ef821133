import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openConnectionPool } from '../../../src/client/fetch/connection-pool.js';
import { withCaps } from '../../../src/client/fetch/with-caps.js';
import { callTo } from './calls.js';

/** Throw-away certificates that sign themselves: one for 127.0.0.1, one for another host. */
const pem = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}.pem`, import.meta.url), 'utf8');

async function serve(name: string) {
  let requests = 0;
  const server = createServer({ cert: pem(`${name}.cert`), key: pem(`${name}.key`) }, (_, response) => {
    requests += 1;
    response.end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`, requests: () => requests };
}

function open(extraCa: string | null) {
  const pool = openConnectionPool({ extraCa });
  onTestFinished(() => pool.close());
  return withCaps(pool.fetch);
}

test('a certificate nobody vouches for is not accepted, and nothing is sent', async () => {
  const server = await serve('loopback');
  const sending = open(null)(callTo(server.url, { headers: { authorization: 'Bearer at_1' } }));
  await expect(sending).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining('DEPTH_ZERO_SELF_SIGNED_CERT'),
    about: { hint: expect.stringContaining('certificate') },
  });
  expect(server.requests()).toBe(0);
});

test('an authority named in the configuration is trusted', async () => {
  const server = await serve('loopback');
  expect((await open(pem('loopback.cert'))(callTo(server.url))).status).toBe(200);
});

test('a trusted certificate of another host is not accepted', async () => {
  const server = await serve('other-host');
  await expect(open(pem('other-host.cert'))(callTo(server.url))).rejects.toMatchObject({
    code: 'unreachable',
    message: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID'),
  });
  expect(server.requests()).toBe(0);
});
