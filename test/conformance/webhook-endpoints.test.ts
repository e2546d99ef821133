import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type PortalAct, portalWrite } from '../../src/platform/webhooks/portal.js';
import { eventNames } from '../../src/wire/events.js';
import { type Receiver, startReceiver } from '../platform/webhooks/receiver.js';
import {
  createEndpoint,
  minute,
  publicAddress,
  startWebhookPlatform,
  type WebhookPlatform,
} from '../platform/webhooks/webhook-platform.js';

const url = 'https://hooks.example.com/in/abcdef123456';
const events = ['investment.changed', 'investment.created'];

let world: WebhookPlatform;
let owner: string;
beforeEach(async () => {
  world = await startWebhookPlatform();
  owner = world.userToken(world.person('owner', 'owner'));
});
afterEach(() => world.close());

const errorType = (answered: { body: { error: { type: string } } }) => answered.body.error.type;
const fields = (answered: { body: { error: { details: { errors: { field: string }[] } } } }) =>
  answered.body.error.details.errors.map((error) => error.field);

function founderOf(company: number, tier = 'founder'): { no: number; token: string } {
  const no = world.person(tier);
  world.rows(
    'INSERT INTO company_members (company_no, user_no, tier) VALUES (?, ?, ?) RETURNING 1',
    company,
    no,
    tier,
  );
  return { no, token: world.userToken(no) };
}

