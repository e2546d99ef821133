import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Operation } from '../../src/contract/operation.js';
import { exampleOf } from '../../src/platform/openapi/docs/example.js';
import { seededRandom } from '../../src/runtime/random.js';
import { apiDescription, declaredOperations } from '../tools/api-description.js';
import { type Cast, makeCast } from './matrix/cast.js';
import { company, startWorld, type TestWorld } from './world.js';

const texts: readonly string[] = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '%00',
  '%',
  '%zz',
  '../../etc/passwd',
  '..%2f..',
  'x\r\nX-Injected: yes',
  'x'.repeat(6000),
  '\ud800',
  '\u202egnp.exe',
  '🙂'.repeat(50),
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  "' OR 1=1 --",
  '") ; DROP TABLE users; --',
  '*',
  '%_%',
  '9'.repeat(400),
  '9007199254740993',
  '-1',
  '1e309',
  'NaN',
  '0x10',
  '٣',
  '{}',
  '[]',
  'null',
  '<script>alert(1)</script>',
  '2026-13-45T99:99:99Z',
  '+275760-09-13T00:00:00.001Z',
  '-000001-01-01T00:00:00Z',
  '2026-02-30T00:00:00Z',
  'c_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
  'http://[::ffff:127.0.0.1]:9/',
  'javascript:alert(1)',
];
const values: readonly unknown[] = [
  ...texts,
  null,
  true,
  0,
  -0.5,
  1e308,
  2 ** 53,
  [],
  {},
  [null],
  [[[[]]]],
  { __proto__: null, constructor: { prototype: 1 } },
  Array.from({ length: 2000 }, () => 'x'),
];
/** All inputs together see most values; a second or less per operation. */
const triesPerInput = 8;

const document = apiDescription();
const operations = declaredOperations();
let world: TestWorld;
let casts: readonly Cast[];
beforeAll(async () => {
  world = await startWorld({ limits: false });
  casts = [makeCast(world, 'test'), makeCast(world, 'live')];
});
afterAll(() => world.close());

interface Sent {
  readonly path: string;
  readonly body: unknown;
}

/** Every input of an operation, one at a time, as a function from a hostile value to a request. */
function inputsOf(operation: Operation): readonly ((value: unknown) => Sent)[] {
  const names = [...operation.path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name ?? '');
  const pathWith = (held: Readonly<Record<string, string>>) =>
    names.reduce(
      (path, name) => path.replace(`{${name}}`, held[name] ?? known(operation.path)),
      operation.path,
    );
  const item = document.paths?.[operation.path]?.[operation.method.toLowerCase() as 'post'];
  const request = item?.requestBody;
  const media = request !== undefined && 'content' in request ? Object.values(request.content)[0] : undefined;
  const base = media?.schema === undefined ? undefined : exampleOf(document, media.schema);
  const sent = (path: string, body: unknown): Sent => ({ path, body: encoded(operation, body) });
  const text = (value: unknown) => encodeURIComponent(wellFormed(value));
  const queries = Object.keys(operation.query?.shape ?? {});
  return [
    ...names.map((name) => (value: unknown) => sent(pathWith({ [name]: text(value) }), base)),
    ...[...queries, 'unknown'].map(
      (name) => (value: unknown) => sent(`${pathWith({})}?${name}=${text(value)}`, base),
    ),
    ...queries.map(
      (name) => (value: unknown) =>
        sent(`${pathWith({})}?${name}=${text(value)}&${name}=a&${name}[]=b`, base),
    ),
    ...leaves(base).map((place) => (value: unknown) => sent(pathWith({}), replaced(base, place, value))),
    ...(base === undefined ? [] : [(value: unknown) => sent(pathWith({}), value)]),
  ];
}

/** An id that leads somewhere, so that the other inputs get past the 404. */
function known(path: string): string {
  const cast = casts[0];
  if (cast === undefined) return 'anything';
  if (path.startsWith('/installations')) return cast.here.installationId;
  if (path.startsWith('/companies')) return cast.here.id;
  if (path.startsWith('/developer')) return cast.secondApplication;
  if (path.startsWith('/offerings')) return company(world).offering;
  return 'anything';
}

/** A lone surrogate cannot be percent-encoded; in a body it travels as an escape. */
const wellFormed = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value), 'utf8').toString('utf8');

function encoded(operation: Operation, body: unknown): unknown {
  if (body === undefined || operation.bodyType !== 'form')
    return body === undefined ? undefined : JSON.stringify(body);
  const form = new URLSearchParams();
  if (typeof body === 'object' && body !== null) {
    for (const [name, value] of Object.entries(body)) form.append(name, wellFormed(value));
  }
  return form;
}

function leaves(value: unknown, at: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return at.length === 0 ? [] : [at];
  return [
    ...(at.length === 0 ? [] : [at]),
    ...Object.entries(value).flatMap(([name, held]) => leaves(held, [...at, name])),
  ];
}

function replaced(value: unknown, [name, ...rest]: readonly string[], by: unknown): unknown {
  if (name === undefined) return by;
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value)
    ? [...value]
    : { ...(value as object) };
  Reflect.set(copy, name, replaced(Reflect.get(value as object, name), rest, by));
  return copy;
}

/** What must never be seen: the text of an exception, a place in our files, the words of the database. */
const leak = /\n\s+at |\.ts:\d|\.js:\d|node:internal|SQLITE|SqliteError|TypeError|RangeError|ZodError/;

test.each(operations)('$id answers hostile input as declared, whatever stands in it', async (operation) => {
  const random = seededRandom(operation.id.length * 7919 + operation.path.length);
  const { state } = world.services;
  let asked = 0;
  for (const input of inputsOf(operation)) {
    for (let count = 0; count < triesPerInput; count += 1) {
      const value = values[Math.floor(random.fraction() * values.length)];
      const cast = casts[asked % casts.length];
      const { path, body } = input(value);
      asked += 1;
      state.exec('SAVEPOINT hostile');
      try {
        const token = cast?.token(asked % 3 === 0 ? 'founder' : 'owner', operation);
        // The world holds every answer against the description, and 500 among them.
        const answer = await world.send(operation.method, path, {
          ...(token === null || token === undefined ? {} : { token }),
          ...(body === undefined ? {} : { body }),
          headers: {
            'content-type':
              operation.bodyType === 'form' ? 'application/x-www-form-urlencoded' : 'application/json',
          },
        });
        expect([operation.id, value, answer.status]).toEqual([
          operation.id,
          value,
          expect.toSatisfy((status: number) => status < 500),
        ]);
        expect(JSON.stringify(answer.body)).not.toMatch(leak);
      } finally {
        state.exec('ROLLBACK TO hostile');
        state.exec('RELEASE hostile');
      }
    }
  }
  expect(asked).toBeGreaterThanOrEqual(triesPerInput);
});
