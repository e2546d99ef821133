import nock from 'nock';
import { expect, test } from 'vitest';
import {
  getInstallation,
  install,
  listEligible,
  listInstallations,
  mintToken,
} from '../../src/client/installations.js';
import type { InstallationId } from '../../src/domain/ids.js';
import { api, host, onlyMocked, signal } from './nocked-api.js';

const id = 'inst_1' as InstallationId;

const data = {
  id,
  type: 'installation',
  attributes: {
    target: { type: 'company', id: 'co_1', name: 'Acme' },
    tier: 'founder',
    scopes: ['read:investments'],
    status: 'active',
    installed_at: '2026-10-20T09:30:04Z',
    installed_by: null,
    revoked_at: null,
  },
};
const minted = {
  data,
  token: {
    access_token: 'at_test_9',
    token_type: 'Bearer',
    scope: 'read:investments read:investors:pii',
    installation: id,
    created_at: 1792500000,
  },
  meta: null,
};

onlyMocked();

test('INST-03 installing returns the install with its token and the granted scopes', async () => {
  nock(host)
    .post('/installations', { target_type: 'company', target_id: 'co_1', scopes: ['read:investments'] })
    .reply(201, minted);
  expect(await install(api, 'co_1', ['read:investments'], signal)).toEqual({
    installation: {
      id,
      target: { type: 'company', id: 'co_1', name: 'Acme' },
      tier: 'founder',
      scopes: ['read:investments'],
      status: 'active',
      revokedAt: null,
    },
    accessToken: 'at_test_9',
    scopes: ['read:investments', 'read:investors:pii'],
  });
});

test('installing on an installed target returns another token with the same scopes', async () => {
  nock(host)
    .post('/installations', { target_type: 'company', target_id: 'co_1' })
    .reply(409, { error: { type: 'already_installed', message: 'Is.', details: { installation: id } } });
  nock(host).post('/installations/inst_1/tokens', '').reply(201, minted);
  expect((await install(api, 'co_1', undefined, signal)).accessToken).toBe('at_test_9');
});

test('CLIENT-03 the client reports any other conflict as conflict, whatever its message', async () => {
  nock(host)
    .post('/installations')
    .reply(409, { error: { type: 'conflict', message: 'already_installed', details: { installation: id } } });
  await expect(install(api, 'co_1', undefined, signal)).rejects.toMatchObject({
    code: 'refused',
    about: { type: 'conflict' },
  });
});

test('the client sends narrower scopes when it mints a token', async () => {
  nock(host)
    .post('/installations/inst_1/tokens', { scopes: ['read:companies'] })
    .reply(201, minted);
  expect((await mintToken(api, id, ['read:companies'], signal)).accessToken).toBe('at_test_9');
});

test('a token without a scope has those of its installation', async () => {
  const { scope: _, ...token } = minted.token;
  nock(host)
    .post('/installations/inst_1/tokens')
    .reply(201, { ...minted, token });
  expect((await mintToken(api, id, undefined, signal)).scopes).toEqual(['read:investments']);
});

test('a mint response without its token is contract_broken, and the error quotes nothing', async () => {
  nock(host)
    .post('/installations/inst_1/tokens')
    .reply(201, { data, token: { access_token: 'at\nx' } });
  await expect(mintToken(api, id, undefined, signal)).rejects.toThrow('no usable `access_token`');
});

test('the client lists eligible companies, one of them installed', async () => {
  nock(host)
    .get('/installations/eligible')
    .query({ target_type: 'company' })
    .reply(200, {
      data: [
        { type: 'company', id: 'co_1', name: 'Acme', tier: 'founder', installed: true, installation: data },
        { type: 'company', id: 'co_2', name: 'Beta', tier: 'editor', installed: false, installation: null },
        { type: 'company', id: 'co_3', name: 'Gone', tier: 'editor', installed: false, installation: data },
      ],
    });
  expect(await listEligible(api, signal)).toEqual([
    { type: 'company', id: 'co_1', name: 'Acme', tier: 'founder', installation: id },
    { type: 'company', id: 'co_2', name: 'Beta', tier: 'editor', installation: null },
    { type: 'company', id: 'co_3', name: 'Gone', tier: 'editor', installation: null },
  ]);
});

test('an eligible company without an id is contract_broken', async () => {
  nock(host)
    .get('/installations/eligible')
    .query({ target_type: 'company' })
    .reply(200, { data: [{ type: 'company', name: 'Acme' }] });
  await expect(listEligible(api, signal)).rejects.toThrow('a company has no usable `id`');
});

test('the client lists installations and reads one that was revoked', async () => {
  const revoked = {
    ...data,
    attributes: { ...data.attributes, status: 'revoked', revoked_at: '2026-11-01T00:00:00Z' },
  };
  nock(host)
    .get('/installations')
    .reply(200, { data: [data], meta: { count: 1 } });
  nock(host).get('/installations/inst_1').reply(200, { data: revoked });
  const { installations, isComplete } = await listInstallations(api, signal);
  expect(installations.map((one) => one.id)).toEqual([id]);
  expect(isComplete).toBe(true);
  expect(await getInstallation(api, id, signal)).toMatchObject({
    status: 'revoked',
    revokedAt: '2026-11-01T00:00:00Z',
  });
});

test('a list with fewer entries than the platform counted, or with one that cannot be read, is incomplete', async () => {
  nock(host)
    .get('/installations')
    .reply(200, { data: [data], meta: { count: 2 } });
  const short = await listInstallations(api, signal);
  expect(short.isComplete).toBe(false);
  expect(short.installations).toHaveLength(1);
  for (const unreadable of [{ type: 'installation' }, { ...data, id: 'co_1' }, null]) {
    nock(host)
      .get('/installations')
      .reply(200, { data: [unreadable, data], meta: { count: 2 } });
    const broken = await listInstallations(api, signal);
    expect(broken.isComplete).toBe(false);
    expect(broken.installations.map((one) => one.id)).toEqual([id]);
  }
});

test('a list of ten thousand installations is read', async () => {
  const many = Array.from({ length: 10_000 }, (_, index) => ({ ...data, id: `inst_${index}` }));
  nock(host)
    .get('/installations')
    .reply(200, { data: many, meta: { count: many.length } });
  const { installations, isComplete } = await listInstallations(api, signal);
  expect(isComplete).toBe(true);
  expect(installations).toHaveLength(10_000);
});