describe('app-wide endpoints', () => {
  test('WHE-01 reading endpoints requires read:webhooks, writing requires write:webhooks', async () => {
    const person = world.person('dev', 'developer');
    const reader = world.userToken(person, 'live', ['read:webhooks']);
    const stranger = world.userToken(person, 'live', ['read:profile']);
    const { id } = await createEndpoint(world, owner, url, events);
    const calls: [string, string, number][] = [
      ['GET', '/webhook_endpoints', 200],
      ['GET', `/webhook_endpoints/${id}`, 200],
      ['POST', '/webhook_endpoints', 403],
      ['PATCH', `/webhook_endpoints/${id}`, 403],
      ['DELETE', `/webhook_endpoints/${id}`, 403],
      ['POST', `/webhook_endpoints/${id}/rotate_secret`, 403],
      ['POST', `/webhook_endpoints/${id}/reenable`, 403],
      ['POST', `/webhook_endpoints/${id}/test`, 403],
    ];
    for (const [method, path, status] of calls) {
      const answered = await world.send(method, path, reader);
      expect([method, path, answered.status]).toEqual([method, path, status]);
      if (status === 403) expect(errorType(answered)).toBe('insufficient_scope');
      const refused = await world.send(method, path, stranger);
      expect([refused.status, errorType(refused)]).toEqual([403, 'insufficient_scope']);
    }
  });

  test('WHE-02 an owner, admin or developer may manage endpoints, a viewer or stranger gets forbidden_role', async () => {
    const { id } = await createEndpoint(world, owner, url, events);
    const calls: [string, string][] = [
      ['GET', '/webhook_endpoints'],
      ['GET', `/webhook_endpoints/${id}`],
      ['POST', '/webhook_endpoints'],
      ['PATCH', `/webhook_endpoints/${id}`],
      ['POST', `/webhook_endpoints/${id}/rotate_secret`],
      ['POST', `/webhook_endpoints/${id}/reenable`],
      ['POST', `/webhook_endpoints/${id}/test`],
      ['DELETE', `/webhook_endpoints/${id}`],
    ];
    for (const person of [world.person('viewer', 'viewer'), world.person('stranger')]) {
      for (const [method, path] of calls) {
        const answered = await world.send(method, path, world.userToken(person));
        expect([path, answered.status, errorType(answered)]).toEqual([path, 403, 'forbidden_role']);
      }
    }
    for (const role of ['owner', 'admin', 'developer'] as const) {
      const token = world.userToken(world.person(role, role));
      expect((await world.send('GET', `/webhook_endpoints/${id}`, token)).status).toBe(200);
      expect((await world.send('PATCH', `/webhook_endpoints/${id}`, token, { events })).status).toBe(200);
    }
  });

  test('WHE-03 WHE-04 an endpoint has its documented attributes, including health', async () => {
    const { id } = await createEndpoint(world, owner, url, events);
    const answered = await world.send('GET', `/webhook_endpoints/${id}`, owner);
    expect(answered.body).toEqual({
      data: {
        id,
        type: 'webhook_endpoint',
        attributes: {
          url,
          url_hint: 'hooks.example.com…123456',
          installation: null,
          mode: 'live',
          events,
          enabled: true,
          failing_since: null,
          last_delivery_at: null,
          last_delivery_status: null,
          created_at: '2026-11-02T09:00:00.000Z',
        },
      },
      meta: { request_id: answered.headers.get('x-service-request-id') },
    });
    expect(id).toMatch(/^whe_/);
  });

  test('WHE-05 SEC-06 the list of endpoints has count, quota and request_id in meta, and no secret', async () => {
    await createEndpoint(world, owner, url, events);
    await createEndpoint(world, owner, url, events, { mode: 'test' });
    const answered = await world.send('GET', '/webhook_endpoints', owner);
    expect(answered.body.meta).toEqual({
      count: 2,
      quota: 10,
      request_id: answered.headers.get('x-service-request-id'),
    });
    expect(answered.body.data.map((it: { attributes: { mode: string } }) => it.attributes.mode)).toEqual([
      'live',
      'test',
    ]);
    expect(JSON.stringify(answered.body)).not.toContain('whsec_');
  });

  test('CONV-13 WHE-06 SEC-06 creating an endpoint returns 201 with a secret that no read shows again', async () => {
    const answered = await world.send('POST', '/webhook_endpoints', owner, { url, events });
    expect(answered.status).toBe(201);
    expect(answered.body.data.attributes).toMatchObject({ url, mode: 'live', events, enabled: true });
    expect(answered.body.data.attributes.secret).toMatch(/^whsec_[0-9A-Za-z]{40}$/);
    const path = `/webhook_endpoints/${answered.body.data.id}`;
    for (const again of [
      await world.send('GET', path, owner),
      await world.send('PATCH', path, owner, { events }),
      await world.send('POST', `${path}/reenable`, owner),
    ]) {
      expect(again.status).toBe(200);
      expect(JSON.stringify(again.body)).not.toContain('whsec_');
    }
    expect((await fetch(`${world.url}/webhook_endpoints`, { method: 'POST' })).status).toBe(401);
  });

  test('WHE-07 creating an endpoint with a bad URL, missing, empty or unknown events or an invalid mode returns 422 with details.errors', async () => {
    const bad: [unknown, string][] = [
      [{ events }, 'url'],
      [{ url: 'not a url', events }, 'url'],
      [{ url: 'http://hooks.example.com/', events }, 'url'],
      [{ url: null, events }, 'url'],
      [{ url }, 'events'],
      [{ url, events: null }, 'events'],
      [{ url, events: [] }, 'events'],
      [{ url, events: 'investment.changed' }, 'events'],
      [{ url, events: ['investment.changed', 'investment.vanished'] }, 'events.1'],
      [{ url, events, mode: 'sandbox' }, 'mode'],
      [{ url, events, mode: null }, 'mode'],
    ];
    for (const [body, field] of bad) {
      const answered = await world.send('POST', '/webhook_endpoints', owner, body);
      expect([body, answered.status, errorType(answered), fields(answered)]).toEqual([
        body,
        422,
        'validation_error',
        [field],
      ]);
    }
    expect(world.rows('SELECT 1 FROM webhook_endpoints')).toEqual([]);
  });

  test('WHE-07 SEC-07 a name that resolves to a private address is refused on create and on PATCH', async () => {
    const inward = await startWebhookPlatform({ resolve: async () => [{ address: '10.0.0.5', family: 4 }] });
    const token = inward.userToken(inward.person('owner', 'owner'));
    const refused = await inward.send('POST', '/webhook_endpoints', token, { url, events });
    expect([refused.status, fields(refused)]).toEqual([422, ['url']]);
    const { id } = await createEndpoint(inward, token, 'https://8.8.8.8/in', events);
    const patched = await inward.send('PATCH', `/webhook_endpoints/${id}`, token, { url });
    expect([patched.status, fields(patched)]).toEqual([422, ['url']]);
    await inward.close();
  });

  test('SEC-07 plain HTTP and private addresses are refused on create and on PATCH', async () => {
    const strict = await startWebhookPlatform({ options: { loopbackWebhooks: 'control' } });
    const token = strict.userToken(strict.person('owner', 'owner'));
    const { id } = await createEndpoint(strict, token, url, events);
    for (const bad of [
      'http://127.0.0.1:9/x',
      'http://localhost:9/x',
      'http://[::1]:9/x',
      'http://2130706433:9/x',
      'http://0x7f.1:9/x',
      'http://127.1:9/x',
      'https://localhost/x',
      'https://192.168.1.1/',
      'https://[::1]/',
    ]) {
      const made = await strict.send('POST', '/webhook_endpoints', token, { url: bad, events });
      const changed = await strict.send('PATCH', `/webhook_endpoints/${id}`, token, { url: bad });
      expect([bad, made.status, changed.status]).toEqual([bad, 422, 422]);
    }
    expect((await strict.send('GET', `/webhook_endpoints/${id}`, token)).body.data.attributes.url).toBe(url);
    await strict.close();
  });

  test('WHE-08 ten app-wide endpoints of both modes fit, the eleventh returns 422, and removing one makes room', async () => {
    const ids = [];
    for (let made = 0; made < 10; made++) {
      const mode = made % 2 === 0 ? 'live' : 'test';
      ids.push((await createEndpoint(world, owner, `${url}${made}`, events, { mode })).id);
    }
    const over = await world.send('POST', '/webhook_endpoints', owner, { url, events });
    expect([over.status, errorType(over)]).toEqual([422, 'validation_error']);
    expect(over.body.error.details.errors[0].code).toBe('quota_reached');
    await world.send('DELETE', `/webhook_endpoints/${ids[0]}`, owner);
    expect((await world.send('POST', '/webhook_endpoints', owner, { url, events })).status).toBe(201);
  });

  test('WHE-09 an unknown endpoint and one of another application return 404', async () => {
    const other = world.otherApplication();
    const { no } = world.install({ on: 'company', targetNo: world.company('Acme'), application: other });
    world.rows(
      `INSERT INTO webhook_endpoints (id, application_no, installation_no, mode, url, created_at)
       VALUES ('whe_theirs', ?, NULL, 'live', ?, 0), ('whe_bound', ?, ?, 'live', ?, 0) RETURNING 1`,
      other,
      url,
      other,
      no,
      url,
    );
    for (const id of ['whe_nothing', 'whe_theirs', 'whe_bound']) {
      for (const [method, path] of [
        ['GET', ''],
        ['PATCH', ''],
        ['DELETE', ''],
        ['POST', '/rotate_secret'],
        ['POST', '/reenable'],
        ['POST', '/test'],
      ] as const) {
        const answered = await world.send(method, `/webhook_endpoints/${id}${path}`, owner);
        expect([id, method, path, answered.status, errorType(answered)]).toEqual([
          id,
          method,
          path,
          404,
          'not_found',
        ]);
      }
    }
  });

  test('WHE-10 WHE-11 PATCH changes the url, replaces all events, and refuses an empty list or null', async () => {
    const { id } = await createEndpoint(world, owner, url, events);
    const path = `/webhook_endpoints/${id}`;
    const moved = await world.send('PATCH', path, owner, { url: `${url}/2` });
    expect(moved.body.data.attributes).toMatchObject({ url: `${url}/2`, events });
    const replaced = await world.send('PATCH', path, owner, {
      events: ['offering.opened', 'investment.changed'],
    });
    expect(replaced.body.data.attributes.events).toEqual(['offering.opened', 'investment.changed']);
    for (const bad of [[], null, ['nothing.happened']]) {
      expect((await world.send('PATCH', path, owner, { events: bad })).status).toBe(422);
    }
    const kept = await world.send('PATCH', path, owner);
    expect(kept.body.data.attributes).toMatchObject({
      url: `${url}/2`,
      events: ['offering.opened', 'investment.changed'],
    });
  });

  test('WHE-12 DELETE returns removed:true and is final', async () => {
    const { id } = await createEndpoint(world, owner, url, events);
    const answered = await world.send('DELETE', `/webhook_endpoints/${id}`, owner);
    expect([answered.status, answered.body]).toEqual([
      200,
      { data: { id, type: 'webhook_endpoint', removed: true } },
    ]);
    expect((await world.send('DELETE', `/webhook_endpoints/${id}`, owner)).status).toBe(404);
    expect((await world.send('GET', `/webhook_endpoints/${id}`, owner)).status).toBe(404);
    expect((await world.send('GET', '/webhook_endpoints', owner)).body.meta.count).toBe(0);
    expect(world.rows('SELECT 1 FROM webhook_secrets')).toEqual([]);
  });

  test('WHE-13 rotate returns 200 with a new secret, which nothing shows again', async () => {
    const { id, secret } = await createEndpoint(world, owner, url, events);
    const rotated = await world.send('POST', `/webhook_endpoints/${id}/rotate_secret`, owner);
    expect(rotated.status).toBe(200);
    expect(rotated.body.data.attributes.secret).toMatch(/^whsec_/);
    expect(rotated.body.data.attributes.secret).not.toBe(secret);
    expect(JSON.stringify((await world.send('GET', `/webhook_endpoints/${id}`, owner)).body)).not.toContain(
      'whsec_',
    );
  });

  test('WHE-14 reenable is idempotent, enables the endpoint and clears the failure streak', async () => {
    const { id } = await createEndpoint(world, owner, url, events);
    world.rows('UPDATE webhook_endpoints SET enabled = 0, failing_since = 5 RETURNING 1');
    for (let round = 0; round < 2; round++) {
      const answered = await world.send('POST', `/webhook_endpoints/${id}/reenable`, owner);
      expect(answered.status).toBe(200);
      expect(answered.body.data.attributes).toMatchObject({ enabled: true, failing_since: null });
    }
  });
});

