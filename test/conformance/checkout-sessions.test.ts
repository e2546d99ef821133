import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createSession, getSession, listSessions } from '../../src/platform/contract/sessions.js';
import type { PlatformEvent } from '../../src/platform/events.js';
import { one, run } from '../../src/platform/state/statements.js';
import { Visitor } from './credentials.js';
import { narrowToken, numberOf, otherApp } from './installs.js';
import { type Answered, company, type RunningPlatform, startPlatform, user } from './running-platform.js';

let world: RunningPlatform;
let token: string;
let path: string;
let heard: { name: string; data: unknown; installationNo: number | null; id: string | undefined }[];
const hour = 3_600_000;

beforeEach(async () => {
  world = await startPlatform({ limits: false });
  token = company(world).token;
  // The round without share prices, so that every amount counts whole.
  path = `/offerings/${company(world).offerings[1]}/investment_sessions`;
  heard = [];
  world.services.events.subscribe((event: PlatformEvent) => {
    const data = event.dataFor({ scopes: new Set(), kind: 'company' });
    heard.push({ name: event.name, data, installationNo: event.installationNo, id: event.id });
  });
});
afterEach(() => world.close());

const wish = (more: object = {}) => ({
  investment_session: { email: 'ida@people.example', allocation_cents: 250_000, ...more },
});
const create = (more: object = {}, sending: object = {}): Promise<Answered> =>
  world.post(path, { token, body: wish(more), ...sending });
const read = async (id: string) =>
  (await world.get(`/investment_sessions/${id}`, { token })).body.data.attributes;
const checkoutPath = (answer: Answered): string => new URL(answer.body.data.attributes.url).pathname;
const events = (attributes: { events: { event: string }[] }) => attributes.events.map(({ event }) => event);

async function walk(
  link: string,
  visitor = new Visitor(world),
  email = 'ida@people.example',
): Promise<Visitor> {
  await visitor.signIn(link, email);
  await visitor.answer(link, { action: 'identity', document: 'X1234567' });
  await visitor.answer(link, { action: 'fund', card: '4242 4242 4242 4242', amount: '2500' });
  return visitor;
}

