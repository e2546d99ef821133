import { afterEach, beforeEach, expect, test } from 'vitest';
import { investmentRecord, investmentTombstone } from '../../src/platform/contract/investments.js';
import { mintToken } from '../../src/platform/oauth/mint.js';
import { one } from '../../src/platform/state/statements.js';
import { company, type RunningPlatform, startPlatform, user, worldStart } from './running-platform.js';

let world: RunningPlatform;
beforeEach(async () => {
  world = await startPlatform();
});
afterEach(() => world.close());

const day = 86_400_000;
const token = (index = 0) => company(world, index).token;
const founder = () => user(world, 2);
/** Owns the first record of each company. */
const investor = () => user(world, 4);
const list = (query = '', bearer = token()) => world.get(`/investments${query}`, { token: bearer });
const single = (id: string, bearer = token()) => world.get(`/investments/${id}`, { token: bearer });

type Item = Record<string, unknown> & { id: string };

/** Reads every page from one request on. Returns the collected records and the position to save. */
async function follow(query = '', bearer = token(), size = 5) {
  const data: Item[] = [];
  const modes = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < 100; page += 1) {
    const { status, body } = await list(
      `?per_page=${size}${query}${cursor === undefined ? '' : `&cursor=${cursor}`}`,
      bearer,
    );
    expect(status).toBe(200);
    data.push(...body.data);
    modes.add(body.meta.mode);
    cursor = body.meta.next_cursor as string;
    query = query.replace(/&(cursor|updated_since)=[^&]*/, '');
    if (body.meta.has_more === false) return { data, cursor, modes };
  }
  throw new Error('the feed does not end');
}

const position = async (bearer = token()) => (await follow('', bearer, 100)).cursor;
const since = async (cursor: string, bearer = token(), query = '') =>
  (await follow(`&cursor=${cursor}${query}`, bearer)).data;

async function change(id: string, patch: unknown): Promise<void> {
  const { status, body } = await world.control('PATCH', `/investments/${id}`, patch);
  expect({ status, body }).toEqual({ status: 200, body: { ids: [id] } });
}

async function invest(set: unknown = {}, index = 0): Promise<string> {
  const { status, body } = await world.control('POST', '/investments', {
    company: company(world, index).id,
    set,
  });
  expect(status).toBe(200);
  return body.ids[0];
}

/** A token of the founder with only these scopes. */
const tokenWith = (scopes: readonly string[], userIndex = 2): string => {
  const { state } = world.services;
  const { no } = one<{ no: number }>(state, 'SELECT no FROM users WHERE id = ?', [
    user(world, userIndex).id,
  ]) ?? { no: 0 };
  const app = one<{ no: number }>(state, 'SELECT min(no) AS no FROM applications')?.no ?? 0;
  const clientId = world.ready.apps[0]?.clientId ?? '';
  return mintToken(
    world.services,
    { kind: 'user', realm: 'test', applicationNo: app, clientId, userNo: no, scopes },
    world.clock.now(),
  ).token;
};

test('INV-01 listing without read:investments returns 403 insufficient_scope', async () => {
  const refused = await list('', tokenWith(['read:profile']));
  expect(refused.status).toBe(403);
  expect(refused.body.error.type).toBe('insufficient_scope');
  expect((await list('', tokenWith(['read:investments']))).status).toBe(200);
});

test('INV-02 a person sees the companies they edit and their own investments; an installation sees its company', async () => {
  const all = (await follow('', founder().token, 100)).data;
  expect(new Set(all.map((record) => record.company))).toEqual(new Set([company(world).id]));
  const own = (await follow('', investor().token, 100)).data;
  expect(own).toHaveLength(2);
  expect(own.every((record) => (record.investor as Item).id === investor().id)).toBe(true);
  expect((await follow('', world.ready.syndicates[0]?.token, 100)).data).toEqual([]);
  const live = await follow('', founder().liveToken, 100);
  expect(new Set(live.data.map((record) => record.company))).toEqual(
    new Set([world.ready.live.companies[0]?.id]),
  );
});

