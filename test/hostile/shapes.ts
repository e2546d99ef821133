import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import {
  type Answer,
  amounts,
  type FeedRequest,
  fields,
  grave,
  json,
  nested,
  page,
  pageText,
  record,
  recordText,
  times,
  zippedPage,
} from './answers.js';
import type { Where } from './platform.js';

/** The result of a shape after the real client and the real store have handled it. */
export interface Outcome {
  /** Of the tick that met it; `done` by default. */
  readonly outcome?: 'done' | 'failed' | 'waiting';
  readonly code?: string | null;
  /** Expected in the message of the tick. */
  readonly says?: string;
  /** Stored records, quarantined entries and names of unknown fields; 0 by default. */
  readonly held?: number;
  readonly aside?: number;
  readonly drift?: number;
  /** Expected of every quarantined entry. */
  readonly problem?: string;
  /** Requests for the page. 1 by default, because a malformed page is not retried at once. */
  readonly requests?: number | Readonly<Record<Where, number>>;
}

export interface Shape {
  readonly name: string;
  readonly answer: (asked: FeedRequest) => Answer;
  readonly left: Outcome;
}

const broken = (says: string): Outcome => ({ outcome: 'failed', code: 'contract_broken', says });
const aside = (problem: string, more: Partial<Outcome> = {}): Outcome => ({ aside: 1, problem, ...more });
const retried = { outcome: 'failed', requests: 4 } as const;

const one = (name: string, more: Readonly<Record<string, unknown>>, left: Outcome): Shape => ({
  name,
  answer: (asked) => page(asked, [record(0, more)]),
  left,
});

const inMeta = (name: string, more: Readonly<Record<string, unknown>>, left: Outcome): Shape => ({
  name,
  answer: (asked) => page(asked, [], more),
  left,
});

const whole = (name: string, answer: Answer | ((asked: FeedRequest) => Answer), left: Outcome): Shape => ({
  name,
  answer: typeof answer === 'function' ? answer : () => answer,
  left,
});

const problem = (status: number, error: unknown, headers: Record<string, string> = {}): Answer =>
  json({ error }, { status, headers });

const investor = (more: Readonly<Record<string, unknown>>) => ({
  investor: { ...(record(0).investor as object), ...more },
});

let spaces: Buffer | undefined;

/** Ten members of 30 MB, of which one alone is too much: to zip 300 MB takes two seconds. */
function zippedSpaces(): Buffer {
  if (spaces === undefined) {
    const member = gzipSync(Buffer.alloc(30_000_000, 0x20));
    spaces = Buffer.concat(new Array<Buffer>(10).fill(member));
  }
  return spaces;
}