describe('creating an investment session', () => {
  test('SESS-02 SESS-05 SESS-09 creating a session returns 201 with the whole record and a link', async () => {
    const answer = await create({ metadata: { deal: 7, nested: { a: [1] } }, intent_id: 'int_audit' });
    expect(answer.status).toBe(201);
    createSession.responses[201].schema.parse(answer.body);
    const { id, type, attributes } = answer.body.data;
    expect([id.slice(0, 3), type]).toEqual(['is_', 'investment_session']);
    expect(attributes).toMatchObject({
      status: 'pending',
      email: 'ida@people.example',
      allocation_cents: 250_000,
      kyc_status: 'pending',
      funding_status: 'pending',
      investment_id: null,
      metadata: { deal: 7, nested: { a: [1] }, intent_id: 'int_audit' },
      created_at: '2026-11-02T09:00:00.000Z',
      expires_at: '2026-12-02T09:00:00.000Z',
    });
    expect(attributes.spv_id).toMatch(/^spv_/);
    expect(attributes.url.startsWith(`${world.url}/checkout/`)).toBe(true);
    expect(events(attributes)).toEqual(['investment_session.created']);
  });

  test('SESS-10 a session may name its offering by spv_id or by its own id, or leave it out', async () => {
    const { attributes } = (await create()).body.data;
    for (const [email, id] of [
      ['ivan@people.example', attributes.spv_id],
      ['iris@people.example', attributes.offering],
    ]) {
      const again = await create({ email, spv_id: id });
      expect([id, again.status]).toEqual([id, 201]);
      expect(again.body.data.attributes.spv_id).toBe(attributes.spv_id);
    }
  });

  test('SESS-10 creating a session with an spv_id of another offering returns 422 offering_mismatch', async () => {
    for (const id of ['spv_elsewhere', 'ofr_elsewhere', '']) {
      const answer = await create({ spv_id: id });
      expect([id, answer.status, answer.body.error.type]).toEqual([id, 422, 'offering_mismatch']);
    }
  });

  test.each([
    ['no recipient', { email: undefined }],
    ['two recipients', { service_user_id: 'usr_1' }],
    ['no address', { email: 'nobody' }],
    ['an amount that is not in whole currency units', { allocation_cents: 150 }],
    ['nothing', { allocation_cents: 0 }],
    ['a fraction of a cent', { allocation_cents: 250.5 }],
    ['no lifetime', { expires_in_hours: 0 }],
    ['more than 90 days', { expires_in_hours: 2161 }],
    ['a script as success_url', { success_url: 'javascript:alert(1)' }],
    ['metadata that is not an object', { metadata: 'x' }],
  ])('SESS-12 creating a session with %s returns 422', async (_name, more) => {
    const answer = await create(more);
    expect([answer.status, answer.body.error.type]).toEqual([422, 'validation_error']);
    expect(answer.body.error.details.errors[0].field).toMatch(/^investment_session\./);
  });

  test('SESS-09 creating a session returns 422 without the wrapper, 401 without a token and 404 for an unknown offering', async () => {
    expect((await world.post(path, { token, body: { email: 'a@b.example' } })).status).toBe(422);
    expect((await world.post(path, { body: wish() })).status).toBe(401);
    const unknown = await world.post('/offerings/ofr_no/investment_sessions', { token, body: wish() });
    expect([unknown.status, unknown.body.error.type]).toEqual([404, 'not_found']);
  });

  test('a session for a recipient named by account hides the email address; an unknown account returns 404', async () => {
    const named = await create({ email: undefined, service_user_id: user(world, 4).id });
    expect([named.status, named.body.data.attributes.email]).toEqual([201, null]);
    expect((await create({ email: undefined, service_user_id: 'usr_no' })).status).toBe(404);
  });

  test('SESS-11 SESS-12 a repeated create for the same recipient returns the same session with 200, however it is addressed', async () => {
    const first = await create();
    const ids = [first.body.data.id];
    for (const more of [
      { email: 'IDA@people.example' },
      { email: undefined, service_user_id: user(world, 4).id },
    ]) {
      const again = await create({ allocation_cents: 100, ...more });
      expect(again.status).toBe(200);
      // A caller that names the recipient by account must not learn the email address of an earlier request.
      const email = 'service_user_id' in more ? null : 'ida@people.example';
      expect(again.body.data.attributes).toMatchObject({ allocation_cents: 250_000, email });
      ids.push(again.body.data.id);
    }
    expect(new Set(ids).size).toBe(1);
    expect(user(world, 4).email).toBe('ida@people.example');
    await world.delete(`/investment_sessions/${ids[0]}`, { token });
    expect((await create()).status).toBe(201);
    const elsewhere = `/offerings/${company(world).offerings[0]}/investment_sessions`;
    expect((await world.post(elsewhere, { token, body: wish() })).status).toBe(201);
  });

  test('SESS-08 SESS-13 another application gets 409 session_conflict and no details of the session', async () => {
    const mine = await create();
    const other = otherApp(world, { type: 'company', id: company(world).id }, ['write:investment_sessions']);
    const refused = await create({}, { token: other.token });
    expect([refused.status, refused.body.error.type]).toEqual([409, 'session_conflict']);
    expect(JSON.stringify(refused.body)).not.toContain(mine.body.data.id);
    const id = mine.body.data.id;
    expect((await world.get(`/investment_sessions/${id}`, { token: other.token })).status).toBe(404);
    expect((await world.delete(`/investment_sessions/${id}`, { token: other.token })).status).toBe(404);
    for (const list of [path, '/investment_sessions']) {
      expect((await world.get(list, { token: other.token })).body.data).toEqual([]);
      expect((await world.get(list, { token })).body.data).toHaveLength(1);
    }
  });

  test('creating a session for a round that is not open returns 422', async () => {
    run(world.services.state, `UPDATE offerings SET status = 'closed' WHERE id = ?`, [
      company(world).offerings[1] ?? '',
    ]);
    const answer = await create();
    expect([answer.status, answer.body.error.type]).toEqual([422, 'unprocessable_entity']);
  });
});