describe('endpoints over the sandbox API', () => {
  test('WHE-19 create, update, delete and rotate on the sandbox API return 403 manage_endpoints_on_live_api', async () => {
    const { id } = await createEndpoint(world, owner, url, events, { mode: 'test' });
    const sandboxOwner = world.userToken(world.person('owner', 'owner'), 'test');
    for (const [method, path] of [
      ['POST', '/webhook_endpoints'],
      ['PATCH', `/webhook_endpoints/${id}`],
      ['DELETE', `/webhook_endpoints/${id}`],
      ['POST', `/webhook_endpoints/${id}/rotate_secret`],
    ] as const) {
      const answered = await world.send(method, path, sandboxOwner, { url, events });
      expect([path, answered.status, errorType(answered)]).toEqual([
        path,
        403,
        'manage_endpoints_on_live_api',
      ]);
    }
  });

  test('WHE-20 the sandbox API mirrors endpoints of mode test under the same id, and no live ones', async () => {
    const mirrored = await createEndpoint(world, owner, url, events, { mode: 'test' });
    const live = await createEndpoint(world, owner, url, events);
    const token = world.userToken(world.person('owner', 'owner'), 'test');
    const list = await world.send('GET', '/webhook_endpoints', token);
    expect(list.body.data.map((it: { id: string }) => it.id)).toEqual([mirrored.id]);
    expect(list.body.meta.count).toBe(1);
    expect((await world.send('GET', `/webhook_endpoints/${live.id}`, token)).status).toBe(404);
    expect((await world.send('POST', `/webhook_endpoints/${live.id}/reenable`, token)).status).toBe(404);
  });

  test('WHE-21 reads, test sends and reenable need no role on the sandbox API', async () => {
    const receiver = await startReceiver();
    const { id } = await createEndpoint(world, owner, receiver.url, events, { mode: 'test' });
    world.rows('UPDATE webhook_endpoints SET enabled = 0 RETURNING 1');
    const token = world.userToken(world.person('stranger'), 'test');
    expect((await world.send('GET', '/webhook_endpoints', token)).body.meta.count).toBe(1);
    expect((await world.send('GET', `/webhook_endpoints/${id}`, token)).status).toBe(200);
    expect((await world.send('POST', `/webhook_endpoints/${id}/test`, token)).body.data.delivered).toBe(true);
    const enabled = await world.send('POST', `/webhook_endpoints/${id}/reenable`, token);
    expect(enabled.body.data.attributes.enabled).toBe(true);
    await receiver.close();
  });
});

