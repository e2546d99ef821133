import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { State } from '../../../src/platform/state/database.js';
import { all, one, run } from '../../../src/platform/state/statements.js';
import { challenge, Visitor } from '../../conformance/credentials.js';
import {
  type Answered,
  company,
  type RunningPlatform,
  startNewlySeeded,
  user,
} from '../../conformance/running-platform.js';
import { startReceiver } from '../webhooks/receiver.js';

let world: RunningPlatform;
beforeEach(async () => {
  world = await startNewlySeeded({ limits: false });
});
afterEach(() => world.close());

const liveCompany = () => {
  const [found] = world.ready.live.companies;
  if (found === undefined) throw new Error('no live company');
  return found;
};
const errorOf = ({ status, body }: Answered): [number, string] => [status, body.error?.type];

test('the live realm has companies, a syndicate and tokens that work', async () => {
  const { id, token, tokenWithoutIdentity, offering, investments, installation } = liveCompany();
  expect(token).toMatch(/^at_live_/);
  const listed = await world.get('/investments?per_page=100', { token });
  expect(listed.status).toBe(200);
  expect(listed.body.data.length).toBeGreaterThan(0);
  expect(listed.body.data.length).toBeLessThanOrEqual(investments);
  expect(new Set(listed.body.data.map((record: { company: string }) => record.company))).toEqual(
    new Set([id]),
  );
  expect(listed.body.data[0].investor.name).toEqual(expect.any(String));
  const masked = await world.get('/investments', { token: tokenWithoutIdentity });
  expect(masked.body.data[0].investor.name).toBeUndefined();
  expect((await world.get(`/offerings/${offering}/stats`, { token })).status).toBe(200);
  const [syndicate] = world.ready.live.syndicates;
  for (const credential of [syndicate?.token, syndicate?.key]) {
    const members = await world.get(`/syndicates/${syndicate?.id}/members`, { token: credential ?? '' });
    expect([members.status, members.body.data.length > 1]).toEqual([200, true]);
  }
  const founder = world.ready.users.find((person) => person.id === liveCompany().founder);
  const installs = await world.get('/installations', { token: founder?.liveToken ?? '' });
  expect(installs.body.data.map((one: { id: string }) => one.id)).toContain(installation);
});

test('neither realm shows anything of the other', async () => {
  const [app] = world.ready.apps;
  const ids = async (key = '') => {
    const { body } = await world.get('/explore?status=all&per_page=100', { token: key });
    return body.data.map((offering: { company: string }) => offering.company) as string[];
  };
  const [test, live] = [await ids(app?.clientId), await ids(app?.live.clientId)];
  const liveIds = world.ready.live.companies.map(({ id }) => id);
  expect(new Set(live)).toEqual(new Set(liveIds));
  expect(test.length).toBeGreaterThan(5);
  expect(test.filter((id) => liveIds.includes(id))).toEqual([]);
  const across = (id: string, token: string) => world.get(`/companies/${id}`, { token });
  expect(errorOf(await across(liveCompany().id, company(world).token))).toEqual([404, 'not_found']);
  expect(errorOf(await across(company(world).id, liveCompany().token))).toEqual([404, 'not_found']);
  const founder = user(world, 2);
  const seen = async (token: string) =>
    (await world.get('/users/me/companies', { token })).body.data.map(({ id }: { id: string }) => id);
  expect(await seen(founder.token)).toEqual([company(world).id]);
  expect(await seen(founder.liveToken)).toEqual([liveCompany().id]);
});

test('WHE-22 an installation of the live realm binds a webhook endpoint and receives its events only', async () => {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const { id, installation, token } = liveCompany();
  const made = await world.post('/webhook_endpoints', {
    token,
    body: { url: receiver.url, events: ['investment.created'] },
  });
  expect([made.status, made.body.data.attributes.mode]).toEqual([201, 'live']);
  expect(made.body.data.attributes.installation).toBe(installation);
  await world.control('POST', '/investments', { company: company(world).id });
  await world.control('POST', '/investments', { company: id });
  const [got] = await receiver.count(1);
  expect(got?.envelope).toMatchObject({ mode: 'live', installation: { id: installation, test: false } });
  expect(receiver.received).toHaveLength(1);
});

test('APP-03 APP-04 the live key of the application without a review works for its own organization only', async () => {
  const { unreviewed } = world.ready.live;
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: unreviewed.live.clientId,
    redirect_uri: unreviewed.redirectUri,
    scope: 'read:profile',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  const path = `/oauth/authorize?${query}`;
  const asked = async (email: string) => {
    const visitor = new Visitor(world);
    await visitor.signIn(path, email);
    return String((await visitor.open(path)).body);
  };
  expect(await asked('ida@people.example')).toContain('not been reviewed');
  expect(await asked(unreviewed.owner.email)).toContain('value="approve"');
  const { owner } = unreviewed;
  expect((await world.get('/users/me', { token: owner.liveToken })).body.data.id).toBe(owner.id);
  await world.control('PATCH', `/applications/${unreviewed.live.clientId}`, { approved: true });
  expect(await asked('ida@people.example')).toContain('value="approve"');
});

