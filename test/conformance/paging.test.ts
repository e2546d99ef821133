import { afterAll, beforeAll, expect, test } from 'vitest';
import { versions } from '../../src/wire/versions.js';
import { apiDescription } from '../tools/api-description.js';
import { credentialsOf } from './fuzz/credentials.js';
import { operationsIn } from './fuzz/request.js';
import { company, startWorld, type TestWorld } from './running-platform.js';

let world: TestWorld;
let credentials: ReturnType<typeof credentialsOf>;
beforeAll(async () => {
  world = await startWorld({ limits: false });
  credentials = credentialsOf(world);
});
afterAll(() => world.close());

/** Every list that the description pages by a cursor. */
const lists = operationsIn(apiDescription()).filter(({ parameters }) =>
  parameters.some(({ name }) => name === 'cursor'),
);
/** The oldest version still has the removed lists. */
const headers = { 'Service-Version': versions[0] };

/** The lists of records that applications make refuse an invalid query like an invalid body. */
const refusedAsBodies = new Set([
  'listOfferingInvestmentSessions',
  'listInvestmentSessions',
  'listIntents',
  'listReferralCodes',
  'listInviteLinks',
  'listAttributedInvestments',
]);

function pathOf(template: string): string {
  const place = company(world);
  return template
    .replace(/\{syndicate_id\}/, world.ready.syndicates[0]?.id ?? '')
    .replace(/(?<=^\/companies\/)\{\w+\}/, place.id)
    .replace(/(?<=^\/(?:offerings|campaigns)\/)\{\w+\}/, place.offerings[1] ?? '');
}

test.each(lists)(
  'PAGE-10 $id: page_count is the number of records on the page, and an invalid position or number is refused',
  async (list) => {
    const path = pathOf(list.path);
    let token: string | undefined;
    for (const credential of credentials) {
      const candidate = credential.token(list.scopes);
      if (candidate === undefined || (await world.get(path, { token: candidate, headers })).status !== 200)
        continue;
      token = candidate;
      break;
    }
    if (token === undefined) throw new Error(`no credential may read ${path}`);
    const read = (query: string) => world.get(`${path}?${query}`, { token: token ?? '', headers });
    const page = (await read('per_page=2')).body;
    expect(page.meta.page_count).toBe(page.data.length);
    const found: unknown[] = [];
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
      found.push([query, status, body.error?.type]);
    }
    const refusal = refusedAsBodies.has(list.id) ? [422, 'validation_error'] : [400, 'invalid_parameter'];
    expect(found).toEqual(queries.map((query) => [query, ...refusal]));
  },
);