test('INV-02 a person who may not edit a company does not see its records', async () => {
  const reader = one<{ no: number }>(
    world.services.state,
    'SELECT user_no AS no FROM company_members WHERE can_edit = 0',
  );
  const app = one<{ no: number }>(world.services.state, 'SELECT min(no) AS no FROM applications')?.no ?? 0;
  const minted = mintToken(
    world.services,
    {
      kind: 'user',
      realm: 'test',
      applicationNo: app,
      clientId: world.ready.apps[0]?.clientId ?? '',
      userNo: reader?.no ?? 0,
      scopes: ['read:investments'],
    },
    world.clock.now(),
  );
  expect((await follow('', minted.token, 100)).data).toEqual([]);
});

const fieldOf = {
  company_id: (record: Item) => record.company,
  offering_id: (record: Item) => record.offering,
  investor_id: (record: Item) => (record.investor as Item).id,
  status: (record: Item) => record.status,
};

test('INV-03 INV-04 each filter of the listing returns only records with that value', async () => {
  for (const [bearer, filters] of [
    [token(), ['offering_id', 'investor_id', 'status']],
    [investor().token, ['company_id', 'offering_id']],
  ] as const) {
    const all = (await follow('', bearer, 100)).data;
    for (const filter of filters) {
      const value = fieldOf[filter](all[1] as Item);
      const wanted = all.filter((record) => fieldOf[filter](record) === value).map((record) => record.id);
      expect(wanted.length).toBeLessThan(all.length);
      const got = (await follow(`&${filter}=${value}`, bearer, 2)).data.map((record) => record.id);
      expect(got).toEqual(wanted);
    }
  }
});

test('INV-03 INV-30 an unknown filter id returns 404, and an unknown status returns 400 with the valid ones', async () => {
  for (const query of ['?company_id=co_x', '?offering_id=ofr_x', '?investor_id=usr_x']) {
    expect((await list(query)).status).toBe(404);
  }
  const { status, body } = await list('?status=lost');
  expect(status).toBe(400);
  expect(body.error).toMatchObject({ type: 'invalid_parameter', details: { parameter: 'status' } });
  expect(body.error.message).toContain('needs_whitelisting');
});

test('SEC-01 filtering by a person who never invested in visible records returns the same 404 as an unknown person', async () => {
  const stranger = await list(`?investor_id=${founder().id}`);
  const nobody = await list('?investor_id=usr_nobody');
  expect(stranger.status).toBe(404);
  expect({ ...stranger.body.error, request_id: '' }).toEqual({ ...nobody.body.error, request_id: '' });
});

test('SEC-01 a record outside the view, a deleted, a hidden and an unknown one return the same 404', async () => {
  const foreign = await invest({}, 1);
  const [hidden, withdrawn] = [await invest(), await invest()];
  await change(hidden, { visible: false });
  await world.control('DELETE', `/investments/${withdrawn}`);
  for (const id of [foreign, hidden, withdrawn, 'inv_unknown']) {
    const { status, body } = await single(id);
    expect(status).toBe(404);
    expect(body.error).toMatchObject({ type: 'not_found', message: 'The investment was not found.' });
  }
});

test('SEC-14 an installation that requests another company gets 403 forbidden', async () => {
  const other = company(world, 1);
  for (const path of [
    `/investments?company_id=${other.id}`,
    `/investments?offering_id=${other.offering}`,
    `/offerings/${other.offering}/stats`,
    `/companies/${other.id}/investments/changes`,
  ]) {
    const { status, body } = await world.get(path, { token: token() });
    expect([path, status, body.error.type]).toEqual([path, 403, 'forbidden']);
  }
});

test('INV-05 updated_since starts the feed one minute before that time', async () => {
  const [early, late] = [await invest(), await invest()];
  world.clock.advance(day);
  await change(early, { message: 'first' });
  world.clock.advance(61_000);
  await change(late, { message: 'second' });
  const at = (millis: number) => `&updated_since=${new Date(worldStart + day + millis).toISOString()}`;
  const ids = async (millis: number) => (await follow(at(millis))).data.map((record) => record.id);
  expect(await ids(0)).toEqual([early, late]);
  expect(await ids(60_000)).toEqual([early, late]);
  expect(await ids(60_001)).toEqual([late]);
  expect(await ids(60_001 + 120_000)).toEqual([]);
  expect((await list('?updated_since=yesterday')).body.error.details).toEqual({ parameter: 'updated_since' });
  const both = await list(`?updated_since=nonsense&cursor=${await position()}`);
  expect([both.status, both.body.data]).toEqual([200, []]);
});

