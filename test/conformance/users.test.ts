import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listActivity } from '../../src/platform/contract/activity.js';
import { listConnectedApps, revokeConnectedApp } from '../../src/platform/contract/connected-apps.js';
import {
  followCompany,
  getMe,
  listMyCompanies,
  listMyFollows,
  unfollowCompany,
} from '../../src/platform/contract/users.js';
import { all, run } from '../../src/platform/state/statements.js';
import {
  applicationToken,
  companyOf,
  conforms,
  errorOf,
  follow,
  ida,
  ivan,
  personToken,
  publishableKey,
} from './catalog.js';
import { makeClient, tokensFor, userNo, userToken, works } from './credentials.js';
import { type RunningPlatform, startPlatform, worldStart } from './running-platform.js';

// biome-ignore lint/suspicious/noExplicitAny: the shape of an answer is what a test finds out
type Item = any;

let world: RunningPlatform;
const first = { 'Service-Version': '2026-10-01' };

beforeAll(async () => {
  world = await startPlatform({ limits: false });
});
afterAll(() => world.close());

const token = (email: string, ...scopes: string[]) => personToken(world, email, ...scopes);
const names = (items: readonly Item[]): string[] => items.map((item) => item.attributes.name);

describe('the user profile', () => {
  test('USER-01 USER-06 SCOPE-08 read:profile returns the whole profile', async () => {
    run(world.services.state, 'UPDATE users SET bio = ?, address = ? WHERE email = ?', [
      'Beekeeper.',
      JSON.stringify({ line: '1 Test Close', city: 'Köln', country: 'Germany' }),
      ida,
    ]);
    for (const scope of ['read:profile', 'write:profile']) {
      const { body } = conforms(getMe, await world.get('/users/me', { token: token(ida, scope) }));
      expect(body.data).toMatchObject({ id: expect.stringMatching(/^usr_/), type: 'user' });
      expect(body.data.attributes).toMatchObject({
        email: ida,
        username: 'ida',
        name: 'Ida Investor',
        full_name: 'Ida Investor',
        bio: 'Beekeeper.',
        city: 'Köln',
        country: 'Germany',
        created_at: new Date(worldStart).toISOString(),
      });
      expect(JSON.stringify(body)).not.toContain('Test Close');
    }
  });

  test.each([
    ['SCOPE-05', 'write:follows'],
    ['SCOPE-04', 'write:comments'],
    ['SCOPE-10', 'read:profile:follows'],
    ['SCOPE-11', 'read:investments'],
  ])('USER-02 %s a token with only %s gets only the id of the user', async (_, scope) => {
    const { body } = conforms(getMe, await world.get('/users/me', { token: token(ida, scope) }));
    expect(body).toEqual({
      data: { id: world.ready.users.find((user) => user.email === ida)?.id, type: 'user' },
    });
  });

  test('OAUTH-26 ERR-11 a credential without a user has no profile', async () => {
    for (const credential of [publishableKey(world), applicationToken(world, makeClient(world))]) {
      const answer = await world.get('/users/me', { token: credential });
      expect(errorOf(answer)).toEqual([403, 'insufficient_scope']);
      expect(answer.body.error.remediation).toContain('read:profile');
    }
    expect(errorOf(await world.get('/users/me', { token: world.ready.companies[0]?.token ?? '' }))).toEqual([
      403,
      'forbidden',
    ]);
  });
});

