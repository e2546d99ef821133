import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createIntent, listIntents, previewIntent } from '../../src/platform/contract/intents.js';
import { one, run } from '../../src/platform/state/statements.js';
import { makeClient, userToken, Visitor } from './credentials.js';
import { narrowToken } from './installs.js';
import { type Answered, company, type RunningPlatform, startPlatform, user } from './running-platform.js';

let world: RunningPlatform;
const day = 86_400_000;
beforeEach(async () => {
  world = await startPlatform();
});
afterEach(() => world.close());

const syndicate = (index = 0) => {
  const found = world.ready.syndicates[index];
  if (found === undefined) throw new Error(`no syndicate ${index}`);
  return found;
};
const founder = () => user(world, 2);
const founderEmail = 'founder1@people.example';

/** An ordinary member of the first syndicate. */
function member(): { id: string; name: string } {
  const row = one<{ id: string; name: string }>(
    world.services.state,
    `SELECT m.id, u.name FROM syndicate_members m JOIN users u ON u.no = m.user_no JOIN syndicates s ON s.no = m.syndicate_no
     WHERE s.id = ? AND m.standing = 'member' AND m.user_no <> s.created_by_no
       AND NOT EXISTS (SELECT 1 FROM syndicate_managers g WHERE g.syndicate_no = s.no AND g.user_no = m.user_no)
     ORDER BY m.no LIMIT 1`,
    [syndicate().id],
  );
  if (row === undefined) throw new Error('the syndicate has no ordinary member');
  return row;
}

function operatorEmail(): string {
  const state = world.services.state;
  run(
    state,
    `INSERT OR IGNORE INTO syndicate_managers (syndicate_no, user_no, permission)
     SELECT s.no, u.no, 'operator' FROM syndicates s, users u WHERE s.id = ? AND u.email = 'ivan@people.example'`,
    [syndicate().id],
  );
  return 'ivan@people.example';
}

const removal = (more: object = {}) => ({
  action: 'syndicates.remove_member',
  resource_id: syndicate().id,
  params: { member_id: member().id },
  idempotency_key: 'k1',
  ...more,
});
const propose = (body: object, token = syndicate().token, headers: Record<string, string> = {}) =>
  world.post('/intents', { token, body, headers });
const read = async (id: string, token = syndicate().token) =>
  (await world.get(`/intents/${id}`, { token })).body.data.attributes;
const review = (answer: Answered): string => new URL(answer.body.data.attributes.review_url).pathname;
const errorOf = ({ status, body }: Answered): [number, string] => [status, body.error?.type];

async function decide(answer: Answered, email: string, fields: Record<string, string>): Promise<Visitor> {
  const visitor = new Visitor(world);
  await visitor.signIn(review(answer), email);
  await visitor.answer(review(answer), fields);
  return visitor;
}

