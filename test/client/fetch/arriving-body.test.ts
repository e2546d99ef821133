import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ArrivingBody } from '../../../src/client/fetch/arriving-body.js';

const chunk = Buffer.from('x');

/** A body of a connection that records what is asked of it. */
function open() {
  const asked: string[] = [];
  const body = new ArrivingBody({
    cut: ({ message }) => asked.push(message),
    pause: () => asked.push('pause'),
    resume: () => asked.push('resume'),
  });
  const push = (count: number) => {
    for (let at = 0; at < count; at += 1) body.push(chunk);
  };
  const read = async (count: number) => {
    for (let at = 0; at < count; at += 1) expect(await body.next()).toEqual({ done: false, value: chunk });
  };
  return { asked, body, push, read };
}

test('arriving body: the connection pauses at 512 waiting chunks, once, until all of them are read', async () => {
  const { asked, body, push, read } = open();
  push(511);
  expect(asked).toEqual([]);
  push(1);
  expect(asked).toEqual(['pause']);
  push(2);
  expect(asked).toEqual(['pause']);
  await read(514);
  await turn();
  expect(asked).toEqual(['pause']);
  const next = body.next();
  expect(asked).toEqual(['pause']);
  await turn();
  expect(asked).toEqual(['pause', 'resume']);
  push(512);
  expect(asked).toEqual(['pause', 'resume', 'pause']);
  expect(await next).toEqual({ done: false, value: chunk });
});

test('arriving body: a reader that waits for the next chunk resumes no connection that goes on', async () => {
  const { asked, body, push } = open();
  const next = body.next();
  await turn();
  push(1);
  expect(await next).toEqual({ done: false, value: chunk });
  expect(asked).toEqual([]);
});

test('arriving body: what came before an error or the end is read first', async () => {
  const failed = open();
  failed.push(2);
  failed.body.fail(new Error('reset'));
  await failed.read(2);
  await expect(failed.body.next()).rejects.toThrow('reset');
  const ended = open();
  ended.push(1);
  ended.body.end();
  await ended.read(1);
  expect(await ended.body.next()).toEqual({ done: true, value: undefined });
});

test('arriving body: a reader that stops before the end closes the connection, and one that stops after it does not', async () => {
  const early = open();
  early.push(2);
  await early.body.return();
  await early.body.return();
  expect(early.asked).toEqual(['the reader closed the response before its end']);
  expect(await early.body.next()).toEqual({ done: true, value: undefined });
  const late = open();
  late.body.end();
  await late.body.return();
  expect(late.asked).toEqual([]);
});
