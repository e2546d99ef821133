import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FilledMirror, filledMirror } from './filled-mirror.js';

let world: FilledMirror;
beforeAll(async () => {
  world = await filledMirror(300);
});
afterAll(() => world.close());

test('sync on a terminal shows rows and speed, and how much of a re-listing is done', async () => {
  const first = await world.run(['sync'], { tty: true });
  expect(first.err).toMatch(/sync {2}\d+ rows, \d pages/);
  expect(first.err).not.toContain('%');

  const again = await world.run(['sync', '--resync'], { tty: true });
  expect(again.err).toMatch(/sync {2}\[#{20}\] 100 % {2}\d+ rows, \d pages/);
});