describe('proposing an intent', () => {
  test('INTENT-01 INTENT-02 INTENT-06 proposing returns 201 with a pending intent and the URL of its review page', async () => {
    const target = member();
    const answer = await propose(removal({ requested_by_agent: 'Ledger Bot' }));
    expect(answer.status).toBe(201);
    createIntent.responses[201].schema.parse(answer.body);
    const { id, type, attributes } = answer.body.data;
    expect([id.slice(0, 4), type]).toEqual(['int_', 'intent']);
    expect(attributes).toMatchObject({
      action: 'syndicates.remove_member',
      status: 'pending',
      resource_type: 'Club',
      resource_id: syndicate().id,
      requested_by_agent: 'Ledger Bot',
      approved_at: null,
      execution_result: null,
      expires_at: '2026-11-09T09:00:00.000Z',
    });
    expect(attributes.impact_summary).toContain(target.name);
    expect(attributes.review_url).toMatch(/\/review\/rv_/);
    expect(attributes.review_url).not.toContain(id.slice(4));
  });

  test.each([5, '', null, {}])(
    'INTENT-01 proposing with the action %j returns 422 validation_error',
    async (action) => {
      expect(errorOf(await propose(removal({ action })))).toEqual([422, 'validation_error']);
    },
  );

  test('INTENT-01 proposing accepts both spellings of the body', async () => {
    const { action, ...rest } = removal();
    const answer = await propose({ ...rest, action_name: action, resource_type: 'Club' });
    expect(answer.status).toBe(201);
    expect((await propose(removal())).status).toBe(200);
    const wrong = await propose(removal({ resource_type: 'Company', idempotency_key: 'k2' }));
    expect(errorOf(wrong)).toEqual([422, 'validation_error']);
  });

  test('INTENT-04 INTENT-13 SEC-14 proposing requires the scope of the action and access to the resource', async () => {
    const { installation, id } = syndicate();
    for (const scopes of [['read:syndicates'], ['write:comments']]) {
      const refused = await propose(removal(), narrowToken(world, installation, scopes));
      expect(errorOf(refused)).toEqual([403, 'insufficient_scope']);
    }
    expect(errorOf(await propose(removal(), syndicate(1).token))).toEqual([403, 'forbidden']);
    expect(errorOf(await propose(removal(), company(world).token))).toEqual([403, 'forbidden']);
    expect(errorOf(await propose(removal(), user(world, 4).token))[0]).toBe(403);
    expect(errorOf(await propose(removal({ resource_id: 'syn_no' })))).toEqual([404, 'not_found']);
    expect((await world.post('/intents', { body: removal() })).status).toBe(401);
    run(world.services.state, 'UPDATE syndicates SET published = 0 WHERE id = ?', [id]);
    expect(errorOf(await propose(removal(), user(world, 0).token))).toEqual([404, 'not_found']);
  });

  test('INTENT-10 proposing an action that fails its checks returns 422 with the reason and creates nothing', async () => {
    const creator = one<{ id: string }>(
      world.services.state,
      `SELECT m.id FROM syndicate_members m JOIN syndicates s ON s.no = m.syndicate_no
       WHERE s.id = ? AND m.user_no = s.created_by_no`,
      [syndicate().id],
    );
    for (const params of [{ member_id: creator?.id ?? '' }, { member_id: 'mem_no' }]) {
      const answer = await propose(removal({ params }));
      expect(errorOf(answer)).toEqual([422, 'unprocessable_entity']);
      const looked = await world.post('/intents/preview', {
        token: syndicate().token,
        body: { ...removal({ params }), idempotency_key: undefined },
      });
      expect([looked.status, looked.body.error.message]).toEqual([422, answer.body.error.message]);
    }
    expect(errorOf(await propose(removal({ params: {} })))).toEqual([422, 'validation_error']);
    expect(errorOf(await propose({ ...removal(), idempotency_key: undefined }))).toEqual([
      422,
      'validation_error',
    ]);
    expect(errorOf(await propose({ ...removal(), action: undefined }))).toEqual([422, 'validation_error']);
    expect((await world.get('/intents', { token: syndicate().token })).body.data).toEqual([]);
  });

  test('VERS-12 on 2026-10-15 proposing a deal action returns unknown action before the scope is checked', async () => {
    const poor = narrowToken(world, syndicate().installation, ['read:companies']);
    for (const action of ['syndicates.close_deal', 'syndicates.finalize_deal']) {
      const gone = await propose(removal({ action }), poor);
      expect(errorOf(gone)).toEqual([400, 'bad_request']);
      expect(gone.body.error).toMatchObject({
        message: 'Unknown action',
        details: { removed_in_version: '2026-10-15' },
      });
      const previewed = await world.post('/intents/preview', { token: poor, body: removal({ action }) });
      expect(previewed.body.error.details).toEqual({ removed_in_version: '2026-10-15' });
    }
    const never = await propose(removal({ action: 'syndicates.explode' }));
    expect([...errorOf(never), never.body.error.details]).toEqual([400, 'bad_request', undefined]);
  });
});

