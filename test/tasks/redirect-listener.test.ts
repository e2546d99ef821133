import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { listenForRedirect, type RedirectListener, redirectPage } from '../../src/tasks/redirect-listener.js';

let listener: RedirectListener;
afterEach(() => listener?.close());

const open = async (registered = 'http://127.0.0.1/callback') => {
  listener = await listenForRedirect(registered, (query) => query.get('state') === 'ours');
  return listener;
};

/** Uses `node:http`, because `fetch` does not send another Host header. */
function ask(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const { hostname, port } = new URL(listener.redirectUri);
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const asked = request({ host: hostname, port, path, method, headers }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += String(chunk);
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    asked.on('error', reject);
    asked.end();
  });
}

test('CLIENT-20 redirect listener: it accepts the first redirect of its own sign-in and then stops listening', async () => {
  const { redirectUri, arrived } = await open();
  expect(redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
  const { status, body } = await ask('/callback?code=abc&state=ours');
  expect([status, body.includes('Signed in')]).toEqual([200, true]);
  expect((await arrived).get('code')).toBe('abc');
  await expect(ask('/callback?code=def&state=ours')).rejects.toThrow('ECONNREFUSED');
});

test('CLIENT-20 redirect listener: a wrong state, host, path, method or an absolute request URL is rejected without effect', async () => {
  const { arrived } = await open();
  expect((await ask('/callback?code=x&state=theirs')).status).toBe(400);
  expect((await ask('/callback?code=x')).status).toBe(400);
  expect((await ask('/callback?code=x&state=ours', { host: 'rebound.example' })).status).toBe(404);
  expect((await ask('/callback?code=x&state=ours', { host: '127.0.0.1' })).status).toBe(404);
  expect((await ask('/callback/?code=x&state=ours')).status).toBe(404);
  expect((await ask('/?code=x&state=ours')).status).toBe(404);
  expect((await ask('/callback?code=x&state=ours', {}, 'POST')).status).toBe(404);
  expect((await ask('http://evil.example/callback?code=x&state=ours')).status).toBe(404);
  expect((await ask('//evil.example/callback?code=x&state=ours')).status).toBe(404);
  expect((await ask('/callback?code=mine&state=ours')).status).toBe(200);
  expect((await arrived).get('code')).toBe('mine');
});

test('redirect listener: it accepts only one of two simultaneous redirects', async () => {
  await open();
  const both = await Promise.allSettled(['a', 'b'].map((code) => ask(`/callback?code=${code}&state=ours`)));
  const statuses = both.map((one) => (one.status === 'fulfilled' ? one.value.status : 'cut'));
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
});

test('redirect listener: the page contains nothing of the request, runs no script and loads nothing', async () => {
  await open();
  const { body } = await ask('/callback?error=%3Cscript%3Ealert(1)%3C/script%3E&state=ours');
  expect(body).not.toContain('script');
  expect(redirectPage('<b>', `"&'`)).toContain('<title>&lt;b&gt;</title>');
  expect(redirectPage('<b>', `"&'`)).toContain('<p>&quot;&amp;&#39;</p>');
});

test('redirect listener: it uses a configured port, and names the option when that port is in use', async () => {
  const first = await open('http://127.0.0.1/cb?app=1');
  expect(first.redirectUri).toMatch(/:\d+\/cb\?app=1$/);
  await expect(listenForRedirect(first.redirectUri, () => true)).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('platform.application.redirectUri'),
  });
});

test('redirect listener: connections kept open do not block the browser', async () => {
  const { redirectUri, arrived } = await open();
  const { hostname, port } = new URL(redirectUri);
  const sockets: Socket[] = [];
  for (let count = 0; count < 40; count += 1) {
    const socket = connect(Number(port), hostname).on('error', () => {});
    await once(socket, 'connect');
    sockets.push(socket);
  }
  expect((await ask('/callback?code=mine&state=ours')).status).toBe(200);
  expect((await arrived).get('code')).toBe('mine');
  for (const socket of sockets) socket.destroy();
});