/** Returns how many of more than 150 records the first page has, for each query. */
async function pageSizes(...queries: readonly string[]) {
  await world.control('POST', '/investments', { company: company(world).id, count: 150 });
  return await Promise.all(queries.map(async (query) => (await list(query)).body.data.length));
}

test('INV-06 PAGE-06 PAGE-07 per_page defaults to 25 and is at most 100', async () => {
  const sizes = await pageSizes('', '?per_page=7', '?per_page=100', '?per_page=101');
  expect(sizes).toEqual([25, 7, 100, 100]);
});

test('PAGE-08 a per_page of zero or below means the default, and one that is no number is refused', async () => {
  expect(await pageSizes('?per_page=0', '?per_page=-3')).toEqual([25, 25]);
  const wrong = await list('?per_page=many');
  expect([wrong.status, wrong.body.error.details]).toEqual([400, { parameter: 'per_page' }]);
});

test('INV-07 INV-08 PAGE-05 every page has published_through and next_cursor, including the last and an empty one', async () => {
  const first = await list('?per_page=5');
  const rest = await list(`?per_page=100&cursor=${first.body.meta.next_cursor}`);
  const empty = await list(`?cursor=${rest.body.meta.next_cursor}`);
  expect(empty.body.data).toEqual([]);
  for (const { body } of [first, rest, empty]) {
    expect(Object.keys(body.meta).sort()).toEqual([
      'has_more',
      'mode',
      'next_cursor',
      'page_count',
      'published_through',
    ]);
    expect(body.meta.next_cursor).toEqual(expect.any(String));
    expect(Date.parse(body.meta.published_through)).toBe(worldStart);
    expect(body.meta.page_count).toBe(body.data.length);
  }
  expect([first, rest, empty].map(({ body }) => body.meta.mode)).toEqual(['bootstrap', 'bootstrap', 'delta']);
});

test('INV-13 INV-19 published_through covers every record of the page', async () => {
  const cursor = await position();
  for (let index = 0; index < 4; index += 1) {
    world.clock.advance(1000);
    await invest();
  }
  for (let next = cursor, more = true; more; ) {
    const { body } = await list(`?per_page=3&cursor=${next}`);
    for (const item of body.data) {
      expect(item.observed_at <= body.meta.published_through).toBe(true);
      expect(item.cursor).toEqual(expect.any(String));
      expect(item.reason).toBe('changed');
    }
    next = body.meta.next_cursor;
    more = body.meta.has_more;
  }
});

test('PAGE-01 PAGE-02 PAGE-03 a listing followed to its end returns every record once, in one order', async () => {
  await world.control('POST', '/investments', { company: company(world).id, count: 20 });
  const small = (await follow('', token(), 3)).data.map((record) => record.id);
  const large = (await follow('', token(), 100)).data.map((record) => record.id);
  expect(small).toEqual(large);
  expect(new Set(small).size).toBe(small.length);
});

test('INV-09 a saved position returns only what changed after it, each investment once, in its current state', async () => {
  const [id, other] = [await invest(), await invest()];
  const saved = await position();
  expect(await since(saved)).toEqual([]);
  await change(id, { amounts: { committed_cents: 777_700 } });
  await change(other, { group: 'IS READY' });
  await change(id, { amounts: { committed_cents: 888_800 } });
  const changes = await since(saved);
  expect(changes.map((record) => record.id)).toEqual([other, id]);
  expect(changes[1]?.amounts).toMatchObject({ committed_cents: 888_800 });
  expect(await since(saved)).toEqual(changes.map((record) => ({ ...record })));
});

test('INV-08 INV-09 the last cursor of a listing points to where the listing began, so later writes are not lost', async () => {
  const first = await list('?per_page=3');
  const seen = first.body.data[0].id;
  await change(seen, { amounts: { committed_cents: 123_400 } });
  const late = await invest();
  const rest = await list(`?per_page=100&cursor=${first.body.meta.next_cursor}`);
  expect(rest.body.meta).toMatchObject({ mode: 'bootstrap', has_more: false });
  const changes = await since(rest.body.meta.next_cursor);
  expect(changes.map((record) => record.id)).toEqual([seen, late]);
});

