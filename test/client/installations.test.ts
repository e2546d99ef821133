import { expect, test } from 'vitest';
import type { Api } from '../../src/client/api.js';
import { getInstallation, mintToken } from '../../src/client/installations.js';
import { type InstallationId, parseId } from '../../src/domain/ids.js';

const never = new AbortController().signal;
const [ours, theirs] = ['inst_ours', 'inst_theirs'].map(
  (id) => parseId('installation', id) as InstallationId,
) as [InstallationId, InstallationId];

/** A platform that answers every request with this installation and a token of it. */
const answering =
  (id: InstallationId): Api =>
  async () => {
    const target = { type: 'company', id: 'co_1', name: 'Acme' };
    const attributes = {
      target,
      status: 'active',
      scopes: [],
      tier: 'admin',
      installed_at: null,
      revoked_at: null,
    };
    const body = {
      data: { id, type: 'installation', attributes },
      token: { access_token: `at_live_${'a'.repeat(40)}`, scope: 'read:investments' },
    };
    return { status: 200, body, text: JSON.stringify(body) };
  };

test('installations: an answer about another installation is refused, and so is its token', async () => {
  expect((await getInstallation(answering(ours), ours, never)).id).toBe(ours);
  expect((await mintToken(answering(ours), ours, undefined, never)).installation.id).toBe(ours);
  const refusal = { code: 'contract_broken', message: expect.stringContaining('installation') };
  await expect(getInstallation(answering(theirs), ours, never)).rejects.toMatchObject(refusal);
  await expect(mintToken(answering(theirs), ours, undefined, never)).rejects.toMatchObject(refusal);
});