/** Bodies: size, chunking, and whether they are JSON at all. */
const bodies: readonly Shape[] = [
  whole('an empty body', { body: '' }, broken('200 with nothing')),
  whole('a 204', { status: 204, body: '' }, broken('204 with nothing')),
  whole('HTML', { body: '<!doctype html><title>Sign in</title>' }, broken('HTML')),
  whole('HTML of 600 KB', { body: `<html>${'<p>"quote, and more'.repeat(32_000)}` }, broken('HTML')),
  whole('JSON cut short', (asked) => ({ body: pageText(asked, '[').slice(0, 40) }), broken('not JSON')),
  whole(
    'a page after a byte order mark, which some servers add',
    (asked) => ({ body: `\ufeff${pageText(asked, '[]')}` }),
    {},
  ),
  whole(
    'a page after two byte order marks',
    (asked) => ({ body: `\ufeff\ufeff${pageText(asked, '[]')}` }),
    broken('not JSON'),
  ),
  whole('NaN', (asked) => ({ body: pageText(asked, '[NaN]') }), broken('not JSON')),
  whole('a number', json(0), broken('not an object')),
  whole('null', json('null'), broken('not an object')),
  whole('an array', json([]), broken('not an object')),
  whole('`data` that is an object', (asked) => page(asked, {}), broken('`data`')),
  whole('no `meta`', json({ data: [] }), broken('`meta`')),
  whole(
    '400,000 zeros in 1 KB of gzip',
    zippedPage(() => `[${'0,'.repeat(399_999)}0]`),
    broken('values'),
  ),
  whole(
    '3,000,000 zeros in 8 KB of gzip',
    zippedPage(() => `[${'0,'.repeat(2_999_999)}0]`),
    broken('values'),
  ),
  whole(
    '85,000 empty objects, just below the limit',
    zippedPage(() => `[${'{},'.repeat(84_999)}{}]`),
    broken('85000 came'),
  ),
  whole(
    '128,000 zeros, just below the limit',
    zippedPage(() => `[${'0,'.repeat(127_999)}0]`),
    broken('128000 came'),
  ),
  whole(
    '2,600,000 empty arrays',
    zippedPage(() => `[${'[],'.repeat(2_599_999)}[]]`),
    broken('values'),
  ),
  whole(
    '700,000 objects of one field each',
    zippedPage(() => `[${times(700_000, (at) => `{"${at.toString(36)}":0}`).join()}]`),
    broken('values'),
  ),
  whole(
    '180,000 tombstones',
    zippedPage(() => `[${times(180_000, (at) => JSON.stringify(grave(at))).join()}]`),
    broken('more than'),
  ),
  whole(
    '201 tombstones',
    (asked) => page(asked, times(201, grave)),
    broken('100 records were asked for, 201 came'),
  ),
  whole(
    '200 records, twice the requested number',
    (asked) =>
      page(
        asked,
        times(200, (at) => record(at)),
      ),
    { held: 200 },
  ),
  whole(
    '10,000 records',
    zippedPage(() => JSON.stringify(times(10_000, (at) => record(at)))),
    broken('more than'),
  ),
  whole(
    'arrays nested 4,000,000 deep',
    zippedPage(() => nested(4_000_000)),
    broken('values'),
  ),
  whole(
    'arrays nested 120,000 deep',
    zippedPage(() => `[${nested(120_000)}]`),
    aside('not an object'),
  ),
  whole(
    'a text of 9 MB',
    zippedPage(() => `["${'a'.repeat(9_000_000)}"]`),
    broken('bytes'),
  ),
  whole(
    'a number of 7 MB',
    zippedPage(() => `[${'1'.repeat(7_000_000)}]`),
    broken('bytes'),
  ),
  whole(
    'a number of 4 MB',
    zippedPage(() => `[${'1'.repeat(4_000_000)}]`),
    aside('not an object'),
  ),
  whole(
    '600,000 escapes in a text',
    zippedPage(() => `["${'\\u0061'.repeat(600_000)}"]`),
    aside('not an object'),
  ),
  whole(
    '300 MB in 0.3 MB of gzip',
    () => ({ headers: { 'content-encoding': 'gzip' }, body: zippedSpaces() }),
    broken('bytes'),
  ),
  whole(
    'gzip cut short',
    (asked) => ({
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: gzipSync(pageText(asked, '[]')).subarray(0, 60),
    }),
    { ...retried, code: 'unreachable' },
  ),
  whole(
    'invalid gzip',
    { headers: { 'content-encoding': 'gzip' }, body: 'no gzip at all' },
    { ...retried, code: 'unreachable' },
  ),
  whole(
    'brotli that was not requested',
    { headers: { 'content-encoding': 'br' }, body: brotliCompressSync('{}') },
    broken('encoding'),
  ),
  whole(
    'deflate that was not requested',
    { headers: { 'content-encoding': 'deflate' }, body: deflateSync('{}') },
    broken('encoding'),
  ),
  whole(
    'gzip within gzip',
    { headers: { 'content-encoding': 'gzip, gzip' }, body: gzipSync(gzipSync('{}')) },
    broken('encoding'),
  ),
  whole(
    'a page of 110 KB in chunks of one byte',
    (asked) => ({
      ...page(
        asked,
        times(100, (at) => record(at)),
      ),
      chunk: 1,
    }),
    { held: 100 },
  ),
  whole(
    'a page as text/html',
    (asked) => ({ ...page(asked, [record(0)]), headers: { 'content-type': 'text/html' } }),
    { held: 1 },
  ),
  whole('a connection cut in the middle of a body', (asked) => ({ ...page(asked, [record(0)]), cut: true }), {
    ...retried,
    code: 'unreachable',
  }),
];