describe('Idempotency-Key of investment sessions', () => {
  const keyed = (key: string, more: object = {}) => create(more, { headers: { 'idempotency-key': key } });

  test('ERR-24 the same key and body within 24 hours return the first result, even if the session has changed', async () => {
    const first = await keyed('k1');
    expect(first.status).toBe(201);
    await world.delete(`/investment_sessions/${first.body.data.id}`, { token });
    const again = await keyed('k1');
    expect([again.status, again.body]).toEqual([201, first.body]);
    world.clock.advance(24 * hour);
    const later = await keyed('k1');
    expect(later.body.data.id).not.toBe(first.body.data.id);
  });

  test('ERR-16 ERR-19 another request under the same Idempotency-Key returns 422 idempotency_conflict', async () => {
    await keyed('k1');
    const other = await keyed('k1', { allocation_cents: 100 });
    expect([other.status, other.body.error.type]).toEqual([422, 'idempotency_conflict']);
  });

  test('ERR-24 an Idempotency-Key stores no refusal, is per account, and ignores the order of JSON keys', async () => {
    expect((await keyed('k1', { spv_id: 'spv_wrong' })).status).toBe(422);
    expect((await keyed('k1')).status).toBe(201);
    const body = '{"investment_session":{"allocation_cents":250000,"email":"ida@people.example"}}';
    const headers = { 'idempotency-key': 'k1', 'content-type': 'application/json' };
    expect((await world.post(path, { token, headers, body })).status).toBe(201);
    const elsewhere = company(world, 1);
    const other = await world.post(`/offerings/${elsewhere.offering}/investment_sessions`, {
      token: elsewhere.token,
      headers: { 'idempotency-key': 'k1' },
      body: wish(),
    });
    expect(other.status).toBe(201);
    expect((await keyed('')).status).toBe(400);
    expect((await keyed('x'.repeat(256))).status).toBe(400);
  });

  test('ERR-24 ten concurrent requests under one Idempotency-Key create one session', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => keyed('k1')));
    expect(new Set(answers.map((answer) => `${answer.status} ${answer.body.data.id}`)).size).toBe(1);
    expect((await world.get(path, { token })).body.data).toHaveLength(1);
  });
});

describe('access to investment sessions', () => {
  test('SESS-01 SCOPE-20 reading sessions requires read:investment_sessions, writing requires write:investment_sessions', async () => {
    const { installation } = company(world);
    const made = await create();
    const id = made.body.data.id;
    const reader = narrowToken(world, installation, ['read:investment_sessions']);
    const stranger = narrowToken(world, installation, ['read:companies']);
    for (const list of [path, '/investment_sessions', `/investment_sessions/${id}`]) {
      expect((await world.get(list, { token: reader })).status).toBe(200);
      expect((await world.get(list, { token: stranger })).body.error.type).toBe('insufficient_scope');
    }
    for (const send of [
      () => create({}, { token: reader }),
      () => world.delete(`/investment_sessions/${id}`, { token: reader }),
    ]) {
      const refused = await send();
      expect([refused.status, refused.body.error.type]).toEqual([403, 'insufficient_scope']);
    }
  });

  test('SESS-01 SEC-14 an installation on another company gets 403 forbidden for the offering and for the session', async () => {
    const made = await create();
    const elsewhere = company(world, 1).token;
    const answers = [
      await world.get(path, { token: elsewhere }),
      await create({}, { token: elsewhere }),
      await world.get(`/investment_sessions/${made.body.data.id}`, { token: elsewhere }),
      await world.delete(`/investment_sessions/${made.body.data.id}`, { token: elsewhere }),
    ];
    expect(answers.map(({ status, body }) => [status, body.error.type])).toEqual(
      Array(4).fill([403, 'forbidden']),
    );
    expect((await world.get('/investment_sessions', { token: elsewhere })).body.data).toEqual([]);
  });

  test('SESS-01 the syndicate that runs the offering can use its sessions', async () => {
    const syndicate = world.ready.syndicates[0];
    const offering = company(world, 1).offering;
    run(world.services.state, 'UPDATE offerings SET syndicate_no = ? WHERE id = ?', [
      numberOf(world, 'syndicates', syndicate?.id ?? ''),
      offering,
    ]);
    const made = await world.post(`/offerings/${offering}/investment_sessions`, {
      token: syndicate?.token ?? '',
      body: wish(),
    });
    expect(made.status).toBe(201);
    expect(
      (await world.get('/investment_sessions', { token: syndicate?.token ?? '' })).body.data,
    ).toHaveLength(1);
  });

  test('VERS-15 a person needs edit access to the offering: otherwise 404, and 403 on the older version', async () => {
    const founder = user(world, 2).token;
    const stranger = user(world, 4).token;
    expect((await create({}, { token: founder })).status).toBe(201);
    expect((await create({}, { token: stranger })).status).toBe(404);
    const older = await create({}, { token: stranger, headers: { 'service-version': '2026-10-01' } });
    expect([older.status, older.body.error.type]).toEqual([403, 'forbidden']);
  });
});

