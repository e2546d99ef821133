import { afterAll, beforeAll, expect, test } from 'vitest';
import { versions } from '../../src/wire/versions.js';
import { apiDescription } from '../tools/api-description.js';
import { credentialsOf } from './fuzz/credentials.js';
import { operationsIn } from './fuzz/request.js';
import { type Answered, company, type RunningPlatform, startPlatform } from './running-platform.js';

let world: RunningPlatform;
let credentials: ReturnType<typeof credentialsOf>;
beforeAll(async () => {
  world = await startPlatform({ limits: false });
  credentials = credentialsOf(world);
});
afterAll(() => world.close());

/** Every list that the description pages by a cursor. */
const lists = operationsIn(apiDescription()).filter(({ parameters }) =>
  parameters.some(({ name }) => name === 'cursor'),
);
/** The oldest version still has the removed lists. */
const headers = { 'Service-Version': versions[0] };

/** The specification declares 422, and no 400, for the lists of investment sessions. */
const refusedAsBodies = new Set(['listOfferingInvestmentSessions', 'listInvestmentSessions']);

function pathOf(template: string): string {
  const place = company(world);
  return template
    .replace(/\{syndicate_id\}/, world.ready.syndicates[0]?.id ?? '')
    .replace(/(?<=^\/companies\/)\{\w+\}/, place.id)
    .replace(/(?<=^\/(?:offerings|campaigns)\/)\{\w+\}/, place.offerings[1] ?? '');
}

/** Reads the list with the credential that sees the most of it. */
async function readerOf(list: (typeof lists)[number]): Promise<(query: string) => Promise<Answered>> {
  const path = pathOf(list.path);
  let seen = -1;
  let best: string | undefined;
  for (const credential of credentials) {
    const token = credential.token(list.scopes);
    const answer = token === undefined ? undefined : await world.get(path, { token, headers });
    if (answer?.status !== 200 || answer.body.data.length <= seen) continue;
    seen = answer.body.data.length;
    best = token;
  }
  if (best === undefined) throw new Error(`no credential may read ${path}`);
  const token = best;
  return (query) => world.get(`${path}?${query}`, { token, headers });
}

test.each(lists)(
  'PAGE-10 ERR-06 $id: page_count is the number of records on the page, and an invalid position or number is refused',
  async (list) => {
    const read = await readerOf(list);
    const page = (await read('per_page=2')).body;
    expect(page.meta.page_count).toBe(page.data.length);
    const found: unknown[] = [];
    const asBody = refusedAsBodies.has(list.id);
    const queries = [
      'cursor=',
      'cursor=x',
      'cursor=c_',
      'cursor=p_AAAA',
      'per_page=many',
      'per_page=1.5',
      'per_page=',
    ];
    for (const query of queries) {
      const { status, body } = await read(query);
      const { type, details } = body.error;
      found.push([query, status, type, asBody ? details.errors[0].field : details.parameter]);
    }
    const refusal = asBody ? [422, 'validation_error'] : [400, 'invalid_parameter'];
    expect(found).toEqual(queries.map((query) => [query, ...refusal, query.split('=')[0]]));
  },
);

test('PAGE-01 PAGE-02 every list gives each record once over pages of two, in the order of one whole page', async () => {
  const longer: string[] = [];
  for (const list of lists) {
    const read = await readerOf(list);
    const whole = (await read('per_page=50')).body.data;
    const pieces: unknown[] = [];
    let next = '';
    for (let page = 0; page <= whole.length && pieces.length < whole.length; page += 1) {
      const { status, body } = await read(`per_page=2${next}`);
      expect([list.id, status]).toEqual([list.id, 200]);
      pieces.push(...body.data);
      if (body.meta.has_more !== true) break;
      next = `&cursor=${encodeURIComponent(body.meta.next_cursor)}`;
    }
    expect([list.id, pieces]).toEqual([list.id, whole.slice(0, pieces.length)]);
    expect([list.id, pieces.length]).toEqual([list.id, whole.length]);
    if (whole.length > 2) longer.push(list.id);
  }
  expect(longer.length).toBeGreaterThan(5);
});

test('PAGE-07 PAGE-08 a page size of any number of digits is capped, or falls back to the default', async () => {
  for (const list of lists) {
    const read = await readerOf(list);
    const idsOf = async (size: string) => {
      const { status, body } = await read(`per_page=${size}`);
      return [list.id, status, body.data?.map(({ id }: { id: string }) => id)];
    };
    expect(await idsOf('999999999999999999')).toEqual(await idsOf('1000'));
    expect(await idsOf('-999999999999999999')).toEqual(await idsOf('0'));
  }
});

test('PAGE-10 a cursor that is spelled otherwise, altered or of another list is refused', async () => {
  const paged = lists.filter(({ id }) =>
    ['listSyndicateMembers', 'listCompanyUpdates', 'explore'].includes(id),
  );
  const cursors: string[] = [];
  const readers = [];
  for (const list of paged) {
    const read = await readerOf(list);
    readers.push(read);
    cursors.push((await read('per_page=1')).body.meta.next_cursor);
  }
  expect(new Set(cursors).size).toBe(paged.length);
  for (const [index, read] of readers.entries()) {
    const own = cursors[index] ?? '';
    expect((await read(`cursor=${own}`)).status).toBe(200);
    const altered = [
      `${own}A`,
      `${own}=`,
      own.slice(0, -4),
      `p_${own.charAt(2) === 'A' ? 'B' : 'A'}${own.slice(3)}`,
      cursors[(index + 1) % cursors.length] ?? '',
    ];
    for (const cursor of altered) {
      const { status, body } = await read(`cursor=${encodeURIComponent(cursor)}`);
      expect([cursor, status, body.error?.details?.parameter]).toEqual([cursor, 400, 'cursor']);
    }
  }
});