describe('bound endpoints', () => {
  let company: number;
  let install: ReturnType<WebhookPlatform['install']>;
  beforeEach(() => {
    company = world.company('Acme');
    install = world.install({ on: 'company', targetNo: company, tier: 'admin' });
  });

  test('WHE-22 binding to an unknown, revoked, foreign or sandbox installation returns 404', async () => {
    const founder = founderOf(company);
    const revoked = world.install({ on: 'company', targetNo: world.company('Gone') });
    world.rows('UPDATE installations SET revoked_at = 1 WHERE no = ? RETURNING 1', revoked.no);
    const foreign = world.install({
      on: 'company',
      targetNo: company,
      application: world.otherApplication(),
    });
    const sandbox = world.install({ on: 'company', targetNo: world.company('T', 'test'), realm: 'test' });
    for (const installation of ['inst_nothing', revoked.id, foreign.id, sandbox.id]) {
      const answered = await world.send('POST', '/webhook_endpoints', founder.token, {
        url,
        events,
        installation,
      });
      expect([answered.status, errorType(answered)]).toEqual([404, 'not_found']);
    }
    const made = await world.send('POST', '/webhook_endpoints', founder.token, {
      url,
      events,
      installation: install.id,
    });
    expect([made.status, made.body.data.attributes.installation]).toEqual([201, install.id]);
  });

  test('WHE-22 an installation that is revoked while its URL is looked up gets no endpoint', async () => {
    const slow = await startWebhookPlatform({
      resolve: async () => {
        slow.rows('UPDATE installations SET revoked_at = 1 RETURNING 1');
        return [publicAddress];
      },
    });
    onTestFinished(() => slow.close());
    const { token } = slow.install({ on: 'company', targetNo: slow.company('Acme') });
    const answered = await slow.send('POST', '/webhook_endpoints', token, { url, events });
    expect([answered.status, errorType(answered)]).toEqual([404, 'not_found']);
    expect(slow.rows('SELECT 1 FROM webhook_endpoints')).toEqual([]);
  });

  test('WHE-23 an installation token binds an endpoint to its own installation, with or without naming it', async () => {
    const other = world.install({ on: 'company', targetNo: world.company('Other') });
    const made = await world.send('POST', '/webhook_endpoints', install.token, { url, events });
    expect([made.status, made.body.data.attributes.installation]).toEqual([201, install.id]);
    const same = await world.send('POST', '/webhook_endpoints', install.token, {
      url: `${url}/2`,
      events,
      installation: install.id,
    });
    expect(same.body.data.attributes.installation).toBe(install.id);
    const foreign = await world.send('POST', '/webhook_endpoints', install.token, {
      url,
      events,
      installation: other.id,
    });
    expect(foreign.status).toBe(404);
  });

  test('WHE-24 a person binds an endpoint where their role is at or above the tier', async () => {
    const body = { url, events, installation: install.id };
    for (const [tier, status] of [
      ['founder', 201],
      ['admin', 200],
    ] as const) {
      const answered = await world.send('POST', '/webhook_endpoints', founderOf(company, tier).token, body);
      expect([tier, answered.status]).toEqual([tier, status]);
    }
    const editor = await world.send('POST', '/webhook_endpoints', founderOf(company, 'editor').token, body);
    expect([editor.status, errorType(editor)]).toEqual([403, 'forbidden_role']);
    const elsewhere = founderOf(world.company('Elsewhere'));
    expect((await world.send('POST', '/webhook_endpoints', elsewhere.token, body)).status).toBe(403);

    const syndicate = world.syndicate('Angels');
    const onSyndicate = world.install({ on: 'syndicate', targetNo: syndicate });
    for (const [permission, status] of [
      ['full_access', 201],
      ['operator', 403],
    ] as const) {
      const person = world.person('manager');
      world.rows(
        'INSERT INTO syndicate_managers VALUES (?, ?, ?) RETURNING 1',
        syndicate,
        person,
        permission,
      );
      const answered = await world.send('POST', '/webhook_endpoints', world.userToken(person), {
        url,
        events,
        installation: onSyndicate.id,
      });
      expect([permission, answered.status]).toEqual([permission, status]);
    }
  });

  test('WHE-25 a token bound to one company can use only that company’s endpoints', async () => {
    const mine = await createEndpoint(world, install.token, url, events);
    const other = world.install({ on: 'company', targetNo: world.company('Other') });
    const theirs = await createEndpoint(world, other.token, url, events);
    const appWide = await createEndpoint(world, owner, url, events);
    const list = await world.send('GET', '/webhook_endpoints', install.token);
    expect(list.body.data.map((it: { id: string }) => it.id)).toEqual([mine.id]);
    expect(list.body.meta).toMatchObject({ count: 1, quota: 5 });
    for (const id of [theirs.id, appWide.id]) {
      for (const [method, path] of [
        ['GET', ''],
        ['PATCH', ''],
        ['DELETE', ''],
        ['POST', '/rotate_secret'],
        ['POST', '/reenable'],
        ['POST', '/test'],
      ] as const) {
        const answered = await world.send(method, `/webhook_endpoints/${id}${path}`, install.token);
        expect([method, path, answered.status]).toEqual([method, path, 404]);
      }
    }
  });

  test('WHE-26 WHE-28 creating a bound endpoint of mode test returns 422 on mode', async () => {
    const answered = await world.send('POST', '/webhook_endpoints', install.token, {
      url,
      events,
      mode: 'test',
    });
    expect([answered.status, fields(answered)]).toEqual([422, ['mode']]);
  });

  test('WHE-27 WHE-28 an installation has five bound endpoints, the sixth returns 422, and the app-wide quota ignores them', async () => {
    for (let made = 0; made < 5; made++) await createEndpoint(world, install.token, `${url}${made}`, events);
    const sixth = await world.send('POST', '/webhook_endpoints', install.token, { url, events });
    expect([sixth.status, sixth.body.error.details.errors[0].code]).toEqual([422, 'quota_reached']);
    for (let made = 0; made < 10; made++) await createEndpoint(world, owner, `${url}${made}`, events);
    const other = world.install({ on: 'company', targetNo: world.company('Other') });
    expect((await world.send('POST', '/webhook_endpoints', other.token, { url, events })).status).toBe(201);
  });

  test('WHE-29 repeating a create returns 200 without secret or url, and 409 conflict with other events', async () => {
    const { id } = await createEndpoint(world, install.token, url, events);
    const again = await world.send('POST', '/webhook_endpoints', install.token, {
      url,
      events: [...events].reverse(),
    });
    expect([again.status, again.body.data.id]).toEqual([200, id]);
    expect(again.body.data.attributes).not.toHaveProperty('url');
    expect(again.body.data.attributes).not.toHaveProperty('secret');
    const other = await world.send('POST', '/webhook_endpoints', install.token, {
      url,
      events: ['offering.opened'],
    });
    expect([other.status, errorType(other)]).toEqual([409, 'conflict']);
    const next = await createEndpoint(world, install.token, `${url}/2`, events);
    const moved = await world.send('PATCH', `/webhook_endpoints/${next.id}`, install.token, { url });
    expect([moved.status, errorType(moved)]).toEqual([409, 'conflict']);
    expect(world.rows('SELECT 1 FROM webhook_endpoints')).toHaveLength(2);
  });

  test('WHE-30 only the create response has the url; later reads have a hint', async () => {
    const made = await world.send('POST', '/webhook_endpoints', install.token, { url, events });
    expect(made.body.data.attributes).toMatchObject({ url, url_hint: 'hooks.example.com…123456' });
    const path = `/webhook_endpoints/${made.body.data.id}`;
    for (const [method, on] of [
      ['GET', path],
      ['PATCH', path],
      ['POST', `${path}/reenable`],
      ['POST', `${path}/rotate_secret`],
    ] as const) {
      const answered = await world.send(method, on, install.token);
      expect(answered.body.data.attributes).not.toHaveProperty('url');
      expect(answered.body.data.attributes.url_hint).toBe('hooks.example.com…123456');
    }
    expect(JSON.stringify((await world.send('GET', '/webhook_endpoints', install.token)).body)).not.toContain(
      '/in/',
    );
  });

  test('WHE-31 an organization role grants no rights on a bound endpoint, and the portal’s write actions return 403 bound_endpoint', async () => {
    const { id } = await createEndpoint(world, install.token, url, events);
    const appWide = await createEndpoint(world, owner, url, events);
    expect((await world.send('GET', `/webhook_endpoints/${id}`, owner)).status).toBe(404);
    expect((await world.send('DELETE', `/webhook_endpoints/${id}`, owner)).status).toBe(404);
    expect(
      (await world.send('GET', '/webhook_endpoints', owner)).body.data.map((it: { id: string }) => it.id),
    ).toEqual([appWide.id]);
    const refused = await world.send('POST', '/webhook_endpoints', owner, {
      url,
      events,
      installation: install.id,
    });
    expect([refused.status, errorType(refused)]).toEqual([403, 'forbidden_role']);
    const acts: PortalAct[] = [
      { kind: 'update', events: ['offering.opened'] },
      { kind: 'rotate' },
      { kind: 'reenable' },
      { kind: 'remove' },
    ];
    for (const act of acts) {
      expect(() => portalWrite(world.services, id, act)).toThrow(
        expect.objectContaining({ status: 403, type: 'bound_endpoint' }),
      );
      expect(() => portalWrite(world.services, appWide.id, act)).not.toThrow();
    }
    expect(
      (await world.send('GET', `/webhook_endpoints/${id}`, install.token)).body.data.attributes.events,
    ).toEqual(events);
  });

  test('WHE-32 with the switch off, creating a bound endpoint returns 403 bound_endpoints_not_enabled', async () => {
    const off = await startWebhookPlatform({ options: { boundEndpoints: false } });
    const bound = off.install({ on: 'company', targetNo: off.company('Acme') });
    const answered = await off.send('POST', '/webhook_endpoints', bound.token, { url, events });
    expect([answered.status, errorType(answered)]).toEqual([403, 'bound_endpoints_not_enabled']);
    const token = off.userToken(off.person('owner', 'owner'));
    const named = await off.send('POST', '/webhook_endpoints', token, {
      url,
      events,
      installation: bound.id,
    });
    expect(errorType(named)).toBe('bound_endpoints_not_enabled');
    expect((await off.send('POST', '/webhook_endpoints', token, { url, events })).status).toBe(201);
    await off.close();
  });
});