describe('listing investment sessions', () => {
  async function many(count: number): Promise<string[]> {
    const ids: string[] = [];
    for (let index = 0; index < count; index += 1) {
      ids.unshift((await create({ email: `r${index}@mail.example` })).body.data.id);
    }
    return ids;
  }

  test('SESS-07 SESS-14 the list returns sessions newest first without events, 25 a page, at most 100, to the end by cursor', async () => {
    const ids = await many(103);
    for (const list of [path, '/investment_sessions']) {
      const first = await world.get(list, { token });
      listSessions.responses[200].schema.parse(first.body);
      expect(first.body.data.map((row: { id: string }) => row.id)).toEqual(ids.slice(0, 25));
      expect(first.body.meta).toMatchObject({ has_more: true, page_count: 25 });
      expect(first.body.data[0].attributes.events).toBeUndefined();
      const large = await world.get(`${list}?per_page=500`, { token });
      expect(large.body.data).toHaveLength(100);
      const rest = await world.get(`${list}?per_page=100&cursor=${large.body.meta.next_cursor}`, { token });
      expect(rest.body.data.map((row: { id: string }) => row.id)).toEqual(ids.slice(100));
      expect(rest.body.meta).toMatchObject({ has_more: false, next_cursor: null });
    }
  });

  test('SESS-07 SESS-14 the list filters by status and spv_id, and an invalid status or cursor returns 422', async () => {
    const [newest = '', oldest = ''] = await many(2);
    await world.delete(`/investment_sessions/${oldest}`, { token });
    const ids = async (query: string) =>
      (await world.get(query, { token })).body.data.map((row: { id: string }) => row.id);
    expect(await ids(`${path}?status=pending`)).toEqual([newest]);
    expect(await ids('/investment_sessions?status=canceled')).toEqual([oldest]);
    const { spv_id: spv } = await read(newest);
    expect(await ids(`/investment_sessions?spv_id=${spv}`)).toEqual([newest, oldest]);
    const other = spv.replace(/^spv_.*/, company(world).offering.replace('ofr_', 'spv_'));
    expect(await ids(`/investment_sessions?spv_id=${other}`)).toEqual([]);
    expect((await world.get('/investment_sessions?spv_id=spv_no', { token })).status).toBe(404);
    for (const query of ['status=done', 'cursor=abc']) {
      const answer = await world.get(`${path}?${query}`, { token });
      expect([answer.status, answer.body.error.type]).toEqual([422, 'validation_error']);
    }
  });
});