/** Entries: each may be invalid while the page is still processed. */
const entries: readonly Shape[] = [
  whole('entries of every type', (asked) => page(asked, [null, 0, 'text', [], {}, true, record(0)]), {
    held: 1,
    aside: 6,
  }),
  whole(
    'one record with 700,000 unknown fields',
    zippedPage(() => `[${recordText(0, times(700_000, (at) => `"f${at}":0`).join())}]`),
    broken('more than'),
  ),
  whole(
    'one record with 18,000 unknown fields, just below the limit',
    (asked) => page(asked, [record(0, fields(18_000))]),
    aside('200 unknown fields'),
  ),
  one('201 unknown fields', fields(201), aside('200 unknown fields')),
  one('200 unknown fields', fields(200), { held: 1, drift: 200 }),
  one(
    '60 unknown fields at each of four places',
    { ...fields(60), ...amounts(fields(60)), ...investor({ ...fields(60), address: fields(60) }) },
    aside('200 unknown fields'),
  ),
  whole(
    '100 records with 100 unknown fields each, all with different names',
    (asked) =>
      page(
        asked,
        times(100, (at) => record(at, fields(100, `r${at}_`))),
      ),
    { held: 100, drift: 501 },
  ),
  one(
    'an unknown field with a name of 100,000 characters',
    { ['n'.repeat(100_000)]: 0 },
    { held: 1, drift: 1 },
  ),
  one(
    'fields called __proto__, constructor and toString',
    JSON.parse('{"__proto__":{"visible":false},"constructor":1,"toString":2}'),
    { held: 1, drift: 3 },
  ),
  one(
    '100,000 values in an unknown field',
    { unknown: times(100_000, () => 0) },
    aside('more than 2000 values'),
  ),
  one(
    '20,000 objects in `blockers`',
    { blockers: times(20_000, () => ({})) },
    aside('more than 2000 values'),
  ),
  one(
    '3,000 contracts',
    { contracts: times(3_000, () => ({ override_amount_cents: 1 })) },
    aside('more than 2000 values'),
  ),
  whole(
    '100 records with 1,000 values each',
    (asked) =>
      page(
        asked,
        times(100, (at) => record(at, { unknown: times(999, () => 0) })),
      ),
    { held: 100, drift: 1 },
  ),
  whole(
    '100 records with 600 empty objects each',
    (asked) =>
      page(
        asked,
        times(100, (at) => record(at, { blockers: times(600, () => ({})) })),
      ),
    { held: 100 },
  ),
  one('an unknown field nested 33 deep', { unknown: JSON.parse(nested(34)) }, aside('nested deeper')),
  whole(
    'an unknown field nested 100,000 deep',
    (asked) => ({ body: pageText(asked, `[${recordText(0, `"unknown":${nested(100_000)}`)}]`) }),
    aside('nested deeper'),
  ),
  one('a bio of 200,000 characters', investor({ bio: 'b'.repeat(200_000) }), aside('longer than 100000')),
  one('half a surrogate pair in a name', investor({ name: '\ud800 half' }), { held: 1 }),
  one('NUL in a group', { group: 'a\0b' }, { held: 1 }),
  whole(
    'one id twice in a record',
    (asked) => ({ body: pageText(asked, `[${recordText(0, '"id":"inv_other"')}]`) }),
    { held: 1 },
  ),
  whole(
    '1e400 cents',
    (asked) => ({
      body: pageText(
        asked,
        `[${JSON.stringify(record(0, amounts({ committed_cents: 7 }))).replace('"committed_cents":7', '"committed_cents":1e400')}]`,
      ),
    }),
    aside('amounts.committed_cents'),
  ),
  whole(
    '-0 cents',
    (asked) => ({
      body: pageText(
        asked,
        `[${JSON.stringify(record(0, amounts({ committed_cents: 7 }))).replace('"committed_cents":7', '"committed_cents":-0')}]`,
      ),
    }),
    { held: 1 },
  ),
  one('2^53 cents', amounts({ committed_cents: 2 ** 53 }), aside('amounts.committed_cents')),
  one('half a cent', amounts({ raised_cents: 0.5 }), aside('amounts.raised_cents')),
  one('cents as text', amounts({ raised_cents: '100' }), aside('amounts.raised_cents')),
  one('an id that is a number', { id: 1.5 }, aside('id is not')),
  one('an id that is a path', { id: '../../etc/passwd' }, aside('id is not')),
  one('an id of 300 characters', { id: `inv_${'x'.repeat(300)}` }, aside('id is not')),
  one('an invalid time', { observed_at: '2026-02-31T25:61:00Z' }, aside('observed_at')),
  one('a status of 300 characters', { status: 's'.repeat(300) }, aside('status is longer')),
  one('a record neither visible nor gone', { visible: 'maybe' }, aside('visible')),
  whole(
    '100 different entries without an id',
    (asked) =>
      page(
        asked,
        times(100, (at) => ({ at })),
      ),
    { aside: 100 },
  ),
  whole(
    '100 equal entries without an id',
    (asked) =>
      page(
        asked,
        times(100, () => ({ at: 0 })),
      ),
    { aside: 1 },
  ),
  whole(
    '100 broken records of 39 KB each',
    (asked) =>
      page(
        asked,
        times(100, (at) => record(at, { visible: 'maybe', message: 'm'.repeat(39_000) })),
      ),
    { aside: 100, problem: 'visible' },
  ),
  whole(
    '100 broken records of 70 KB each',
    (asked) =>
      page(
        asked,
        times(100, (at) => record(at, { visible: 'maybe', message: 'm'.repeat(70_000) })),
      ),
    broken('more than 4096000 bytes'),
  ),
  whole('200 tombstones of what is not held', (asked) => page(asked, times(200, grave)), {}),
  whole(
    'one record 200 times',
    (asked) =>
      page(
        asked,
        times(200, () => record(0)),
      ),
    { held: 1 },
  ),
];