describe('Idempotency-Key of intents', () => {
  test('INTENT-05 ERR-18 the same request under a key returns 200 with the existing intent, another request returns 409', async () => {
    const first = await propose(removal());
    const again = await propose(removal({ requested_by_agent: 'someone else' }));
    expect([again.status, again.body.data]).toEqual([200, first.body.data]);
    const other = await propose(removal({ action: 'syndicates.publish', params: {} }));
    expect(errorOf(other)).toEqual([409, 'idempotency_conflict']);
    await decide(first, founderEmail, { action: 'approve' });
    const executed = await propose(removal({ params: JSON.parse(JSON.stringify(removalParams)) }));
    expect([executed.status, executed.body.data.attributes.status]).toEqual([200, 'executed']);
  });
  let removalParams: object;
  beforeEach(() => {
    removalParams = { member_id: member().id };
  });

  test('INTENT-05 a rejected or expired intent frees its key, and keys are per account', async () => {
    const first = await propose(removal());
    await decide(first, founderEmail, { action: 'reject', reason: 'They are nice.' });
    const second = await propose(removal());
    expect([second.status, second.body.data.id === first.body.data.id]).toEqual([201, false]);
    world.clock.advance(7 * day);
    const third = await propose(removal());
    expect(third.status).toBe(201);
    expect((await read(second.body.data.id)).status).toBe('expired');
    const elsewhere = narrowToken(world, syndicate().installation, ['write:syndicates']);
    expect((await propose(removal(), elsewhere)).status).toBe(200);
  });

  test('INTENT-05 ten concurrent proposals under one key create one intent', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => propose(removal())));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1);
  });
});

describe('rate limits of intents', () => {
  test('RATE-08 RATE-09 a token proposes ten new intents an hour; replays and refusals do not count', async () => {
    const body = (index: number) =>
      removal({ action: 'syndicates.remove_member', idempotency_key: `key ${index}` });
    for (let index = 0; index < 10; index += 1) {
      expect((await propose(body(index))).status).toBe(201);
      expect((await propose(body(index))).status).toBe(200);
      expect((await propose(removal({ params: { member_id: 'mem_no' }, idempotency_key: 'x' }))).status).toBe(
        422,
      );
    }
    const over = await propose(body(10));
    expect([over.status, over.body.error.details]).toEqual([
      429,
      { limit: 10, period: 'hour', retry_after: 3600 },
    ]);
    expect((await propose(body(3))).status).toBe(200);
    const fresh = narrowToken(world, syndicate().installation, ['write:syndicates']);
    expect((await propose(body(11), fresh)).status).toBe(201);
    world.clock.advance(3_600_000);
    expect((await propose(body(10))).status).toBe(201);
  });

  test('RATE-08 closing a deal counts towards the same hourly limit', async () => {
    for (let index = 0; index < 9; index += 1) await propose(removal({ idempotency_key: `key ${index}` }));
    const deal = company(world).offerings[1];
    const headers = { 'service-version': '2026-10-01' };
    const close = (what: string) =>
      world.post(`/syndicates/${syndicate().id}/deals/${deal}/${what}`, {
        token: syndicate().token,
        headers,
      });
    const closed = await close('close');
    expect([closed.status, closed.body.meta.close_deal_intent.status]).toEqual([200, 'pending']);
    expect((await close('close')).body.meta).toEqual(closed.body.meta);
    expect((await close('finalize')).status).toBe(429);
    expect((await propose(removal({ idempotency_key: 'one more' }))).status).toBe(429);
  });

  test('RATE-10 a person posts twenty comments a day over all their tokens', async () => {
    const token = () => {
      const client = makeClient(world, { scopes: ['write:comments'] });
      return userToken(world, client, 'ida@people.example', ['write:comments']);
    };
    approvedPage();
    const tokens = [token(), token(), token()];
    for (let index = 0; index < 20; index += 1) {
      const answer = await propose(comment({ idempotency_key: `key ${index}` }), tokens[index % 3]);
      expect(answer.status).toBe(201);
    }
    const over = await propose(comment({ idempotency_key: 'key 20' }), tokens[2]);
    expect([over.status, over.body.error.details.limit, over.body.error.details.period]).toEqual([
      429,
      20,
      'day',
    ]);
    world.clock.advance(day);
    expect((await propose(comment({ idempotency_key: 'key 20' }), token())).status).toBe(201);
  });
});

