import { expect } from 'vitest';
import type { InvestmentId } from '../../src/domain/ids.js';
import type { Instant } from '../../src/domain/instant.js';
import { test } from './both-databases.js';
import { bytesOf, type Fixture, mirrorFixture } from './mirror-fixture.js';
import { identity, listingPage, record, tombstone } from './samples.js';

const accepted = { share: 1, rows: 0, accepted: true };
const receipts = ({ rows }: Fixture) => rows('SELECT id, cause FROM erasures ORDER BY erasure');
const residue = async ({ rows }: Fixture) => (await rows('SELECT * FROM identity_residue')).length;
const erasing = ({ erasures }: Fixture) => erasures;
const bytes = ({ store }: Fixture) => bytesOf(store);
const canary = (name: string) => identity(`CANARY-${name}`, { bio: `CANARY-${name}-${'x'.repeat(900)}` });

test('a record missing from a re-listing leaves a receipt only if it had an identity to erase', async () => {
  const fixture = await mirrorFixture();
  const nobody = record('inv_nobody', { investor_deactivated: true }, null);
  const stays = record('inv_stays');
  await fixture.list([[stays, record('inv_gone'), record('inv_forgotten'), record('inv_withdrawn'), nobody]]);
  await erasing(fixture).forget('inv_forgotten' as InvestmentId);
  const final = await fixture.collect([[stays, tombstone('inv_withdrawn')]], 'relist');
  const { applied } = await fixture.mirror.publishListing(fixture.lease, final, accepted);
  expect(applied).toMatchObject({ removed: 4, changed: 0, added: 0 });
  expect(await receipts(fixture)).toEqual([
    { id: 'inv_forgotten', cause: 'forget' },
    { id: 'inv_withdrawn', cause: 'tombstone' },
    { id: 'inv_gone', cause: 'absent' },
  ]);
  expect(await residue(fixture)).toBe(0);
});

test('an identity replaced by a re-listing requests a scrub, after which no file contains any byte of it', async () => {
  const fixture = await mirrorFixture();
  const crowd = Array.from({ length: 200 }, (_, n) => record(`inv_${n}`, {}, canary(`kept${n}`)));
  await fixture.list([
    crowd,
    [record('inv_new_name', {}, canary('before')), record('inv_gone', {}, canary('gone'))],
  ]);
  expect(await residue(fixture)).toBe(0);
  await fixture.list(
    [crowd, [record('inv_new_name', {}, canary('after')), record('inv_gone', {}, canary('gone'))]],
    'relist',
  );
  expect(await receipts(fixture)).toEqual([]);
  expect(await residue(fixture)).toBe(1);
  await fixture.list([crowd, [record('inv_new_name', {}, canary('after'))]], 'relist', accepted);
  // The receipt of the newly erased identity does not cover the residue from before.
  expect(await receipts(fixture)).toEqual([{ id: 'inv_gone', cause: 'absent' }]);
  expect(await residue(fixture)).toBe(1);
  expect(await erasing(fixture).scrub()).toEqual({ kind: 'scrubbed', erasures: 2 });
  const left = await bytes(fixture);
  expect(left).toContain('CANARY-after');
  expect(left).toContain('CANARY-kept7');
  expect(left).not.toMatch(/CANARY-(before|gone)/);
});

test('a staged version that a later page contradicts requests a scrub, whichever version wins', async () => {
  for (const later of [
    record('inv_1', {}, canary('second')),
    record('inv_1', {}, canary('held')),
    tombstone('inv_1'),
  ]) {
    const fixture = await mirrorFixture();
    await fixture.list([[record('inv_1', {}, canary('held')), record('inv_2')]]);
    const { mirror, lease } = fixture;
    await mirror.beginListing(lease, { kind: 'relist', fingerprint: 'f1', restarts: 0, notBefore: null });
    await mirror.addListingPage(lease, listingPage([record('inv_1', {}, canary('first'))], 'p1', true));
    expect(await erasing(fixture).pending()).toMatchObject({ receipts: 0, residue: false });
    await mirror.addListingPage(lease, listingPage([later, record('inv_2')], 'p2'));
    const { receipts: asked, residue: marked } = await erasing(fixture).pending();
    expect(asked > 0 || marked).toBe(true);
    expect((await erasing(fixture).scrub()).kind).toBe('scrubbed');
    expect(await bytes(fixture)).not.toContain('CANARY-first');
    await mirror.publishListing(lease, 'p2' as never, accepted);
    const expected = later.kind === 'record' ? [{ id: 'inv_1', name: later.identity?.name }] : [];
    expect(await fixture.rows("SELECT id, name FROM identities WHERE id = 'inv_1'")).toEqual(expected);
  }
});

test('a re-listing of a mirror without identity writes none and reports no difference for it', async () => {
  const fixture = await mirrorFixture({ identity: 'drop' });
  await fixture.list([[record('inv_1'), record('inv_2')]]);
  expect(await erasing(fixture).dropAll()).toBe(1);
  await fixture.list([[record('inv_1', {}, null), record('inv_2', { shares: '9' }, null)]], 'relist');
  expect(await fixture.rows('SELECT id, fields FROM changes WHERE seq > 1')).toEqual([
    { id: 'inv_2', fields: '["shares"]' },
  ]);
  expect(await fixture.rows('SELECT * FROM identities')).toEqual([]);
  expect(await fixture.rows('SELECT identity_included FROM sources')).toEqual([{ identity_included: null }]);
  expect(await receipts(fixture)).toEqual([{ id: null, cause: 'dropped' }]);
});

test('a re-listing keeps history_from and adds the versions it superseded to history', async () => {
  const fixture = await mirrorFixture();
  const version = (shares: string) => [[record('inv_1', { shares }), record('inv_2')]];
  await fixture.list(version('1'));
  await fixture.list(version('2'), 'relist');
  const [{ valid_from: then }] = (await fixture.rows(
    "SELECT valid_from FROM investments WHERE id = 'inv_1'",
  )) as [{ valid_from: Instant }];
  expect(await fixture.purgeHistory('2027-01-01T00:00:00.000Z' as Instant)).toBe(1);
  await fixture.list(version('3'), 'relist');
  expect(await fixture.rows('SELECT history_from FROM sync_status')).toEqual([{ history_from: then }]);
  expect(await fixture.rows('SELECT id, shares, valid_from, ended_by FROM investment_history')).toEqual([
    { id: 'inv_1', shares: '2', valid_from: then, ended_by: 'update' },
  ]);
});
