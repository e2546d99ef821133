import { expect, test } from 'vitest';
import { ScrubJob } from '../../src/daemon/scrub-job.js';
import { scrubWords } from '../../src/daemon/scrub-words.js';
import { instantFromMillis } from '../../src/domain/instant.js';
import { silentLogger } from '../../src/runtime/logger.js';
import type { Scrubbed } from '../../src/store/erasures.js';
import { VirtualClock } from '../sync/support/virtual-clock.js';

/** Also on the monotonic clock: of a machine that was started a minute ago. */
const now = 60_000;
const blocked: Scrubbed = { kind: 'blocked', erasures: 1, rewritten: 7 };
const full: Scrubbed = { kind: 'no_room', erasures: 1, bytesMissing: 9 };

/** A job that looks every half minute. It scrubs with success, unless `results` says otherwise of the next times. */
function scrubbing(...results: Scrubbed[]) {
  const clock = new VirtualClock(now);
  const minute = () => (clock.monotonic() - now) / 60_000;
  const tried: number[] = [];
  const progress: number[] = [];
  const warned: string[] = [];
  /** Since when erased bytes wait, and whether bytes of replaced values do. */
  const state = { erasedAt: null as number | null, residue: false };
  const job = new ScrubJob({
    clock,
    logger: {
      ...silentLogger,
      warn: ({ state: kind }, message) => warned.push(`${minute()} ${kind}: ${message.split(': ')[1]}`),
    },
    words: scrubWords.sqlite,
    removeBackups: () => {},
    pending: () => ({
      receipts: state.erasedAt === null ? 0 : 1,
      since: state.erasedAt === null ? null : instantFromMillis(state.erasedAt),
      residue: state.residue,
      listing: false,
    }),
    scrub: async (rewritten) => {
      tried.push(minute());
      progress.push(rewritten);
      const result = results.shift() ?? { kind: 'scrubbed', erasures: 1 };
      if (result.kind === 'scrubbed') Object.assign(state, { erasedAt: null, residue: false });
      return result;
    },
  });
  const pass = async (minutes: number) => {
    for (let look = 0; look < minutes * 2; look += 1) {
      await job.run((work) => work(), new AbortController().signal);
      clock.jump(30_000);
    }
  };
  const erase = () => {
    state.erasedAt = clock.now();
  };
  return { state, pass, erase, tried, progress, warned };
}

test('scrubs: erasures close together share one ten minutes after the last, and a replaced value waits for an hour', async () => {
  const { state, pass, erase, tried } = scrubbing();
  erase();
  await pass(1);
  erase();
  await pass(5);
  erase();
  await pass(15);
  state.residue = true;
  await pass(60);
  expect(tried).toEqual([0, 10, 70]);
});

test('scrubs: each cause is logged once, and again with the first wait after another process has scrubbed', async () => {
  const { state, pass, erase, tried, progress, warned } = scrubbing(
    blocked,
    full,
    full,
    blocked,
    blocked,
    full,
  );
  erase();
  await pass(5);
  state.erasedAt = null;
  state.residue = true;
  await pass(5);
  state.residue = false;
  await pass(1);
  erase();
  await pass(2);
  expect(tried).toEqual([0, 0.5, 1.5, 3.5, 7.5, 11, 11.5]);
  expect(progress).toEqual([0, 7, 7, 7, 7, 7, 7]);
  expect(warned).toEqual([
    '0 blocked: another process reads or writes it; close long reads',
    '0.5 no_room: the disk has no room to rewrite it',
    '3.5 blocked: another process reads or writes it; close long reads',
    '11 no_room: the disk has no room to rewrite it',
  ]);
});

test('scrubs: nothing to scrub, as another process finds first, delays no later one', async () => {
  const { state, pass, erase, tried, warned } = scrubbing(blocked, { kind: 'clean' }, blocked);
  erase();
  await pass(1);
  state.erasedAt = null;
  await pass(1);
  erase();
  await pass(1);
  expect(tried).toEqual([0, 0.5, 2, 2.5]);
  expect(warned).toHaveLength(2);
});