describe('states of an investment session', () => {
  test('SESS-04 SESS-16 canceling ends a pending, in_progress or abandoned session and its link; repeating it returns the same 200', async () => {
    const made = await create();
    const { id } = made.body.data;
    const link = checkoutPath(made);
    await new Visitor(world).open(link);
    world.clock.advance(24 * hour);
    expect((await read(id)).status).toBe('abandoned');
    const canceled = await world.delete(`/investment_sessions/${id}`, { token });
    expect([canceled.status, canceled.body.data.attributes.status]).toEqual([200, 'canceled']);
    const again = await world.delete(`/investment_sessions/${id}`, { token });
    expect(again.body.data).toEqual(canceled.body.data);
    expect(events(again.body.data.attributes)).toEqual([
      'investment_session.created',
      'investment_session.started',
      'investment_session.canceled',
    ]);
    const dead = await new Visitor(world).open(link);
    expect([dead.status, String(dead.body)]).toEqual([410, expect.stringContaining('no longer works')]);
    for (const open of [false, true]) {
      const next = await create({ email: `${open}@mail.example` });
      if (open) await new Visitor(world).open(checkoutPath(next));
      const answer = await world.delete(`/investment_sessions/${next.body.data.id}`, { token });
      expect(answer.body.data.attributes.status).toBe('canceled');
    }
    expect((await world.delete('/investment_sessions/is_no', { token })).status).toBe(404);
  });

  test('SESS-04 SESS-18 a session expires by the clock, sends its event once and cannot be canceled: SESS-17', async () => {
    const { id } = (await create({ expires_in_hours: 2 })).body.data;
    world.clock.advance(2 * hour - 1);
    expect((await read(id)).status).toBe('pending');
    world.clock.advance(30_001);
    await expect.poll(() => heard.map(({ name }) => name)).toContain('investment_session.expired');
    expect(await read(id)).toMatchObject({ status: 'expired' });
    const refused = await world.delete(`/investment_sessions/${id}`, { token });
    expect([refused.status, refused.body.error.type]).toEqual([422, 'session_not_cancelable']);
    expect((await read(id)).events.at(-1)).toMatchObject({
      event: 'investment_session.expired',
      occurred_at: '2026-11-02T11:00:00.000Z',
    });
    expect(heard.filter(({ name }) => name === 'investment_session.expired')).toHaveLength(1);
    expect((await create()).status).toBe(201);
  });

  test('SESS-18 a session that is under way expires at its time, and is not abandoned then', async () => {
    const made = await create({ expires_in_hours: 24 });
    const visitor = new Visitor(world);
    await visitor.open(checkoutPath(made));
    world.clock.advance(24 * hour);
    expect((await read(made.body.data.id)).status).toBe('expired');
  });

  test('SESS-18 a session expires although its application is installed no longer', async () => {
    const { id } = (await create({ expires_in_hours: 2 })).body.data;
    // Its round belongs to a company and to a syndicate.
    for (const { installation } of [company(world), ...world.ready.syndicates])
      await world.control('POST', `/installations/${installation}/revoke`);
    world.clock.advance(2 * hour + 30_001);
    const status = () =>
      one<{ status: string }>(world.services.state, 'SELECT status FROM investment_sessions WHERE id = ?', [
        id,
      ])?.status;
    await expect.poll(status).toBe('expired');
    expect(heard.map(({ name }) => name)).not.toContain('investment_session.expired');
  });

  test('SESS-04 SESS-18 opening the link starts the session, a day without activity abandons it, and returning resumes it', async () => {
    const made = await create();
    const { id } = made.body.data;
    await world.send('HEAD', checkoutPath(made));
    expect((await read(id)).status).toBe('pending');
    const visitor = new Visitor(world);
    await visitor.open(checkoutPath(made));
    expect((await read(id)).status).toBe('in_progress');
    world.clock.advance(24 * hour - 1);
    expect((await read(id)).status).toBe('in_progress');
    world.clock.advance(1);
    expect((await read(id)).status).toBe('abandoned');
    expect((await create()).body.data.id).toBe(id);
    await visitor.open(checkoutPath(made));
    const back = await read(id);
    expect(back.status).toBe('in_progress');
    expect(events(back)).toEqual(['investment_session.created', 'investment_session.started']);
  });
});

