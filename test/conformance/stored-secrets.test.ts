import { expect, test } from 'vitest';
import { all } from '../../src/platform/state/statements.js';
import {
  authorizePath,
  codeFor,
  exchange,
  makeClient,
  makeCompany,
  refresh,
  tokensFor,
  userToken,
  Visitor,
} from './credentials.js';
import { startPlatform } from './running-platform.js';

test('SEC-04 SEC-05 the database contains no issued secret in plain text, except test client secrets', async () => {
  const world = await startPlatform({ limits: false });
  const ida = 'ida@people.example';
  const client = makeClient(world);
  const live = makeClient(world, { realm: 'live' });
  const code = await codeFor(world, client, ida);
  const used = await codeFor(world, client, ida);
  const { body: first } = await exchange(world, client, used);
  const { body: second } = await refresh(world, client, first.refresh_token);
  const onLive = await tokensFor(world, live, ida);
  const company = makeCompany(world, { ida: ['founder'] });
  const installed = await world.post('/installations', {
    token: userToken(world, client, ida),
    body: { target_type: 'company', target_id: company.id },
  });
  const visitor = new Visitor(world);
  await visitor.signIn(authorizePath(client), ida);
  const given = [
    live.secret,
    code,
    used,
    first.access_token,
    first.refresh_token,
    second.access_token,
    second.refresh_token,
    onLive.access_token,
    onLive.refresh_token,
    installed.body.token.access_token,
    visitor.cookie.split('=')[1] ?? '',
    ...world.ready.companies.map((held) => held.token),
    ...world.ready.users.map((held) => held.token),
    ...world.ready.apps.map((app) => app.live.clientSecret),
  ];
  for (const secret of given) expect(secret.length).toBeGreaterThanOrEqual(40);
  const { state } = world.services;
  // The sandbox stores its ready document, which contains credentials on purpose. A platform has no such table.
  const tables = all<{ name: string }>(
    state,
    `SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'sandbox'`,
  );
  const dump = tables
    .flatMap(({ name }) => state.prepare(`SELECT * FROM "${name}"`).all())
    .map((row) => JSON.stringify(row))
    .join('\n');
  expect(dump).toContain(client.secret);
  expect(given.filter((secret) => dump.includes(secret))).toEqual([]);
  await world.close();
});