/** Where the next page begins, and what the page declares about itself. */
const positions: readonly Shape[] = [
  inMeta('a cursor of 1 MB', { next_cursor: 'c'.repeat(1_000_000) }, broken('next_cursor')),
  inMeta(
    'a cursor of 1 MB with more pages announced',
    { has_more: true, next_cursor: 'c'.repeat(1_000_000) },
    broken('next_cursor'),
  ),
  inMeta('a cursor with NUL', { next_cursor: 'c\0' }, broken('next_cursor')),
  inMeta('a cursor that is an object', { next_cursor: {} }, broken('next_cursor')),
  inMeta('no cursor', { next_cursor: null }, broken('next_cursor')),
  inMeta('has_more as text', { has_more: 'true' }, broken('has_more')),
  inMeta('a mode nobody knows', { mode: 'both' }, broken('meta.mode')),
  whole(
    'the other mode',
    (asked) => page(asked, [], { mode: asked.mode === 'delta' ? 'bootstrap' : 'delta' }),
    broken(' page to a '),
  ),
  whole(
    'an unchanged cursor with more pages announced',
    (asked) => page(asked, [], { has_more: true, next_cursor: asked.cursor || 'c_1' }),
    { outcome: 'failed', code: 'contract_broken', requests: { listing: 2, delta: 1 } },
  ),
  inMeta('a time of publication that is none', { published_through: 'soon' }, broken('published_through')),
  inMeta('links to another host', { links: { next: 'http://169.254.169.254/latest' } }, {}),
];