test('INV-18 each record of a delta page carries its own cursor, and continuing from it resumes right after it', async () => {
  const saved = await position();
  const ids = [await invest(), await invest(), await invest()];
  const changes = await since(saved);
  const after = await since(changes[0]?.cursor as string);
  expect(after.map((record) => record.id)).toEqual(ids.slice(1));
});

test('INV-10 the cursor carries no filters: each request passes its own', async () => {
  const [offering] = company(world).offerings;
  const saved = (await follow(`&offering_id=${offering}`)).cursor;
  const id = await invest({ offering: company(world).offerings[1] });
  expect((await since(saved)).map((record) => record.id)).toEqual([id]);
  expect(await since(saved, token(), `&offering_id=${offering}`)).toEqual([]);
});

test('INV-10 the status filter continues a listing and is refused with a feed position', async () => {
  const query = '?status=active&per_page=1';
  const first = await list(query);
  expect((await list(`${query}&cursor=${first.body.meta.next_cursor}`)).status).toBe(200);
  const saved = await position();
  for (const refused of [
    `?status=active&cursor=${saved}`,
    '?status=active&updated_since=2026-11-01T00:00:00Z',
  ]) {
    const { status, body } = await list(refused);
    expect([status, body.error.details]).toEqual([400, { parameter: 'status' }]);
  }
});

test('INV-11 a cursor or updated_since older than 90 days returns 410 gone; a cursor in use does not age', async () => {
  const saved = await position();
  const continued = (await list('?per_page=3')).body.meta.next_cursor;
  const start = new Date(worldStart).toISOString();
  world.clock.advance(90 * day);
  const kept = await list(`?cursor=${saved}`);
  expect(kept.status).toBe(200);
  expect((await list(`?updated_since=${start}`)).status).toBe(200);
  world.clock.advance(1);
  for (const query of [`?cursor=${saved}`, `?cursor=${continued}`, `?updated_since=${start}`]) {
    const { status, body } = await list(query);
    expect([status, body.error.type]).toEqual([410, 'gone']);
  }
  const alias = await world.get(`/companies/${company(world).id}/investments/changes?cursor=${saved}`, {
    token: token(),
  });
  expect([alias.status, alias.body.error.type]).toEqual([410, 'gone']);
  expect((await list(`?cursor=${kept.body.meta.next_cursor}`)).status).toBe(200);
  expect((await list()).status).toBe(200);
});

test('INV-11 the platform deletes tombstones older than any valid cursor and keeps listing existing records', async () => {
  const gone = await invest();
  await world.control('DELETE', `/investments/${gone}`);
  const rows = () =>
    one<{ count: number }>(world.services.state, 'SELECT count(*) AS count FROM ledger WHERE shown = 0')
      ?.count;
  expect(rows()).toBeGreaterThan(0);
  const before = (await follow('', token(), 100)).data.length;
  world.clock.advance(91 * day);
  await invest();
  expect(rows()).toBe(0);
  expect((await follow('', token(), 100)).data).toHaveLength(before + 1);
});

test('INV-12 a record requested by id is computed on request and reports whether the feed already agrees', async () => {
  await world.close();
  world = await startPlatform({ platform: { publishDelayMillis: 600_000 } });
  const saved = await position();
  const id = (await follow('', token(), 100)).data[0]?.id as string;
  await change(id, { amounts: { committed_cents: 424_200 } });
  const before = await single(id);
  expect(before.body.data.amounts.committed_cents).toBe(424_200);
  expect(before.body.meta).toEqual({
    source: 'current',
    // A new world was published two minutes before.
    published_observed_at: new Date(worldStart - 120_000).toISOString(),
    published_matches: false,
  });
  expect(await since(saved)).toEqual([]);
  const fresh = await invest();
  expect((await single(fresh)).body.meta).toEqual({
    source: 'current',
    published_observed_at: null,
    published_matches: null,
  });
  world.clock.advance(600_000);
  expect((await since(saved)).map((record) => record.id)).toEqual([id, fresh]);
  expect((await single(id)).body.meta.published_matches).toBe(true);
});