describe('previewing an intent', () => {
  const look = (body: object, token: string) => world.post('/intents/preview', { token, body });

  test('INTENT-07 INTENT-08 a preview runs every check and creates nothing, with any proposing scope or read:explore', async () => {
    const { idempotency_key: _, ...body } = removal();
    const answer = await look(body, syndicate().token);
    expect(answer.status).toBe(200);
    previewIntent.responses[200].schema.parse(answer.body);
    expect(answer.body.data).toMatchObject({
      type: 'intent_preview',
      attributes: { action: 'syndicates.remove_member', resource_type: 'Club', scope: 'write:syndicates' },
    });
    for (const scopes of [['write:comments'], ['read:explore']]) {
      expect((await look(body, narrowToken(world, syndicate().installation, scopes))).status).toBe(200);
    }
    const poor = narrowToken(world, syndicate().installation, ['read:syndicates']);
    expect(errorOf(await look(body, poor))).toEqual([403, 'insufficient_scope']);
    const unknown = { ...body, params: { member_id: 'mem_unknown' } };
    const proposed = await propose({ ...unknown, idempotency_key: 'key' }, syndicate().token);
    expect(proposed.status).toBe(422);
    expect(errorOf(await look(unknown, syndicate().token))).toEqual(errorOf(proposed));
    expect((await world.get('/intents', { token: syndicate().token })).body.data).toEqual([]);
  });

  test('INTENT-09 a preview requires permission to propose, and the scope on the installation', async () => {
    const { idempotency_key: _, ...body } = removal();
    expect(errorOf(await look(body, syndicate(1).token))).toEqual([403, 'forbidden']);
    expect(errorOf(await look(body, user(world, 5).token))).toEqual([403, 'forbidden']);
    run(
      world.services.state,
      `UPDATE installations SET scopes = 'read:explore read:syndicates' WHERE id = ?`,
      [syndicate().installation],
    );
    const token = narrowToken(world, syndicate().installation, ['read:explore']);
    expect(errorOf(await look(body, token))).toEqual([403, 'insufficient_scope']);
  });
});

describe('reading intents', () => {
  test('INTENT-11 INTENT-12 the list returns the account’s own intents, newest first, filtered, page by page', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 3; index += 1) {
      ids.unshift((await propose(removal({ idempotency_key: `key ${index}` }))).body.data.id);
    }
    const list = (query: string, token = syndicate().token) => world.get(`/intents?${query}`, { token });
    const first = await list('per_page=2');
    listIntents.responses[200].schema.parse(first.body);
    expect(first.body.data.map((row: { id: string }) => row.id)).toEqual(ids.slice(0, 2));
    const rest = await list(`per_page=2&limit=9&cursor=${first.body.meta.next_cursor}`);
    expect(rest.body.data.map((row: { id: string }) => row.id)).toEqual(ids.slice(2));
    expect(rest.body.meta).toMatchObject({ has_more: false, next_cursor: null });
    expect((await list('status=executed')).body.data).toEqual([]);
    expect(
      (await list(`status=pending&resource_type=Club&resource_id=${syndicate().id}`)).body.data,
    ).toHaveLength(3);
    expect(errorOf(await list('status=done'))).toEqual([400, 'invalid_parameter']);
    expect((await list('', syndicate(1).token)).body.data).toEqual([]);
    expect((await list('', narrowToken(world, syndicate().installation, ['read:companies']))).status).toBe(
      403,
    );
  });

  test('INTENT-12 reading another account’s intent or an unknown one returns 404', async () => {
    const { id } = (await propose(removal())).body.data;
    expect((await read(id)).status).toBe('pending');
    for (const [name, token] of [
      [id, syndicate(1).token],
      [id, founder().token],
      ['int_no', syndicate().token],
    ]) {
      expect(errorOf(await world.get(`/intents/${name}`, { token: token ?? '' }))).toEqual([
        404,
        'not_found',
      ]);
    }
  });
});

