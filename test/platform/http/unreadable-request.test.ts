import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Router } from '../../../src/platform/http/route.js';
import { createPlatformServer } from '../../../src/platform/http/server.js';
import { createServices } from '../../../src/platform/platform.js';
import type { Services } from '../../../src/platform/services.js';

let services: Services;
let server: Server;

beforeEach(async () => {
  services = createServices();
  server = createPlatformServer(services, new Router([]), []).listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(async () => {
  server.close();
  await once(server, 'close');
  services.state.close();
});

/** Returns everything the server sent before it closed the connection. */
async function said(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk) => {
    text += String(chunk);
  });
  await once(socket, 'close');
  return text;
}

const dial = () => connect((server.address() as AddressInfo).port, '127.0.0.1');

test('the server answers bytes that are not HTTP with an error', async () => {
  const socket = dial();
  socket.write('this is no request\r\n\r\n');
  expect(await said(socket)).toMatch(/^HTTP\/1\.1 400 [\s\S]+bad_request/);
});

test('the server closes the connection of a request that timed out without an error response', async () => {
  const arrived = once(server, 'connection');
  const socket = dial();
  const [theirs] = await arrived;
  const late = Object.assign(new Error('request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
  server.emit('clientError', late, theirs);
  expect(await said(socket)).toBe('');
});
