import { createServer, type Server } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { onUsualPorts } from '../../src/runtime/usual-ports.js';
import { freePort } from '../support/free-port.js';

function listening(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    onTestFinished(() => void server.close());
    server.once('error', reject).listen(port, '127.0.0.1', () => resolve(server));
  });
}

const portOf = (server: Server) => {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : null;
};

test('the usual ports are used while they are free, and any other instead of one that is taken', async () => {
  const usual = { first: await freePort(), second: await freePort() };
  expect(await onUsualPorts(usual, async (ports) => ports)).toEqual(usual);
  await listening(usual.second);
  const { first, second } = await onUsualPorts(usual, async (ports) => ports);
  expect(first).toBe(usual.first);
  expect(second).not.toBe(usual.second);
});

test('a port that another program takes between the look and the start is replaced', async () => {
  const usual = { door: await freePort() };
  const asked: number[] = [];
  const started = await onUsualPorts(usual, async ({ door }) => {
    asked.push(door);
    if (asked.length === 1) await listening(door);
    try {
      return await listening(door);
    } catch (cause) {
      throw new Error('the door is shut', { cause });
    }
  });
  expect(asked).toHaveLength(2);
  expect(asked[0]).toBe(usual.door);
  expect(portOf(started)).toBe(asked[1]);
});

test('a start that fails for another reason is not repeated, and one whose ports are always taken ends', async () => {
  let starts = 0;
  const fails = (error: Error) =>
    onUsualPorts({ door: 0 }, () => {
      starts += 1;
      return Promise.reject(error);
    });
  await expect(fails(new Error('no room'))).rejects.toThrow('no room');
  expect(starts).toBe(1);
  const taken = Object.assign(new Error('taken'), { code: 'EADDRINUSE' });
  await expect(fails(new Error('shut', { cause: taken }))).rejects.toThrow('shut');
  expect(starts).toBe(6);
});