describe('followed companies', () => {
  const list = (bearer: string, query = '') => world.get(`/users/me/follows${query}`, { token: bearer });

  test.each([
    ['USER-03', 'read:profile'],
    ['USER-03', 'write:profile'],
    ['USER-03 SCOPE-05', 'write:follows'],
    ['USER-03', 'read:mcp'],
    ['USER-04 SCOPE-10', 'read:profile:follows'],
    ['USER-04 SCOPE-25', 'read:follows'],
  ])('USER-06 %s a token with %s lists follows', async (_, scope) => {
    const { body } = conforms(listMyFollows, await list(token(ida, scope)));
    expect(body.data[0]).toMatchObject({
      id: companyOf(world, 'harbour-lanterns').id,
      type: 'company',
      attributes: {
        raising: true,
        profile_available: true,
        followed_at: new Date(worldStart - 86_400_000).toISOString(),
      },
    });
  });

  test('USER-03 USER-04 other scopes cannot list follows', async () => {
    for (const scope of ['read:explore', 'write:comments', 'read:investments']) {
      expect(errorOf(await list(token(ida, scope))), scope).toEqual([403, 'insufficient_scope']);
    }
  });

  test('USER-05 USER-06 only write:follows and read:mcp list companies that are not promoted', async () => {
    for (const scope of ['read:profile', 'write:profile', 'read:profile:follows', 'read:follows']) {
      expect(names((await list(token(ida, scope))).body.data), scope).toEqual([
        'Harbour Lanterns',
        'Paper Kites',
      ]);
    }
    for (const scopes of [['write:follows'], ['read:mcp'], ['read:profile', 'write:follows']]) {
      expect(names((await list(token(ida, ...scopes))).body.data), scopes.join()).toEqual([
        'Harbour Lanterns',
        'Tidal Ledger',
        'Paper Kites',
      ]);
    }
  });

  test('USER-05 PAGE-02 companies hidden from the list leave no gaps in its pages', async () => {
    const profile = token(ida, 'read:profile');
    const page = (await list(profile, '?per_page=2')).body;
    expect([page.data.length, page.meta.has_more]).toEqual([2, false]);
    for (const bearer of [profile, token(ida, 'write:follows')]) {
      expect(await follow(world, '/users/me/follows?per_page=1', bearer)).toEqual(
        (await list(bearer)).body.data,
      );
    }
  });

  test('SCOPE-05 SCOPE-19 following and unfollowing are idempotent', async () => {
    const bearer = token(ivan, 'write:follows');
    const { id } = companyOf(world, 'quiet-orchard');
    const path = `/users/me/follows/${id}`;
    const state = (answer: Item) => answer.body.data.attributes;
    const done = conforms(followCompany, await world.put(path, { token: bearer }));
    expect(done.body.data).toEqual({
      id,
      type: 'follow_state',
      attributes: { followed: true, changed: true },
    });
    expect(state(await world.put(path, { token: bearer }))).toEqual({ followed: true, changed: false });
    expect(names((await list(bearer)).body.data)).toEqual(['Quiet Orchard']);
    expect(state(conforms(unfollowCompany, await world.delete(path, { token: bearer })))).toEqual({
      followed: false,
      changed: true,
    });
    expect(state(await world.delete(path, { token: bearer }))).toEqual({ followed: false, changed: false });
    for (const scope of ['read:profile:follows', 'write:profile']) {
      expect(errorOf(await world.put(path, { token: token(ivan, scope) }))).toEqual([
        403,
        'insufficient_scope',
      ]);
    }
  });

  test('SCOPE-19 SEC-01 a person can follow only visible companies and can unfollow any followed one', async () => {
    const bearer = token(ivan, 'write:follows');
    for (const slug of ['lumen-works', 'vaulted-arch', 'hidden-hollow', 'unproven-umbrellas']) {
      expect(
        errorOf(await world.put(`/users/me/follows/${companyOf(world, slug).id}`, { token: bearer })),
        slug,
      ).toEqual([404, 'not_found']);
    }
    const { no, id } = companyOf(world, 'first-sparks');
    expect((await world.put(`/users/me/follows/${id}`, { token: bearer })).status).toBe(200);
    run(world.services.state, 'UPDATE company_profiles SET hidden = 1 WHERE company_no = ?', [no]);
    expect((await list(bearer)).body.data[0].attributes).toMatchObject({
      profile_available: false,
      raising: false,
    });
    expect((await world.put(`/users/me/follows/${id}`, { token: bearer })).body.data.attributes).toEqual({
      followed: true,
      changed: false,
    });
    expect(
      (await world.delete(`/users/me/follows/${id}`, { token: bearer })).body.data.attributes.changed,
    ).toBe(true);
    run(world.services.state, 'UPDATE company_profiles SET hidden = 0 WHERE company_no = ?', [no]);
    expect(errorOf(await world.delete('/users/me/follows/co_never', { token: bearer }))).toEqual([
      404,
      'not_found',
    ]);
  });
});

test('USER-03 CONV-14 a live token lists only follows of live companies', async () => {
  const email = 'backer8@people.example';
  const { no } = companyOf(world, 'paper-kites');
  run(world.services.state, 'INSERT INTO follows (user_no, company_no, followed_at) VALUES (?, ?, 0)', [
    userNo(world, email),
    no,
  ]);
  const listed = async (realm: 'test' | 'live') => {
    const client = makeClient(world, { realm, scopes: ['write:follows'] });
    const bearer = userToken(world, client, email, ['write:follows']);
    return names((await world.get('/users/me/follows', { token: bearer })).body.data);
  };
  expect([await listed('test'), await listed('live')]).toEqual([['Paper Kites'], []]);
});