describe('approving and rejecting intents', () => {
  test('INTENT-03 INTENT-06 a person with permission approves the removal, and the member is removed', async () => {
    const target = member();
    const answer = await propose(removal());
    const page = await (await decide(answer, founderEmail, { action: 'approve' })).open(review(answer));
    expect(page.body).toContain('has been done');
    expect(await read(answer.body.data.id)).toMatchObject({
      status: 'executed',
      approved_at: '2026-11-02T09:00:00.000Z',
      executed_at: '2026-11-02T09:00:00.000Z',
      execution_result: { member: target.id, status: 'removed' },
      failure_reason: null,
    });
    const members = await world.get(`/syndicates/${syndicate().id}/members?per_page=100`, {
      token: syndicate().token,
    });
    expect(members.body.data.map((row: { id: string }) => row.id)).not.toContain(target.id);
  });

  test('INTENT-03 the proposer cannot approve in any role; an operator can', async () => {
    const other = operatorEmail();
    const answer = await propose(removal(), founder().token);
    const visitor = await decide(answer, founderEmail, { action: 'sign_out' });
    await visitor.signIn(review(answer), founderEmail);
    const page = await visitor.open(review(answer));
    expect([page.status, String(page.body)]).toEqual([403, expect.stringContaining('You proposed this')]);
    for (const action of ['approve', 'reject']) {
      const forced = await visitor.submit(review(answer), { csrf: csrf(page), action, reason: 'x' });
      expect(forced.status).toBe(403);
    }
    expect((await read(answer.body.data.id, founder().token)).status).toBe('pending');
    await decide(answer, other, { action: 'approve' });
    expect((await read(answer.body.data.id, founder().token)).status).toBe('executed');
  });

  test('INTENT-03 a decision requires permission, a sign-in and the form of the review page itself', async () => {
    const answer = await propose(removal());
    const stranger = new Visitor(world);
    const first = await stranger.open(review(answer));
    expect(first.body).not.toContain('Remove ');
    await stranger.signIn(review(answer), 'owner@people.example');
    const page = await stranger.open(review(answer));
    expect([page.status, String(page.body).includes('Remove ')]).toEqual([403, false]);
    expect((await stranger.submit(review(answer), { csrf: csrf(page), action: 'approve' })).status).toBe(403);
    const manager = new Visitor(world);
    await manager.signIn(review(answer), founderEmail);
    expect((await manager.submit(review(answer), { action: 'approve' })).status).toBe(403);
    expect((await manager.submit(review(answer), { action: 'approve', csrf: 'f'.repeat(64) })).status).toBe(
      403,
    );
    expect((await manager.answer(review(answer), { action: 'toString' })).status).toBe(400);
    expect((await world.post(review(answer), { token: syndicate().token })).status).toBe(403);
    expect((await read(answer.body.data.id)).status).toBe('pending');
    expect((await manager.open('/review/rv_no')).status).toBe(404);
  });

  test('INTENT-06 rejecting requires a reason, stores it and ends the intent', async () => {
    const answer = await propose(removal());
    const visitor = await decide(answer, founderEmail, { action: 'reject', reason: '  ' });
    expect((await read(answer.body.data.id)).status).toBe('pending');
    await visitor.answer(review(answer), { action: 'reject', reason: 'Not <them>.' });
    expect(await read(answer.body.data.id)).toMatchObject({
      status: 'rejected',
      rejection_reason: 'Not <them>.',
    });
    const page = await visitor.open(review(answer));
    expect(page.body).toContain('Not &lt;them&gt;.');
    await visitor.submit(review(answer), { csrf: csrf(page), action: 'approve' });
    expect((await read(answer.body.data.id)).status).toBe('rejected');
  });

  test('INTENT-06 an intent approved before a stop is executed after the restart, unless the approver has lost the permission', async () => {
    const { state } = world.services;
    const [kept, lost] = [await propose(removal()), await propose(removal({ idempotency_key: 'k2' }))];
    const approvedBy = (answer: Answered, email: string) =>
      run(
        state,
        `UPDATE intents SET status = 'approved', approved_at = ?,
           decided_by_no = (SELECT no FROM users WHERE email = ?) WHERE id = ?`,
        [world.clock.now(), email, answer.body.data.id],
      );
    const { id } = member();
    approvedBy(lost, 'ida@people.example');
    expect(await read(lost.body.data.id)).toMatchObject({
      status: 'failed',
      failure_reason: expect.stringContaining('may no longer decide'),
    });
    expect(member().id).toBe(id);
    approvedBy(kept, founderEmail);
    expect((await read(kept.body.data.id)).status).toBe('executed');
    expect(member().id).not.toBe(id);
  });

  test('INTENT-06 an intent that can no longer be executed becomes failed, and one undecided for a week becomes expired', async () => {
    const first = await propose(removal());
    const twin = await propose(removal({ idempotency_key: 'k2' }));
    await decide(first, founderEmail, { action: 'approve' });
    await decide(twin, founderEmail, { action: 'approve' });
    expect(await read(twin.body.data.id)).toMatchObject({
      status: 'failed',
      execution_result: null,
      executed_at: null,
      failure_reason: expect.stringContaining('was not found'),
    });
    const last = await propose(
      removal({ action: 'syndicates.delete_draft', params: {}, idempotency_key: 'k3' }),
    );
    expect(errorOf(last)).toEqual([422, 'unprocessable_entity']);
    const late = await propose(removal({ params: { member_id: member().id }, idempotency_key: 'k4' }));
    world.clock.advance(7 * day);
    await decide(late, founderEmail, { action: 'approve' }).catch(() => undefined);
    expect((await read(late.body.data.id)).status).toBe('expired');
  });

  test('INTENT-06 disconnecting an app or revoking an installation expires the intents it proposed', async () => {
    const client = makeClient(world, { scopes: ['write:syndicates'] });
    const { tokensFor } = await import('./credentials.js');
    const tokens = await tokensFor(world, client, founderEmail, { scope: 'write:syndicates' });
    const byPerson = await propose(removal(), tokens.access_token);
    expect(byPerson.status).toBe(201);
    const byInstall = await propose(removal());
    const body = new URLSearchParams({
      token: tokens.refresh_token,
      client_id: client.clientId,
      client_secret: client.secret,
    });
    expect((await world.post('/oauth/revoke', { body })).status).toBe(200);
    const status = (answer: Answered) =>
      one<{ status: string }>(world.services.state, 'SELECT status FROM intents WHERE id = ?', [
        answer.body.data.id,
      ])?.status;
    expect([status(byPerson), status(byInstall)]).toEqual(['expired', 'pending']);
    await world.control('POST', `/installations/${syndicate().installation}/revoke`);
    expect(status(byInstall)).toBe('expired');
  });

  test('INTENT-12 INTENT-13 only full access may decide on publishing or deleting a draft', async () => {
    const { state } = world.services;
    run(state, `UPDATE syndicates SET published = 0 WHERE id = ?`, [syndicate().id]);
    const publish = await propose(removal({ action: 'syndicates.publish', params: {} }));
    const visitor = new Visitor(world);
    await visitor.signIn(review(publish), operatorEmail());
    expect((await visitor.open(review(publish))).status).toBe(403);
    await decide(publish, founderEmail, { action: 'approve' });
    const shown = await world.get(`/syndicates/${syndicate().id}`, { token: syndicate().token });
    expect(shown.body.data.attributes.published).toBe(true);
    run(state, `UPDATE syndicates SET published = 0 WHERE id = ?`, [syndicate().id]);
    run(state, `UPDATE offerings SET syndicate_no = NULL`);
    const drop = await propose(
      removal({ action: 'syndicates.delete_draft', params: {}, idempotency_key: 'k2' }),
    );
    await decide(drop, founderEmail, { action: 'approve' });
    const row = one<{ status: string }>(state, 'SELECT status FROM intents WHERE id = ?', [
      drop.body.data.id,
    ]);
    expect(row?.status).toBe('executed');
    expect((await world.get(`/syndicates/${syndicate().id}`, { token: founder().token })).status).toBe(404);
  });

  test('VERS-12 on 2026-10-01 approved intents close a deal, then finalize it and execute its confirmed investments', async () => {
    const deal = company(world).offerings[1] ?? '';
    const headers = { 'service-version': '2026-10-01' };
    const body = (action: string, key: string) =>
      removal({ action, params: { offering_id: deal }, idempotency_key: key });
    const early = await propose(body('syndicates.finalize_deal', 'k0'), syndicate().token, headers);
    await decide(early, founderEmail, { action: 'approve' });
    expect(await read(early.body.data.id)).toMatchObject({ status: 'failed' });
    const closing = await propose(body('syndicates.close_deal', 'k1'), syndicate().token, headers);
    expect(closing.status).toBe(201);
    await decide(closing, founderEmail, { action: 'approve' });
    const final = await propose(body('syndicates.finalize_deal', 'k2'), syndicate().token, headers);
    await decide(final, founderEmail, { action: 'approve' });
    const done = await read(final.body.data.id);
    expect(done.execution_result).toMatchObject({ deal, status: 'closed' });
    const left = one<{ open: number; done: number }>(
      world.services.state,
      `SELECT sum(i.status = 'active' AND i.group_label IN ('IS READY', 'CONFIRMED')) AS open, sum(i.status = 'executed') AS done
       FROM investments i JOIN offerings o ON o.no = i.offering_no WHERE o.id = ?`,
      [deal],
    );
    expect(left?.open).toBe(0);
    expect(left?.done).toBeGreaterThanOrEqual(Number(done.execution_result.executed));
  });
});