test('INV-14 INV-15 the stats of an offering reconcile with its listing', async () => {
  const [offering] = company(world).offerings;
  const records = (await follow(`&offering_id=${offering}`, token(), 100)).data;
  const { status, body } = await world.get(`/offerings/${offering}/stats`, { token: token() });
  expect(status).toBe(200);
  const add = (items: Item[], field: string) =>
    items.reduce((total, item) => total + Number((item.amounts as Record<string, unknown>)[field]), 0);
  const sum = (items: Item[]) => ({
    count: items.length,
    committed_cents: add(items, 'committed_cents'),
    raised_cents: add(items, 'raised_cents'),
  });
  expect(body.data.total).toEqual(sum(records));
  for (const [name, totals] of Object.entries(body.data.by_status)) {
    expect(totals).toEqual(sum(records.filter((record) => record.status === name)));
  }
  expect(body.data).toMatchObject({ offering, company: company(world).id, currency: 'usd' });
  expect(body.meta.source).toBe('published');
  const refused = await world.get(`/offerings/${offering}/stats`, { token: tokenWith(['read:companies']) });
  expect([refused.status, refused.body.error.type]).toEqual([403, 'insufficient_scope']);
});

test('VERS-15 without edit access stats return 404 on 2026-10-15 and 403 before', async () => {
  const path = `/offerings/${company(world).offering}/stats`;
  const ask = (version: string) =>
    world.get(path, { token: investor().token, headers: { 'Service-Version': version } });
  const newer = await ask('2026-10-15');
  expect([newer.status, newer.body.error.type]).toEqual([404, 'not_found']);
  const older = await ask('2026-10-01');
  expect([older.status, older.body.error.type]).toEqual([403, 'forbidden']);
});

test('INV-16 INV-17 INV-18 the changes alias bootstraps and then syncs, with the meta of GET /investments and either scope', async () => {
  const path = `/companies/${company(world).id}/investments/changes`;
  for (const scope of ['read:companies', 'read:investments']) {
    const bearer = tokenWith([scope]);
    const whole = await world.get(`${path}?per_page=100`, { token: bearer });
    expect(whole.status).toBe(200);
    const listed = (await follow(`&company_id=${company(world).id}`, tokenWith(['read:investments']), 100))
      .data;
    expect(whole.body.data).toEqual(listed);
    expect(whole.body.meta).toMatchObject({ mode: 'bootstrap', company_id: company(world).id });
    expect(Date.parse(whole.body.meta.published_through)).toBe(worldStart);
    const id = await invest();
    const changed = await world.get(`${path}?cursor=${whole.body.meta.next_cursor}`, { token: bearer });
    expect(changed.body.data.map((record: Item) => record.id)).toEqual([id]);
    expect(changed.body.meta.mode).toBe('delta');
  }
  const refused = await world.get(path, { token: tokenWith(['read:profile']) });
  expect([refused.status, refused.body.error.type]).toEqual([403, 'insufficient_scope']);
});

test('INV-20 INV-25 while whitelisting is pending the status says so and nothing counts as raised', async () => {
  const [offering = ''] = company(world).offerings;
  const publicly = async () => {
    const { body } = await world.get(`/offerings/${offering}`, {
      token: world.ready.apps[0]?.clientId ?? '',
    });
    return body.data.attributes.amount_raised_cents;
  };
  const without = await publicly();
  const id = await invest({ offering, group: 'CONFIRMED', amounts: { committed_cents: 500_000 } });
  const raised = async () => (await single(id)).body.data;
  const before = await raised();
  expect(before.amounts.raised_cents).toBe(before.amounts.investment_size_cents);
  expect(before.amounts.raised_cents).toBeGreaterThan(0);
  expect(await publicly()).toBe(without + before.amounts.raised_cents);
  await change(id, { needs_whitelisting: true });
  expect(await publicly()).toBe(without);
  expect(await raised()).toMatchObject({
    status: 'needs_whitelisting',
    needs_whitelisting: true,
    amounts: { raised_cents: 0 },
  });
  expect((await follow('&status=needs_whitelisting')).data.map((record) => record.id)).toContain(id);
});

test('INV-20 a recomputed record carries a reason that says nothing happened to it', async () => {
  const id = await invest();
  const saved = await position();
  await change(id, { reason: 'recomputed', amounts: { in_escrow_cents: 5 } });
  expect(await since(saved)).toMatchObject([{ id, reason: 'recomputed', amounts: { in_escrow_cents: 5 } }]);
});

