import { expect, onTestFinished, test, vi } from 'vitest';
import { startEngine } from '../../src/daemon/engine.js';
import { readPart } from '../../src/daemon/read-part.js';
import { syncSources } from '../../src/daemon/sync-sources.js';
import type { InvestmentId, OfferingId } from '../../src/domain/ids.js';
import { syncPart } from '../../src/tasks/sync-part.js';
import { openRaw } from '../support/open-raw.js';
import { configFor, freshFolder, partsFor, sandboxFor } from './daemon-fixture.js';

const never = new AbortController().signal;

test('no record is read by itself while another process lists the source again, and that listing is published', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 120 });
  const folder = freshFolder();
  const config = configFor(sandbox, { folder });
  const parts = partsFor(config);
  const engine = await startEngine({ ...parts, asksGrants: false });
  onTestFinished(() => engine.close());
  const [source] = config.sources;
  if (source === undefined) throw new Error('a configuration without a source');
  const tick = () => engine.sync.tick(source.name);
  expect((await tick()).phase?.kind).toBe('following');
  const raw = openRaw(`${folder}/mirror.db`);
  onTestFinished(() => void raw.close());
  const count = () => raw.prepare('SELECT count(*) FROM investments').pluck().get();
  const before = count();

  // A record that the mirror lacks, as one that was unreadable until now.
  const [own] = await syncSources(config, [source], engine.platform);
  if (own === undefined) throw new Error('a source without a feed');
  const page = (await own.feed('routine').page({ kind: 'start' }, never)).parse();
  const missing = page.items[0]?.kind === 'record' ? page.items[0].investment.id : ('' as InvestmentId);
  raw.exec(
    `DELETE FROM investment_rows WHERE id = '${missing}'; UPDATE sources SET rows_held = rows_held - 1;`,
  );
  const { mirror } = engine.mirror;
  const { fingerprint } = own.identity;
  const { lease } = await mirror.open(own.identity, 'another process');
  await mirror.beginListing(lease, { kind: 'relist', fingerprint, restarts: 0, notBefore: null });
  await mirror.addListingPage(lease, page);
  await mirror.release(lease);

  await expect(
    readPart(source, { kind: 'investment', id: missing }, parts, engine, never),
  ).rejects.toMatchObject({ code: 'stopped', message: 'c0 is not listed completely yet' });
  expect((await tick()).report).toMatchObject({ outcome: 'done', mode: 'relisting' });
  expect(count()).toBe(before);
});

test('the round of a record that is read by itself is reported, so that an unknown one is listed', async () => {
  const sandbox = await sandboxFor({ companies: 1, records: 5 });
  const folder = freshFolder();
  const config = configFor(sandbox, { folder });
  const parts = partsFor(config);
  const engine = await startEngine({ ...parts, asksGrants: false });
  onTestFinished(() => engine.close());
  const [source] = config.sources;
  if (source === undefined || engine.dimensions === null)
    throw new Error('a source with companies and rounds');
  await engine.sync.tick(source.name);
  const invested = vi.spyOn(engine.dimensions, 'invested');
  const raw = openRaw(`${folder}/mirror.db`);
  onTestFinished(() => void raw.close());
  const [id, round] = raw
    .prepare<[], [InvestmentId, string]>(
      'SELECT id, offering_id FROM investments WHERE investor_id IS NOT NULL LIMIT 1',
    )
    .raw()
    .get() ?? ['', ''];
  await readPart(source, { kind: 'investment', id: id as InvestmentId }, parts, engine, never);
  expect(invested.mock.calls).toEqual([['c0', new Set([round])]]);
});

test('a round is read for the source of its company, absent for another one, and absent for all if nobody has it', async () => {
  const sandbox = await sandboxFor({ records: 20, companies: 2 });
  const parts = partsFor(configFor(sandbox, { folder: freshFolder() }));
  const outcomes = async (id: string) =>
    (await syncPart(parts, { kind: 'round', id: id as OfferingId }, never)).map(({ outcome, missing }) => [
      outcome,
      missing,
    ]);
  const [none, read] = [
    ['absent', 0],
    ['done', 0],
  ];
  expect(await outcomes(sandbox.ready.companies[1]?.offering ?? '')).toEqual([none, read]);
  expect(await outcomes('ofr_0000000000000000000000')).toEqual([none, none]);
});