test('a reset restores the live realm, and the same seed gives the same one', async () => {
  const before = world.ready.live;
  await world.control('POST', `/installations/${liveCompany().installation}/revoke`);
  expect((await world.get('/investments', { token: liveCompany().token })).status).toBe(401);
  const reset = await world.control('POST', '/reset');
  expect(reset.body.live).toEqual(before);
  expect((await world.get('/investments', { token: liveCompany().token })).status).toBe(200);
  const other = await startNewlySeeded({ seed: 2 });
  onTestFinished(() => other.close());
  expect(other.ready.live.companies[0]?.id).not.toBe(liveCompany().id);
});

/** Deletes rows whose parent is gone, and their children in turn. */
function deleteOrphans(state: State): void {
  const links = all<{ child: string; key: string; parent: string }>(
    state,
    `SELECT m.name AS child, f."from" AS key, f."table" AS parent
     FROM sqlite_master m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table'`,
  );
  for (let level = 0; level < 6; level += 1) {
    for (const { child, key, parent } of links) {
      const column = all<{ name: string }>(
        state,
        `SELECT name FROM pragma_table_info('${parent}') WHERE pk = 1`,
      )[0];
      state.exec(`DELETE FROM ${child} WHERE ${key} NOT IN (SELECT ${column?.name} FROM ${parent})`);
    }
  }
}

test('a data file of an earlier version gains the live realm and keeps its own', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-live-realm-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const dataFile = join(folder, 'platform.db');
  const first = await startNewlySeeded({ dataFile });
  const { companies } = first.ready;
  const { state } = first.services;
  // As an earlier version left it: no live realm, no further applications, and a document without them.
  state.pragma('foreign_keys = OFF');
  run(state, `DELETE FROM companies WHERE realm = 'live'`);
  run(state, `DELETE FROM syndicates WHERE realm = 'live'`);
  run(state, 'DELETE FROM organizations WHERE no > 1');
  run(state, `DELETE FROM users WHERE username IN ('newcomer', 'partner')`);
  run(state, `DELETE FROM access_tokens WHERE kind = 'syndicate_key'`);
  deleteOrphans(state);
  run(state, 'DELETE FROM ledger WHERE investment_no NOT IN (SELECT no FROM investments)');
  run(
    state,
    `UPDATE sandbox SET document = json_remove(document, '$.live', '$.attribution', '$.uninstalled')`,
  );
  await first.close();
  const second = await startNewlySeeded({ dataFile });
  expect(second.ready.companies).toEqual(companies);
  expect(second.ready.uninstalled).toEqual([]);
  const [live] = second.ready.live.companies;
  expect((await second.get('/investments', { token: live?.token ?? '' })).status).toBe(200);
  const document = one<{ document: string }>(second.services.state, 'SELECT document FROM sandbox')?.document;
  expect(JSON.parse(document ?? '{}').live).toEqual(second.ready.live);
  await second.close();
});

test('OAUTH-17 the seeded key of a syndicate reads it, and a control call creates another with fewer scopes', async () => {
  const [syndicate] = world.ready.syndicates;
  const path = `/syndicates/${syndicate?.id}`;
  expect((await world.get(path, { token: syndicate?.key ?? '' })).status).toBe(200);
  const made = await world.control('POST', `/syndicates/${syndicate?.id}/keys`, {
    scopes: ['read:syndicates'],
  });
  expect(made.status).toBe(201);
  const token = made.body.key;
  expect((await world.get(path, { token })).status).toBe(200);
  const refused = await world.patch(path, { token, body: { syndicate: { name: 'New' } } });
  expect(errorOf(refused)).toEqual([403, 'insufficient_scope']);
  const elsewhere = `/syndicates/${world.ready.syndicates[1]?.id}`;
  expect(errorOf(await world.get(elsewhere, { token }))).toEqual([403, 'forbidden']);
  await world.control('POST', '/clock', { advanceSeconds: 10 * 365 * 86_400 });
  expect((await world.get(path, { token })).status).toBe(200);
  expect((await world.control('POST', '/syndicates/syn_none/keys', {})).status).toBe(404);
  const beyond = await world.control('POST', `/syndicates/${syndicate?.id}/keys`, {
    scopes: ['write:referral_codes'],
  });
  expect([beyond.status, beyond.body.error.message]).toEqual([
    400,
    expect.stringContaining('referral_codes'),
  ]);
});