test('closing an account deletes its picture and its follows', async () => {
  const { state } = world.services;
  const no = userNo(world, 'backer7@people.example');
  run(
    state,
    `INSERT INTO user_profiles (user_no, avatar_url) VALUES (?, 'https://images.invest.example/p.png')`,
    [no],
  );
  const bearer = token('backer7@people.example', 'write:follows');
  await world.put(`/users/me/follows/${companyOf(world, 'paper-kites').id}`, { token: bearer });
  const { id } = (await world.get('/users/me', { token: bearer })).body.data;
  await world.control('POST', `/users/${id}/deactivate`);
  for (const sql of [
    'SELECT 1 FROM user_profiles WHERE user_no = ?',
    'SELECT 1 FROM follows WHERE user_no = ?',
  ]) {
    expect(all(state, sql, [no])).toEqual([]);
  }
});

describe('companies of the user', () => {
  test('PORT-01 PORT-02 SCOPE-12 the list of companies has those the person helps run, with the role', async () => {
    const path = '/users/me/companies';
    const founder = conforms(
      listMyCompanies,
      await world.get(path, { token: token('founder1@people.example', 'read:companies') }),
    );
    expect(founder.body.meta).toEqual({ count: 1, has_more: false, page_count: 1, next_cursor: null });
    expect(founder.body.data[0]).toMatchObject({
      id: world.ready.companies[0]?.id,
      type: 'company',
      attributes: { roles: ['founder'], raising: true },
    });
    const admin = await world.get(path, { token: token('admin1@people.example', 'read:offerings') });
    expect(admin.body.data[0].attributes.roles).toEqual(['employee']);
    expect((await world.get(path, { token: token(ida, 'read:companies') })).body).toEqual({
      data: [],
      meta: { count: 0, has_more: false, page_count: 0, next_cursor: null },
    });
    expect(errorOf(await world.get(path, { token: token(ida, 'read:profile') }))).toEqual([
      403,
      'insufficient_scope',
    ]);
    expect(errorOf(await world.get(path, { token: world.ready.companies[0]?.token ?? '' }))).toEqual([
      403,
      'forbidden',
    ]);
  });
});

describe('connected apps', () => {
  const list = (bearer: string) => world.get('/connected-apps', { token: bearer });

  test('SCOPE-08 SCOPE-19 the list of connected apps shows each application with its scopes and activity', async () => {
    const client = makeClient(world, { scopes: ['read:profile', 'write:follows'] });
    await tokensFor(world, client, 'backer1@people.example', { scope: 'write:follows' });
    const bearer = (await tokensFor(world, client, 'backer1@people.example', { scope: 'read:profile' }))
      .access_token;
    const { body } = conforms(listConnectedApps, await list(bearer));
    expect(body.data).toEqual([
      {
        id: client.applicationNo,
        type: 'connected_app',
        attributes: {
          name: 'Test Partner',
          scopes: ['read:profile', 'write:follows'],
          last_active_at: new Date(worldStart).toISOString(),
          action_count: 0,
          created_at: new Date(worldStart).toISOString(),
        },
      },
    ]);
    const acting = userToken(world, client, 'backer1@people.example', ['write:follows']);
    await world.put(`/users/me/follows/${companyOf(world, 'paper-kites').id}`, { token: acting });
    expect((await list(bearer)).body.data[0].attributes.action_count).toBe(1);
    const live = makeClient(world, { realm: 'live', scopes: ['read:profile'] });
    const elsewhere = await list(userToken(world, live, 'backer1@people.example', ['read:profile']));
    expect(elsewhere.body.data.map(({ id }: Item) => id)).toEqual([live.applicationNo]);
    expect(errorOf(await list(acting))).toEqual([403, 'insufficient_scope']);
  });

  test('SCOPE-09 SCOPE-19 OAUTH-20 disconnecting ends every token of that application for that person, and no others', async () => {
    const mine = 'backer2@people.example';
    const client = makeClient(world, { scopes: ['read:profile', 'write:profile'] });
    const other = makeClient(world, { scopes: ['write:profile'] });
    const names: string[] = [];
    world.services.events.subscribe((event) => names.push(event.name));
    const pair = await tokensFor(world, client, mine, { scope: 'read:profile' });
    const second = userToken(world, client, mine, ['read:profile']);
    const foreign = userToken(world, client, ivan, ['read:profile']);
    const bearer = userToken(world, other, mine, ['write:profile']);
    expect(errorOf(await world.delete(`/connected-apps/${client.applicationNo}`, { token: second }))).toEqual(
      [403, 'insufficient_scope'],
    );
    const answer = conforms(
      revokeConnectedApp,
      await world.delete(`/connected-apps/${client.applicationNo}`, { token: bearer }),
    );
    expect(answer.body).toEqual({ data: { revoked: true, tokens_revoked: 2 } });
    expect([await works(world, pair.access_token), await works(world, second)]).toEqual([false, false]);
    expect([await works(world, foreign), await works(world, bearer)]).toEqual([true, true]);
    expect(names.filter((name) => name === 'installation.revoked')).toHaveLength(1);
    for (const id of [client.applicationNo, 'x', 99_999]) {
      expect(errorOf(await world.delete(`/connected-apps/${id}`, { token: bearer }))).toEqual([
        404,
        'not_found',
      ]);
    }
  });
});

