import { expect, test } from 'vitest';
import type { Cursor, Position } from '../../src/domain/position.js';
import type { Interruption } from '../../src/runtime/interruption.js';
import { PageReader } from '../../src/sync/page-reader.js';
import type { Feed, OnNext, ReceivedPage } from '../../src/sync/ports.js';
import { received } from './support/truth.js';
import { settled } from './support/virtual-clock.js';

const at = (cursor: string): Position => ({ kind: 'cursor', cursor: cursor as Cursor });

/** Returns for each position a page that names it, and records requested and aborted positions. */
class Echo implements Feed {
  readonly asked: string[] = [];
  readonly cut: string[] = [];

  async page(position: Position, signal: Interruption): Promise<ReceivedPage> {
    const name = position.kind === 'cursor' ? position.cursor : position.kind;
    this.asked.push(name);
    signal.addEventListener('abort', () => this.cut.push(name));
    return received({
      mode: 'delta',
      size: 0,
      items: [],
      hasMore: false,
      next: `behind ${name}`,
      publishedThrough: null,
    });
  }
}

test('page reader: a page read ahead is used once, for its own position', async () => {
  const feed = new Echo();
  const reader = new PageReader(new AbortController().signal);
  await reader.readAhead(feed, at('b'));
  expect((await reader.read(feed, at('b'))).next).toBe('behind b');
  expect((await reader.read(feed, at('b'))).next).toBe('behind b');
  expect(feed.asked).toEqual(['b', 'b']);
});

test('page reader: a page read ahead for another position is aborted and never used', async () => {
  const feed = new Echo();
  const reader = new PageReader(new AbortController().signal);
  await reader.readAhead(feed, at('b'));
  expect((await reader.read(feed, at('c'))).next).toBe('behind c');
  expect(feed.asked).toEqual(['b', 'c']);
  expect(feed.cut).toEqual(['b']);
});

test('page reader: an error in the records of a page read ahead reaches only the reader of that page', async () => {
  const echo = new Echo();
  const feed: Feed = {
    page: async (position, signal) => ({
      ...(await echo.page(position, signal)),
      parse: () => {
        throw new RangeError('a defect');
      },
    }),
  };
  const reader = new PageReader(new AbortController().signal);
  await reader.readAhead(feed, at('b'));
  await settled();
  const taken = await reader.read(feed, at('b'));
  expect(() => taken.parse()).toThrow('a defect');
});

test('page reader: the end of a tick aborts the request read ahead', async () => {
  const feed = new Echo();
  const stop = new AbortController();
  const reader = new PageReader(stop.signal);
  const sent = reader.readAhead(feed, at('b'));
  stop.abort();
  expect(feed.cut).toEqual(['b']);
  await sent;
});

test('page reader: a page that arrives early is parsed while it waits, an awaited page is not', async () => {
  let write = () => {};
  const written = new Promise<void>((resolve) => {
    write = resolve;
  });
  const parsed: string[] = [];
  const echo = new Echo();
  const feed: Feed = {
    page: async (position, signal) => {
      const page = await echo.page(position, signal);
      if (page.next === 'behind waited') await written;
      const parse = () => {
        parsed.push(page.next);
        return page.parse();
      };
      return { ...page, parse };
    },
  };
  const reader = new PageReader(new AbortController().signal);
  await reader.readAhead(feed, at('early'));
  expect(parsed).toEqual(['behind early']);
  await reader.read(feed, at('early'));
  await reader.readAhead(feed, at('waited'));
  const reading = reader.read(feed, at('waited'));
  write();
  await reading;
  expect(parsed).toEqual(['behind early']);
});

/** A feed that reports the position of the next page before it releases the page itself. */
class Telling implements Feed {
  readonly asked: string[] = [];
  readonly cut: string[] = [];
  readonly #waiting = new Map<string, () => void>();

  constructor(readonly next: (name: string) => string) {}

  async page(position: Position, signal: Interruption, onNext?: OnNext): Promise<ReceivedPage> {
    const name = position.kind === 'cursor' ? position.cursor : position.kind;
    this.asked.push(name);
    signal.addEventListener('abort', () => this.cut.push(name));
    await new Promise<void>((resolve) => this.#waiting.set(name, resolve));
    await onNext?.(at(this.next(name)));
    return received({
      mode: 'delta',
      size: 0,
      items: [],
      hasMore: true,
      next: this.next(name),
      publishedThrough: null,
    });
  }

  async arrive(name: string): Promise<void> {
    this.#waiting.get(name)?.();
    await settled();
  }
}

const following = (name: string) => String.fromCharCode(name.charCodeAt(0) + 1);

test('page reader: an awaited page requests the next one before it is read, and only once', async () => {
  const feed = new Telling(following);
  const reader = new PageReader(new AbortController().signal);
  const reading = reader.read(feed, at('a'));
  await feed.arrive('a');
  expect((await reading).next).toBe('b');
  expect(feed.asked).toEqual(['a', 'b']);
  await reader.readAhead(feed, at('b'));
  expect(feed.asked).toEqual(['a', 'b']);
  const second = reader.read(feed, at('b'));
  await feed.arrive('b');
  await second;
  expect(feed.asked).toEqual(['a', 'b', 'c']);
});

test('page reader: a page that is not awaited requests no other', async () => {
  const feed = new Telling(following);
  const reader = new PageReader(new AbortController().signal);
  await reader.readAhead(feed, at('a'));
  await feed.arrive('a');
  expect(feed.asked).toEqual(['a']);
  expect((await reader.read(feed, at('a'))).next).toBe('b');
  expect(feed.asked).toEqual(['a']);
});

test('page reader: a page requested on a wrong guess is aborted', async () => {
  const feed = new Telling(() => 'x');
  const reader = new PageReader(new AbortController().signal);
  const reading = reader.read(feed, at('a'));
  await feed.arrive('a');
  await reading;
  await reader.readAhead(feed, at('b'));
  expect(feed.asked).toEqual(['a', 'x', 'b']);
  expect(feed.cut).toEqual(['x']);
});