/** Returns the records of the company, and what 80 random changes made of them. */
async function manyItems() {
  const saved = await position();
  await world.control('POST', '/churn', { changes: 80, company: company(world).id });
  return [...(await follow('', token(), 100)).data, ...(await since(saved))];
}

test('INV-21 INV-22 INV-23 every record names the investor, the amounts and the contracts', async () => {
  // biome-ignore lint/suspicious/noExplicitAny: the shape of an answer is what a test finds out
  for (const item of (await manyItems()) as any[]) {
    if (!('status' in item)) continue;
    expect(item).toHaveProperty('message');
    expect(item).toHaveProperty('external_username');
    expect(Object.keys(item.investor)).toEqual(
      expect.arrayContaining(['name', 'legal_name', 'email', 'address', 'bio']),
    );
    const { currency, ...cents } = item.amounts;
    expect(currency).toMatch(/^[a-z]{3}$/);
    expect(Object.keys(cents)).toEqual(
      expect.arrayContaining(['committed_cents', 'investment_size_cents', 'in_escrow_cents', 'raised_cents']),
    );
    for (const contract of item.contracts) expect(contract).toHaveProperty('override_amount_cents');
  }
});

test('INV-24 INV-29 CONV-08 records and tombstones have the declared shape', async () => {
  const items = await manyItems();
  const withShares = items.filter((item) => typeof item.shares === 'string');
  expect(withShares.length).toBeGreaterThan(0);
  for (const item of items) {
    const shape = 'status' in item ? investmentRecord : investmentTombstone;
    expect(shape.safeParse(item).error).toBeUndefined();
    expect(item.id).toMatch(/^inv_/);
    if ('status' in item) expect((item.shares === null) === (item.average_share_price === null)).toBe(true);
  }
  for (const item of withShares) expect(item.shares).toMatch(/^\d+(\.\d+)?$/);
});

test('SEC-09 without read:investors:pii the identity fields are absent, not null', async () => {
  world.expectUndeclared();
  const id = await invest({
    message: 'hello',
    external_username: 'sample',
    investor: { bio: 'a bio', phone: '1' },
  });
  const full = (await single(id)).body.data;
  expect(full).toMatchObject({
    message: 'hello',
    external_username: 'sample',
    investor: { bio: 'a bio', phone: '1' },
  });
  const saved = await position(company(world).tokenWithoutIdentity);
  await change(id, { investor: { name: 'Somebody Else' } });
  const bare = company(world).tokenWithoutIdentity;
  const seen = [
    (await single(id, bare)).body.data,
    ...(await follow('', bare, 100)).data,
    ...(await since(saved, bare)),
  ];
  expect(seen.length).toBeGreaterThan(2);
  for (const record of seen) {
    expect(record).not.toHaveProperty('message');
    expect(record).not.toHaveProperty('external_username');
    expect(Object.keys(record.investor).sort()).toEqual(['deactivated', 'id', 'via_entity']);
  }
});

test('INV-26 canceled, converted, hidden and deleted records become tombstones for the company', async () => {
  const ids = [await invest(), await invest(), await invest(), await invest(), await invest()];
  const [canceled = '', converted = '', hidden = '', deleted = '', successor = ''] = ids;
  const saved = await position();
  await change(canceled, { status: 'canceled' });
  await change(converted, { status: 'converted', converted_to: successor });
  await change(hidden, { visible: false });
  expect((await world.control('DELETE', `/investments/${deleted}`)).body).toEqual({ ids: [deleted] });
  const changes = await since(saved);
  const tombstones = changes.filter((item) => item.visible === false);
  expect(tombstones.map((item) => item.id)).toEqual([canceled, converted, hidden, deleted]);
  for (const item of tombstones) {
    expect(Object.keys(item).sort()).toEqual(['cursor', 'id', 'observed_at', 'reason', 'visible']);
  }
  expect(changes.find((item) => item.id === successor)).toMatchObject({ converted_from: converted });
  const listed = (await follow('', token(), 100)).data;
  expect(listed.some((item) => ids.slice(0, 4).includes(item.id))).toBe(false);
  expect(listed.every((item) => 'status' in item)).toBe(true);
});

test('INV-26 a reinstated record is published whole again', async () => {
  const id = await invest();
  await change(id, { status: 'canceled' });
  const saved = await position();
  await change(id, { status: 'active' });
  expect(await since(saved)).toMatchObject([{ id, visible: true, status: 'active' }]);
});

