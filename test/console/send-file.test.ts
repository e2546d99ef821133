import { createServer } from 'node:http';
import express from 'express';
import { expect, test } from 'vitest';
import { sendFile } from '../../src/console/routes/page-context.js';

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
    await sendFile(response, 'roster.csv', pieces());
  });
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const text = await (await fetch(`http://127.0.0.1:${port}/`)).text();
    expect(text.split('\n')).toHaveLength(21);
    expect(new Set(turnsAt).size).toBe(20);
  } finally {
    clearImmediate(next);
    server.close();
  }
});