describe('the checkout page', () => {
  /** Walks through a new checkout to its end. Returns the whole response of reading its session. */
  async function completed() {
    const made = await create();
    const { id } = made.body.data;
    const visitor = await walk(checkoutPath(made));
    const underWay = await read(id);
    const decision = await visitor.answer(checkoutPath(made), { action: 'complete' });
    const answer = await world.get(`/investment_sessions/${id}`, { token });
    return { id, made, visitor, underWay, decision, answer, attributes: answer.body.data.attributes };
  }

  test('SESS-03 SESS-15 SESS-18 a session is in progress during the checkout and completed after it, with its events', async () => {
    const { underWay, decision, answer, attributes } = await completed();
    expect(underWay).toMatchObject({
      status: 'in_progress',
      kyc_status: 'passed',
      funding_status: 'succeeded',
    });
    expect(decision.status).toBe(303);
    getSession.responses[200].schema.parse(answer.body);
    expect(attributes).toMatchObject({ status: 'completed', funding_status: 'succeeded' });
    expect(events(attributes)).toEqual([
      'investment_session.created',
      'investment_session.started',
      'investment_session.completed',
    ]);
    expect(Object.keys(attributes.events[0]).sort()).toEqual(['event', 'id', 'occurred_at']);
    expect(attributes.events[0].id).toMatch(/^evt_/);
  });

  test('EVT-10 the timeline of a session has the event that its endpoints are sent', async () => {
    const { id, attributes } = await completed();
    const told = heard.find(({ name }) => name === 'investment_session.completed');
    expect(told).toMatchObject({
      id: attributes.events[2].id,
      data: {
        id,
        status: 'completed',
        investment: attributes.investment_id.replace('invt_', 'inv_'),
        email: 'ida@people.example',
      },
    });
    expect(told?.installationNo).not.toBeNull();
  });

  test('CONV-09 a completed checkout publishes one investment, whose id says invt_ in the session only', async () => {
    const before = (await world.get(`/offerings/${company(world).offerings[1]}/stats`, { token })).body.data
      .total;
    const { id, made, visitor, attributes } = await completed();
    expect(attributes.investment_id).toMatch(/^invt_/);
    const record = await world.get(`/investments/${attributes.investment_id}`, { token });
    const investment = attributes.investment_id.replace('invt_', 'inv_');
    expect(record.body.data).toMatchObject({
      id: investment,
      status: 'active',
      group: 'IS READY',
      amounts: { committed_cents: 250_000, in_escrow_cents: 250_000, raised_cents: 250_000 },
      investor: { id: user(world, 4).id },
    });
    expect(record.body.meta.published_matches).toBe(true);
    const after = (await world.get(`/offerings/${company(world).offerings[1]}/stats`, { token })).body.data
      .total;
    expect(after).toEqual({
      count: before.count + 1,
      committed_cents: before.committed_cents + 250_000,
      raised_cents: before.raised_cents + 250_000,
    });
    const names = heard.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['investment.created', 'investment.changed']));
    const again = await world.delete(`/investment_sessions/${id}`, { token });
    expect([again.status, again.body.error.type]).toEqual([422, 'session_not_cancelable']);
    await visitor.open(checkoutPath(made));
    expect(
      (await world.get(`/offerings/${company(world).offerings[1]}/stats`, { token })).body.data.total.count,
    ).toBe(after.count);
  });

  test('SESS-06 the recipient can repeat a failed identity check and retry a declined card', async () => {
    const made = await create({ allocation_cents: undefined });
    const { id } = made.body.data;
    const link = checkoutPath(made);
    const visitor = new Visitor(world);
    await visitor.signIn(link, 'ida@people.example');
    await visitor.answer(link, { action: 'identity', document: '000-000-000' });
    expect((await read(id)).kyc_status).toBe('failed');
    expect((await visitor.open(link)).body).toContain('could not confirm');
    await visitor.answer(link, { action: 'fund', card: '4242424242424242', amount: '10' });
    expect((await read(id)).funding_status).toBe('pending');
    await visitor.answer(link, { action: 'identity', document: 'AB12345' });
    expect((await read(id)).kyc_status).toBe('passed');
    for (const [card, status] of [
      ['4000000000000002', 'card_declined'],
      ['4000000000009995', 'insufficient_funds'],
      ['4242424242424242', 'succeeded'],
    ] as const) {
      await visitor.answer(link, { action: 'complete' });
      expect((await read(id)).status).toBe('in_progress');
      await visitor.answer(link, { action: 'fund', card, amount: '1,234.56' });
      expect((await read(id)).funding_status).toBe(status);
    }
    await visitor.answer(link, { action: 'complete' });
    const { investment_id: investment, allocation_cents: fixed } = await read(id);
    expect(fixed).toBeNull();
    const record = await world.get(`/investments/${investment}`, { token });
    expect(record.body.data.amounts.committed_cents).toBe(123_456);
  });

  test.each([
    ['an invalid card number', { card: '4242424242424241', amount: '10' }],
    ['no amount', { card: '4242424242424242', amount: 'lots' }],
  ])('the checkout asks again for %s and records nothing', async (_name, fields) => {
    const made = await create({ allocation_cents: undefined });
    const link = checkoutPath(made);
    const visitor = new Visitor(world);
    await visitor.signIn(link, 'ida@people.example');
    await visitor.answer(link, { action: 'identity', document: 'AB12345' });
    expect((await visitor.answer(link, { action: 'fund', ...fields })).status).toBe(422);
    expect((await read(made.body.data.id)).funding_status).toBe('pending');
  });

  test('SESS-09 only the recipient can use the checkout link', async () => {
    const made = await create();
    const visitor = new Visitor(world);
    await visitor.signIn(checkoutPath(made), 'ivan@people.example');
    const page = await visitor.open(checkoutPath(made));
    expect([page.status, String(page.body)]).toEqual([403, expect.stringContaining('somebody else')]);
    const forced = await visitor.answer(checkoutPath(made), { action: 'identity', document: 'AB12345' });
    expect(forced.status).toBe(403);
    expect((await read(made.body.data.id)).kyc_status).toBe('pending');
  });

  test('an invited address without an account gets one, and the checkout ends at success_url', async () => {
    const made = await create({ email: 'new@mail.example', success_url: 'https://partner.example/done?x=1' });
    const link = checkoutPath(made);
    const visitor = new Visitor(world);
    expect((await visitor.signIn(link, 'other@mail.example')).status).toBe(422);
    const asked = await visitor.signIn(link, 'New@mail.example');
    expect(asked.body).toContain('Full name');
    await visitor.answer(link, { action: 'sign_in', email: 'ida@people.example' });
    expect((await visitor.open(link)).status).toBe(403);
    await visitor.answer(link, { action: 'sign_out' });
    const fresh = new Visitor(world);
    const csrf = /name="csrf" value="([^"]+)"/.exec(String((await fresh.open(link)).body))?.[1] ?? '';
    await fresh.submit(link, { csrf, action: 'join', email: 'new@mail.example', name: '<b>Nina</b> New' });
    const page = await fresh.open(link);
    expect(page.body).toContain('&lt;b&gt;Nina&lt;/b&gt; New');
    expect(page.headers.get('content-security-policy')).toContain(
      `form-action 'self' https://partner.example`,
    );
    await fresh.answer(link, { action: 'identity', document: 'AB12345' });
    await fresh.answer(link, { action: 'fund', card: '4242424242424242' });
    const done = await fresh.answer(link, { action: 'complete' });
    expect([done.status, done.headers.get('location')]).toEqual([303, 'https://partner.example/done?x=1']);
    expect((await read(made.body.data.id)).status).toBe('completed');
  });

  test('the checkout ends at a success_url with letters of any script', async () => {
    const made = await create({ success_url: 'https://partner.example/完了?für=é' });
    const visitor = await walk(checkoutPath(made));
    const done = await visitor.answer(checkoutPath(made), { action: 'complete' });
    expect([done.status, done.headers.get('location')]).toEqual([
      303,
      'https://partner.example/%E5%AE%8C%E4%BA%86?f%C3%BCr=%C3%A9',
    ]);
  });

  test('the checkout ignores a form without its token, from another browser or sent twice', async () => {
    const made = await create();
    const link = checkoutPath(made);
    const visitor = await walk(link);
    expect((await visitor.submit(link, { action: 'complete' })).status).toBe(403);
    expect((await visitor.submit(link, { action: 'complete', csrf: 'x'.repeat(64) })).status).toBe(403);
    expect((await read(made.body.data.id)).status).toBe('in_progress');
    expect((await visitor.answer(link, { action: 'constructor' })).status).toBe(400);
    const csrf = /name="csrf" value="([^"]+)"/.exec(String((await visitor.open(link)).body))?.[1] ?? '';
    await Promise.all([
      visitor.submit(link, { action: 'complete', csrf }),
      visitor.submit(link, { action: 'complete', csrf }),
    ]);
    expect(heard.filter(({ name }) => name === 'investment.created')).toHaveLength(1);
  });

  test('a round that closes meanwhile accepts no money, but still accepts a reservation', async () => {
    const made = await create();
    const visitor = await walk(checkoutPath(made));
    run(world.services.state, `UPDATE offerings SET status = 'closed' WHERE id = ?`, [
      company(world).offerings[1] ?? '',
    ]);
    expect((await visitor.open(checkoutPath(made))).status).toBe(409);
    const waters = `/offerings/${company(world).offerings[2]}/investment_sessions`;
    const next = await world.post(waters, { token, body: wish() });
    const link = checkoutPath(next);
    await visitor.answer(link, { action: 'identity', document: 'AB12345' });
    await visitor.answer(link, { action: 'complete' });
    const attributes = await read(next.body.data.id);
    expect(attributes).toMatchObject({ status: 'completed', funding_status: 'pending' });
    const record = await world.get(`/investments/${attributes.investment_id}`, { token });
    expect(record.body.data).toMatchObject({
      status: 'reserved',
      amounts: { in_escrow_cents: 0, raised_cents: 0 },
    });
  });

  test('an unknown checkout link shows its own page', async () => {
    expect((await new Visitor(world).open('/checkout/cs_no')).status).toBe(404);
  });

  test('closing the recipient’s account deletes the email address from the session', async () => {
    const made = await create();
    await world.control('POST', `/users/${user(world, 4).id}/deactivate`);
    expect(await read(made.body.data.id)).toMatchObject({ status: 'canceled', email: null, metadata: null });
  });
});