/** Statuses and headers. */
const heads: readonly Shape[] = [
  whole(
    'a redirect to another host',
    { status: 302, headers: { location: 'http://169.254.169.254/' }, body: '' },
    broken('redirected to 169.254.169.254'),
  ),
  whole('a 304', { status: 304, body: '' }, broken('redirected')),
  whole(
    'a 403 with a message of 1 MB',
    problem(403, { type: 'insufficient_scope', message: 'm'.repeat(1_000_000) }),
    broken('403 without a readable reason'),
  ),
  whole('a 401', problem(401, { type: 'unauthorized' }), {
    outcome: 'failed',
    code: 'unauthorized',
    requests: 2,
  }),
  whole('a 401 of a gateway', { status: 401, body: '' }, { ...broken('`rosterd connect`'), requests: 2 }),
  whole('a 410 of a gateway', { status: 410, body: '<h1>Gone</h1>' }, broken('sync --resync')),
  whole('a 403', problem(403, { type: 'insufficient_scope' }), { outcome: 'failed', code: 'forbidden' }),
  whole('a 404', problem(404, { type: 'not_found' }), { outcome: 'failed', code: 'refused' }),
  whole('a 404 of a gateway', { status: 404, body: 'no' }, broken('404 without a readable reason')),
  whole('a 418', { status: 418, body: 'short and stout' }, broken('418 without a readable reason')),
  whole(
    'a 500 with HTML of 20 MB',
    { status: 500, body: '<p>'.repeat(7_000_000) },
    { ...retried, code: 'platform_error' },
  ),
  whole('a 502 without a body', { status: 502, body: '' }, { ...retried, code: 'platform_error' }),
  whole(
    'a 503 with a truncated body',
    { status: 503, body: '{"error":', cut: true },
    { ...retried, code: 'unreachable' },
  ),
  whole('a 408', { status: 408, body: '' }, { ...retried, code: 'platform_error' }),
  whole(
    'a 429 with an endless wait',
    () => json('{"error":{"type":"rate_limited","details":{"retry_after":1e400}}}', { status: 429 }),
    { outcome: 'waiting', code: 'rate_limited' },
  ),
  whole('a 429 with a negative wait', problem(429, { type: 'rate_limited', details: { retry_after: -5 } }), {
    outcome: 'failed',
    code: 'contract_broken',
    requests: 4,
  }),
  whole(
    'a 429 until the year 33658',
    { status: 429, headers: { 'x-ratelimit-reset': '999999999999' }, body: '' },
    { outcome: 'waiting', code: 'rate_limited' },
  ),
  whole(
    '100 KB of headers',
    (asked) => ({ ...page(asked, []), headers: { 'x-long': 'h'.repeat(100_000) } }),
    broken('headers'),
  ),
  whole(
    'a page from the year 9999',
    (asked) => ({ ...page(asked, [record(0)]), headers: { date: 'Fri, 31 Dec 9999 23:59:59 GMT' } }),
    { held: 1 },
  ),
  whole(
    'a page from the end of time',
    (asked) => ({ ...page(asked, [record(0)]), headers: { date: '+275760-09-13T00:00:00Z' } }),
    { held: 1 },
  ),
  whole(
    'an invalid date header',
    (asked) => ({ ...page(asked, [record(0)]), headers: { date: 'yesterday' } }),
    {
      held: 1,
    },
  ),
  whole('500 early hints before the page', (asked) => ({ ...page(asked, [record(0)]), hints: 500 }), {
    held: 1,
  }),
  whole(
    'bytes that are not HTTP',
    { body: '', raw: 'SSH-2.0-OpenSSH_9.6\r\n' },
    { ...retried, code: 'unreachable' },
  ),
  whole(
    'an unknown status',
    { body: '', raw: 'HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n' },
    { ...retried, code: 'platform_error' },
  ),
];

export const shapes: readonly Shape[] = [...bodies, ...entries, ...positions, ...heads];
