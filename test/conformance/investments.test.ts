import { afterAll, beforeAll, expect, test } from 'vitest';
import { company, startWorld, type TestWorld } from './world.js';

let world: TestWorld;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

const list = (query = '', token = company(world).token) => world.get(`/investments${query}`, { token });

/** Every page from one call on; what a client would have collected, and the position it would save. */
async function follow(query: string, token = company(world).token, size = 5) {
  const data: Record<string, unknown>[] = [];
  const modes: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < 100; page += 1) {
    const next = cursor === undefined ? query : `${query}&cursor=${cursor}`;
    const { status, body } = await list(`?per_page=${size}${next}`, token);
    expect(status).toBe(200);
    data.push(...body.data);
    modes.push(body.meta.mode);
    cursor = body.meta.next_cursor as string;
    if (body.meta.has_more === false) return { data, cursor, modes };
  }
  throw new Error('the feed does not end');
}

const invest = async (set: unknown = {}, index = 0): Promise<string> => {
  const { body } = await world.control('POST', '/investments', { company: company(world, index).id, set });
  return body.ids[0];
};
test('INV-01 SEC-09 the list needs read:investments, and a token without it is refused', async () => {
  const answer = await world.get('/investments', { token: world.ready.apps[0]?.clientId ?? '' });
  expect(answer.status).toBe(403);
  expect(answer.body.error.type).toBe('insufficient_scope');
  expect((await world.get('/investments')).status).toBe(401);
});

test('INV-03 INV-06 PAGE-01 PAGE-02 PAGE-03 PAGE-05 INV-08 a listing is walked by cursor, each record once', async () => {
  for (let index = 0; index < 20; index += 1) await invest();
  const first = await list();
  expect(first.body.data).toHaveLength(25);
  expect(first.body.meta).toMatchObject({ mode: 'bootstrap', has_more: true, page_count: 25 });
  const whole = await follow('');
  const ids = whole.data.map((record) => record.id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(whole.modes)).toEqual(new Set(['bootstrap']));
  expect(whole.data.every((record) => 'status' in record && record.cursor === null)).toBe(true);
  const after = await list(`?cursor=${whole.cursor}`);
  expect(after.body).toMatchObject({ data: [], meta: { mode: 'delta', has_more: false, page_count: 0 } });
  expect(after.body.meta.next_cursor).toEqual(expect.any(String));
});