test('INV-27 the investor still sees their own canceled investment whole, but not a deleted one', async () => {
  const id = await invest({ investor: { id: investor().id } });
  const saved = await position(investor().token);
  await change(id, { status: 'canceled' });
  const [own] = await since(saved, investor().token);
  expect(own).toMatchObject({ id, visible: false, status: 'canceled', amounts: expect.anything() });
  expect((await follow('&status=canceled', investor().token)).data.map((item) => item.id)).toContain(id);
  expect((await single(id, investor().token)).status).toBe(200);
  expect((await follow('&status=canceled')).data).toEqual([]);
  await world.control('DELETE', `/investments/${id}`);
  expect(await since(saved, investor().token)).toEqual([
    { id, visible: false, observed_at: expect.any(String), cursor: expect.any(String), reason: 'changed' },
  ]);
});

test('INV-04 INV-26 under an offering filter, a record that moved to another offering arrives once more as a tombstone', async () => {
  const [from, to] = company(world).offerings;
  const id = await invest({ offering: from });
  const saved = await position();
  await change(id, { offering: to });
  const left = await since(saved, token(), `&offering_id=${from}`);
  expect(left).toMatchObject([{ id, visible: false }]);
  expect(left[0]).not.toHaveProperty('status');
  expect(await since(saved, token(), `&offering_id=${to}`)).toMatchObject([{ id, offering: to }]);
  expect(await since(saved)).toMatchObject([{ id, offering: to, visible: true }]);
  await change(id, { offering: from });
  expect(await since(saved, token(), `&offering_id=${from}`)).toMatchObject([
    { id, offering: from, visible: true },
  ]);
  expect(await since(saved)).toHaveLength(1);
});

test('INV-29 a deactivated investor’s record is republished without a name, with its own reason', async () => {
  const id = await invest({ investor: { id: investor().id }, message: 'private' });
  const saved = await position();
  const { body } = await world.control('POST', `/users/${investor().id}/deactivate`);
  expect(body.ids).toContain(id);
  const record = (await since(saved)).find((item) => item.id === id);
  expect(record).toMatchObject({
    reason: 'investor_deactivated',
    visible: true,
    message: null,
    investor: {
      id: investor().id,
      deactivated: true,
      name: '[deleted user]',
      legal_name: '[deleted user]',
      email: null,
      address: null,
      bio: null,
    },
  });
  expect((await list('', investor().token)).status).toBe(401);
  const held = JSON.stringify(world.services.state.prepare('SELECT * FROM publications').all());
  expect(held).not.toContain(investor().name);
  await change(id, { group: 'PENDING' });
  expect((await since(saved)).find((item) => item.id === id)?.reason).toBe('changed');
});

test('PAGE-10 SEC-01 a malformed, altered or foreign cursor returns 400', async () => {
  const mine = await position();
  const theirs = await position(token(1));
  const flipped = `${mine.slice(0, 10)}${mine[10] === 'A' ? 'B' : 'A'}${mine.slice(11)}`;
  for (const cursor of ['x', 'c_', theirs, flipped, `${mine}A`, '']) {
    const { status, body } = await list(`?cursor=${cursor}`);
    expect([cursor, status]).toEqual([cursor, 400]);
    expect(body.error).toMatchObject({ type: 'invalid_parameter', details: { parameter: 'cursor' } });
  }
  expect((await list(`?cursor=${mine}`, company(world).tokenWithoutIdentity)).status).toBe(200);
});

test('INV-11 a cursor from before a sandbox reset returns gone instead of skipping records', async () => {
  await world.control('POST', '/churn', { changes: 30 });
  const saved = await position();
  await world.control('POST', '/reset');
  expect((await list(`?cursor=${saved}`)).status).toBe(410);
  // The feed is longer than it was: the position exists again, in another world.
  await world.control('POST', '/churn', { changes: 60 });
  expect((await list(`?cursor=${saved}`)).status).toBe(410);
  const { body } = await list('?updated_since=2026-11-01T00:00:00Z&per_page=100');
  expect((await list(`?cursor=${body.meta.next_cursor}`)).status).toBe(200);
  expect((await list(`?cursor=${await position()}`)).status).toBe(200);
});