describe('test sends', () => {
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver.close());

  test('WHE-15 a test send without a body signs and sends the first subscribed event; a name chooses another', async () => {
    const { id, secret } = await createEndpoint(world, owner, receiver.url, [
      'offering.closed',
      'investment.created',
    ]);
    await world.send('POST', `/webhook_endpoints/${id}/test`, owner);
    await world.send('POST', `/webhook_endpoints/${id}/test`, owner, { event: 'investment.created' });
    expect(receiver.received.map((it) => it.envelope.event)).toEqual([
      'offering.closed',
      'investment.created',
    ]);
    expect(receiver.received[0]?.headers['service-signature']).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
    expect(secret).toMatch(/^whsec_/);
  });

  test('WHE-16 the result of a test send is flat data with the exact envelope as payload', async () => {
    const { id } = await createEndpoint(world, owner, receiver.url, events);
    receiver.answer(500);
    const answered = await world.send('POST', `/webhook_endpoints/${id}/test`, owner);
    expect(answered.status).toBe(200);
    const sent = receiver.received[0];
    expect(answered.body).toEqual({
      data: {
        type: 'webhook_test',
        delivered: false,
        response_code: 500,
        error: null,
        duration_ms: expect.any(Number),
        event: 'investment.changed',
        payload: sent?.envelope,
      },
      meta: { request_id: answered.headers.get('x-service-request-id') },
    });
    expect(JSON.stringify(answered.body.data.payload)).toBe(sent?.body);
    const dead = await createEndpoint(world, owner, 'http://127.0.0.1:1/', events);
    const unanswered = await world.send('POST', `/webhook_endpoints/${dead.id}/test`, owner);
    expect(unanswered.body.data).toMatchObject({
      delivered: false,
      response_code: null,
      error: 'connection_failed',
    });
  });

  test('WHE-17 a test send does not appear in health or history', async () => {
    const { id } = await createEndpoint(world, owner, receiver.url, events);
    receiver.answer(500);
    const before = (await world.send('GET', `/webhook_endpoints/${id}`, owner)).body.data;
    await world.send('POST', `/webhook_endpoints/${id}/test`, owner);
    expect((await world.send('GET', `/webhook_endpoints/${id}`, owner)).body.data).toEqual(before);
    expect(world.rows('SELECT 1 FROM webhook_deliveries')).toEqual([]);
    expect(world.rows('SELECT 1 FROM webhook_attempts')).toEqual([]);
  });

  test('WHE-18 RATE-07 testing an unsubscribed event returns 422, and the eleventh send of a minute 429, per endpoint', async () => {
    const { id } = await createEndpoint(world, owner, receiver.url, events);
    const other = await createEndpoint(world, owner, receiver.url, events);
    const send = (body?: unknown, endpoint = id) =>
      world.send('POST', `/webhook_endpoints/${endpoint}/test`, owner, body);
    for (const event of ['offering.opened', 'nothing.happened']) {
      const refused = await send({ event });
      expect([refused.status, fields(refused)]).toEqual([422, ['event']]);
    }
    for (let sent = 0; sent < 10; sent++) expect((await send()).status).toBe(200);
    const over = await send();
    expect([over.status, errorType(over)]).toEqual([429, 'rate_limit_exceeded']);
    expect(over.body.error.details).toEqual({ limit: 10, period: 'minute', retry_after: 60 });
    expect((await send(undefined, other.id)).status).toBe(200);
    world.clock.advance(minute);
    expect((await send()).status).toBe(200);
    expect(receiver.received).toHaveLength(12);
  });

  /** Sends a test of every event to a new endpoint. Returns what arrived. */
  async function everyExample() {
    const { id } = await createEndpoint(world, owner, receiver.url, eventNames);
    const arrived = [];
    for (const event of eventNames) {
      world.clock.advance(minute);
      expect((await world.send('POST', `/webhook_endpoints/${id}/test`, owner, { event })).status).toBe(200);
      arrived.push({ event, at: new Date(world.clock.now()).toISOString(), got: receiver.received.at(-1) });
    }
    expect(arrived).toHaveLength(eventNames.length);
    return arrived;
  }

  test('DELIV-07 DELIV-09 CONV-10 a test of any event has a test id and a test envelope', async () => {
    for (const { event, at, got } of await everyExample())
      expect(got?.envelope).toEqual({
        id: expect.stringMatching(/^evt_test_/),
        event,
        created_at: at,
        mode: 'live',
        installation: { id: 'inst_example', target: null, test: true },
        data: expect.any(Object),
      });
  });

  test('DELIV-08 a test of any event has example data with example ids', async () => {
    for (const { got } of await everyExample()) {
      const ids = got?.body.match(/"(?:inv|ofr|usr|co|syn|mem|is|inst|ref)_[^"]*"/g) ?? [];
      expect(ids.length).toBeGreaterThan(1);
      expect(ids.filter((found) => !found.includes('_example'))).toEqual([]);
    }
    const created = receiver.received.find((it) => it.envelope.event === 'investment.created');
    expect(created?.envelope.data).toMatchObject({
      id: 'inv_example',
      offering: 'ofr_example',
      investor: { id: 'usr_example' },
      amounts: { committed: 1000 },
    });
  });

  test('DELIV-05 DELIV-09 a test send to a bound endpoint has its real installation block, and mode gives the origin of real events', async () => {
    const company = world.company('Acme');
    const install = world.install({ on: 'company', targetNo: company });
    const { id } = await createEndpoint(world, install.token, receiver.url, events);
    await world.send('POST', `/webhook_endpoints/${id}/test`, install.token);
    const [target] = world.rows<{ id: string }>('SELECT id FROM companies WHERE no = ?', company);
    expect(receiver.received[0]?.envelope).toMatchObject({
      mode: 'live',
      installation: {
        id: install.id,
        target: { type: 'company', id: target?.id, name: 'Acme' },
        test: true,
      },
    });
    const ofTest = await createEndpoint(world, owner, receiver.url, events, { mode: 'test' });
    await world.send('POST', `/webhook_endpoints/${ofTest.id}/test`, owner);
    expect(receiver.received[1]?.envelope).toMatchObject({ mode: 'test', installation: { test: true } });
  });

  test('SEC-11 an example contains the name and email of the investor only if the app holds read:investors:pii', async () => {
    const { id } = await createEndpoint(world, owner, receiver.url, ['investment.created']);
    const investor = async () => {
      await world.send('POST', `/webhook_endpoints/${id}/test`, owner);
      return receiver.received.at(-1)?.envelope.data.investor;
    };
    expect(await investor()).toMatchObject({ name: 'Example Investor', email: 'investor@example.com' });
    world.rows(`UPDATE applications SET scopes = '["read:investments","read:webhooks"]' RETURNING 1`);
    expect(await investor()).toEqual({ id: 'usr_example' });
  });
});