function approvedPage(): void {
  run(world.services.state, 'INSERT OR IGNORE INTO company_profiles (company_no) SELECT no FROM companies');
  run(world.services.state, 'UPDATE company_profiles SET approved_at = 1, hidden = 0');
}

const comment = (more: object = {}, params: object = {}) => ({
  action: 'comments.create',
  resource_id: company(world).id,
  params: { target_type: 'company', target: company(world).id, body: 'When does <it> ship?', ...params },
  idempotency_key: 'c1',
  ...more,
});

describe('comments.create intents', () => {
  const ida = () => user(world, 4).token;
  beforeEach(approvedPage);

  const questions = async () =>
    (
      await world.get(`/companies/${company(world).id}/questions?past_raises=true&sort=recent`, {
        token: ida(),
      })
    ).body.data as { id: string; attributes: Record<string, never> }[];

  test('INTENT-16 INTENT-18 only the author of a question can approve it, and nothing is posted before', async () => {
    const before = (await questions()).length;
    const answer = await propose(comment({}, { disclosure_key: 'investor' }), ida());
    expect(await questions()).toHaveLength(before);
    const stranger = await decide(answer, 'ivan@people.example', { action: 'sign_out' });
    await stranger.signIn(review(answer), founderEmail);
    const page = await stranger.open(review(answer));
    expect(page.status).toBe(403);
    await stranger.submit(review(answer), { csrf: csrf(page), action: 'approve' });
    expect(await questions()).toHaveLength(before);
    expect((await read(answer.body.data.id, ida())).status).toBe('pending');
    await decide(answer, 'ida@people.example', { action: 'approve' });
    expect(await questions()).toHaveLength(before + 1);
  });

  test('INTENT-14 INTENT-15 an approved question is posted under the name and role of its author', async () => {
    const answer = await propose(comment({}, { disclosure_key: 'investor' }), ida());
    expect(answer.status).toBe(201);
    expect(answer.body.data.attributes).toMatchObject({ resource_type: 'Company', status: 'pending' });
    await decide(answer, 'ida@people.example', { action: 'approve' });
    const { status, execution_result: result } = await read(answer.body.data.id, ida());
    expect([status, result.comment.slice(0, 4)]).toEqual(['executed', 'cmt_']);
    const posted = (await questions()).find(({ id }) => id === result.comment);
    expect(posted?.attributes).toMatchObject({
      question: 'When does <it> ship?',
      asked_by: { id: user(world, 4).id, role: 'investor' },
    });
  });

  test('INTENT-16 INTENT-17 only the team can answer a question', async () => {
    const asked = await propose(comment(), ida());
    await decide(asked, 'ida@people.example', { action: 'approve' });
    const { comment: question } = (await read(asked.body.data.id, ida())).execution_result;
    const params = { target_type: 'comment', target: question, body: 'In May.' };
    const body = comment({ idempotency_key: 'c2' }, params);
    expect(errorOf(await propose(body, ida()))).toEqual([422, 'unprocessable_entity']);
    const answer = await propose(body, founder().token);
    expect(answer.status).toBe(201);
    await decide(answer, founderEmail, { action: 'approve' });
    const posted = (await questions()).find(({ id }) => id === question);
    expect(posted?.attributes).toMatchObject({ answered_by_team: true, answers: [{ answer: 'In May.' }] });
    const nowhere = comment({ idempotency_key: 'c3' }, { ...params, target: 'cmt_no' });
    expect((await propose(nowhere, founder().token)).status).toBe(422);
  });

  test('INTENT-17 a company with questions closed refuses them, and one with a hidden page is not found', async () => {
    const { state } = world.services;
    const early = await propose(comment(), ida());
    run(state, 'UPDATE company_profiles SET questions_closed = 1');
    expect(errorOf(await propose(comment({ idempotency_key: 'c2' }), ida()))).toEqual([
      422,
      'unprocessable_entity',
    ]);
    await decide(early, 'ida@people.example', { action: 'approve' });
    expect((await read(early.body.data.id, ida())).status).toBe('failed');
    run(state, 'UPDATE company_profiles SET hidden = 1');
    run(state, 'DELETE FROM vault_members');
    const stranger = user(world, 0).token;
    expect(errorOf(await propose(comment(), stranger))).toEqual([404, 'not_found']);
  });

  test('INTENT-14 SCOPE-04 comments require write:comments and a user, and the scope reads only its own drafts', async () => {
    const client = makeClient(world, { scopes: ['write:comments', 'read:explore'] });
    const writer = userToken(world, client, 'ida@people.example', ['write:comments']);
    const reader = userToken(world, client, 'ida@people.example', ['read:explore']);
    expect(errorOf(await propose(comment(), reader))).toEqual([403, 'insufficient_scope']);
    expect((await propose(comment(), writer)).status).toBe(201);
    expect((await world.get('/intents', { token: writer })).status).toBe(403);
    const install = narrowToken(world, company(world).installation, ['write:comments']);
    expect(errorOf(await propose(comment(), install))).toEqual([403, 'forbidden']);
    for (const params of [
      { body: ' ' },
      { target_type: 'post' },
      { disclosure_key: 'friend' },
      { extra: 1 },
    ]) {
      const answer = await propose(comment({ idempotency_key: 'c2' }, params), writer);
      expect(errorOf(answer)).toEqual([422, 'validation_error']);
    }
  });

  test('INTENT-19 a rollout to some users does not concern installations', async () => {
    await world.control('PUT', '/rollouts/syndicates.remove_member', { users: [user(world, 5).id] });
    expect((await propose(removal())).status).toBe(201);
    await world.control('PUT', '/rollouts/syndicates.remove_member', { users: null });
  });

  test('INTENT-19 an action in rollout returns 403 feature_disabled to callers outside the rollout', async () => {
    await world.control('PUT', '/rollouts/comments.create', { users: [user(world, 5).id] });
    expect(errorOf(await propose(comment(), ida()))).toEqual([403, 'feature_disabled']);
    const looked = await world.post('/intents/preview', { token: ida(), body: comment() });
    expect(errorOf(looked)).toEqual([403, 'feature_disabled']);
    expect((await propose(comment(), user(world, 5).token)).status).toBe(201);
    await world.control('PUT', '/rollouts/comments.create', { users: null });
    expect((await propose(comment(), ida())).status).toBe(201);
  });
});

function csrf(page: Answered): string {
  return /name="csrf" value="([^"]+)"/.exec(String(page.body))?.[1] ?? '';
}
