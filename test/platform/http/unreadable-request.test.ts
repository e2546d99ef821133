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

test.each([
  ['bytes that are not HTTP', 'this is no request', '400', 'bad_request'],
  ['a request without a host', 'GET / HTTP/1.1', '400', 'bad_request'],
  [
    'a request with an unknown expectation',
    'GET / HTTP/1.1\r\nHost: a\r\nExpect: odd\r\nConnection: close',
    '404',
    'not_found',
  ],
])('the server answers %s with the error envelope and a request id', async (_, request, status, type) => {
  const socket = dial();
  socket.write(`${request}\r\n\r\n`);
  const answer = await said(socket);
  const id = /^x-service-request-id: (req_\w+)\r$/im.exec(answer)?.[1];
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `, 'm'));
  expect(JSON.parse(answer.split('\r\n\r\n').at(-1) ?? '').error).toMatchObject({ type, request_id: id });
});

test('the server closes the connection of a request that timed out without an error response', async () => {
  const arrived = once(server, 'connection');
  const socket = dial();
  const [theirs] = await arrived;
  const late = Object.assign(new Error('request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
  server.emit('clientError', late, theirs);
  expect(await said(socket)).toBe('');
});