describe('activity', () => {
  const read = (query: string, bearer: string | null, headers: Record<string, string> = first) =>
    world.get(`/activity${query}`, bearer === null ? { headers } : { token: bearer, headers });

  test('VERS-10 VERS-13 since 2026-10-15 activity returns not found to every caller, before any other check', async () => {
    for (const bearer of [
      null,
      token(ida, 'read:profile'),
      token(ida, 'write:comments'),
      publishableKey(world),
      world.ready.companies[0]?.token ?? '',
    ]) {
      for (const headers of [{ 'Service-Version': '2026-10-15' }, {}] as Record<string, string>[]) {
        const answer = await read('?status=nonsense', bearer, headers);
        expect(errorOf(answer)).toEqual([404, 'not_found']);
        expect(answer.body.error.details).toEqual({ removed_in_version: '2026-10-15' });
      }
    }
    expect(errorOf(await read('', null))).toEqual([401, 'unauthorized']);
    for (const headers of [{}, first]) {
      expect(errorOf(await read('', 'at_test_unknown', headers))).toEqual([401, 'unauthorized']);
    }
    expect(errorOf(await read('', token(ida, 'write:comments')))).toEqual([403, 'insufficient_scope']);
    expect(errorOf(await read('', publishableKey(world)))).toEqual([403, 'insufficient_scope']);
  });

  test('VERS-14 SCOPE-08 activity lists what applications did for the person, newest first, with every filter', async () => {
    const client = makeClient(world, { scopes: ['read:profile', 'write:follows'] });
    const email = 'backer5@people.example';
    const bearer = userToken(world, client, email, ['read:profile', 'write:follows']);
    const kites = companyOf(world, 'paper-kites').id;
    const orchard = companyOf(world, 'quiet-orchard').id;
    for (const id of [kites, orchard]) await world.put(`/users/me/follows/${id}`, { token: bearer });
    await world.put(`/users/me/follows/${kites}`, { token: bearer });
    world.clock.advance(60_000);
    await world.delete(`/users/me/follows/${kites}`, { token: bearer });
    const later = new Date(worldStart + 60_000).toISOString();
    const { body } = conforms(listActivity, await read('', bearer));
    expect(body.data).toHaveLength(3);
    expect(body.data[0].attributes).toEqual({
      occurred_at: later,
      actor_type: 'application',
      actor_name: 'Test Partner',
      action: 'companies.unfollow',
      resource_type: 'Company',
      resource_id: kites,
      resource_label: 'Paper Kites',
      old_values: { followed: true },
      new_values: { followed: false },
      changed_fields: ['followed'],
      status: 'success',
      error_message: null,
      intent_id: null,
      intent: null,
      created_at: later,
    });
    const counts: [string, number][] = [
      [`app_id=${client.applicationNo}`, 3],
      ['app_id=99999', 0],
      ['action_pattern=companies.*', 3],
      ['action_pattern=*unfol*', 1],
      ['action_pattern=*.follow', 2],
      ['action_pattern=companies.follow', 2],
      ['action_pattern=*a*a*', 0],
      [`resource_type=Company&resource_id=${kites}`, 2],
      ['status=success', 3],
      ['status=denied', 0],
      [`since=${later}`, 1],
      [`until=${new Date(worldStart + 1).toISOString()}`, 2],
      [`until=${later}`, 3],
      // The two parts of a pattern do not share letters.
      ['action_pattern=companies.fol*follow', 0],
    ];
    for (const [query, count] of counts)
      expect((await read(`?${query}`, bearer)).body.data, query).toHaveLength(count);
    for (const query of [
      'resource_type=Company',
      'resource_id=x',
      'status=odd',
      'since=yesterday',
      'app_id=one',
    ]) {
      expect(errorOf(await read(`?${query}`, bearer)), query).toEqual([400, 'invalid_parameter']);
    }
    const second = await read(
      `?per_page=2&cursor=${(await read('?per_page=2', bearer)).body.meta.next_cursor}`,
      bearer,
    );
    expect(second.body.data).toEqual([body.data[2]]);
    const live = makeClient(world, { realm: 'live', scopes: ['read:profile'] });
    const elsewhere = userToken(world, live, email, ['read:profile']);
    expect((await read('', elsewhere)).body.data).toEqual([]);
    expect((await read('', token(ida, 'read:profile'))).body.data).toEqual([]);
    world.clock.advance(-60_000);
  });
});
