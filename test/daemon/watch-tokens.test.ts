import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../src/config/secrets.js';
import { startDaemon } from '../../src/daemon/daemon.js';
import { grantsOf } from '../../src/daemon/resolve-sources.js';
import { SourceIndex } from '../../src/daemon/source-index.js';
import { openTokenWatch } from '../../src/daemon/watch-tokens.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { syncOnce } from '../../src/tasks/sync-once.js';
import { manualClock } from '../support/manual-clock.js';
import { configFor, freshFolder, partsFor, readerOf, sandboxFor } from './daemon-fixture.js';

const seconds = { interval: 50 };

test('a running daemon notices a replaced token file, and erases what a narrower token may not read', async () => {
  const sandbox = await sandboxFor({ records: 40, companies: 1, limits: false });
  const folder = freshFolder();
  const [company] = sandbox.ready.companies;
  if (company === undefined) throw new Error('a sandbox without a company');
  const file = join(folder, 'acme.token');
  const keep = (token: string) => writeFileSync(file, `${token}\n`, { mode: 0o600 });
  keep('at_test_revoked');
  const config = configFor(sandbox, { folder });
  const token = new Secret('sources[0].token', { file }, { env: {}, folder });
  const daemon = await startDaemon(
    partsFor({
      ...config,
      sources: config.sources.map((one) => ({ ...one, access: { kind: 'token', token } })),
    }),
  );
  try {
    await daemon.engine.sync.idle();
    const reader = readerOf(config);
    const state = () => reader.prepare('SELECT state FROM sources').pluck().get();
    const names = () => reader.prepare('SELECT count(*) FROM identities').pluck().get();
    expect(state()).toBe('halted');

    keep(company.token);
    await expect.poll(state, seconds).toBe('following');
    expect(names()).toBeGreaterThan(0);
    const all = names();
    await daemon.engine.sync.idle();

    // Nothing changes on the platform, so no record shows the narrower grant.
    keep(company.tokenWithoutIdentity);
    await expect.poll(names, seconds).toBe(0);
    expect(reader.prepare('SELECT cause FROM erasures').pluck().all()).toEqual(['grant_lost']);
    expect(reader.prepare('SELECT identity_included FROM sync_status').pluck().get()).toBe(0);
    expect(reader.prepare('SELECT count(*) FROM investments').pluck().get()).toBeGreaterThan(0);
    await daemon.engine.sync.idle();

    // When the token may read identity again, a listing restores it without a request.
    keep(company.token);
    await expect.poll(names, seconds).toBe(all);
    expect(reader.prepare('SELECT names_incomplete FROM sync_status').pluck().get()).toBe(0);
  } finally {
    await daemon.close();
  }
});

/** A sandbox, and the configuration of a source whose token is in a file. */
async function withTokenFile() {
  const sandbox = await sandboxFor({ records: 20, companies: 1, limits: false });
  const folder = freshFolder();
  const [company] = sandbox.ready.companies;
  if (company === undefined) throw new Error('a sandbox without a company');
  const file = join(folder, 'acme.token');
  const config = configFor(sandbox, { folder });
  const token = new Secret('sources[0].token', { file }, { env: {}, folder });
  return {
    company,
    folder,
    keep: (text: string) => writeFileSync(file, `${text}\n`, { mode: 0o600 }),
    config: {
      ...config,
      sources: config.sources.map((one) => ({ ...one, access: { kind: 'token', token } as const })),
    },
    reader: readerOf(config),
  };
}

const never = new AbortController().signal;

test('a daemon notices a token that is replaced as Kubernetes does it: a link to a folder moves to another one', async () => {
  const { company, config, folder } = await withTokenFile();
  const keep = (text: string) => {
    const version = `..${text.length}`;
    mkdirSync(join(folder, version));
    writeFileSync(join(folder, version, 'acme.token'), text, { mode: 0o400 });
    symlinkSync(version, join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
  };
  keep('at_test_revoked');
  symlinkSync('..data/acme.token', join(folder, 'acme.token'));
  const daemon = await startDaemon(partsFor(config));
  try {
    await daemon.engine.sync.idle();
    const reader = readerOf(config);
    const state = () => reader.prepare('SELECT state FROM sources').pluck().get();
    expect(state()).toBe('halted');
    keep(company.token);
    await expect.poll(state, seconds).toBe('following');
  } finally {
    await daemon.close();
  }
});

test('a source that began with a placeholder for its token continues with the right one, also after a restart', async () => {
  const { company, keep, config, reader } = await withTokenFile();
  const state = () => reader.prepare('SELECT state FROM sources').pluck().get();
  keep('paste-the-token-here');
  const daemon = await startDaemon(partsFor(config));
  try {
    await daemon.engine.sync.idle();
    expect(reader.prepare('SELECT last_error_code FROM sync_status').pluck().get()).toBe('unauthorized');
    keep(company.token);
    await expect.poll(state, seconds).toBe('following');
  } finally {
    await daemon.close();
  }
  const [result] = await syncOnce(partsFor(config), {}, never);
  expect(result?.report).toMatchObject({ mode: 'delta', outcome: 'done' });
  keep(company.token.replace('at_test_', 'at_live_'));
  const [other] = await syncOnce(partsFor(config), {}, never);
  expect(other?.report).toMatchObject({ outcome: 'failed', code: 'filters_changed' });
});

test('a damaged token is refused by the platform, and says nothing about filters or realm', async () => {
  const { company, keep, config, reader } = await withTokenFile();
  keep(company.token);
  await syncOnce(partsFor(config), {}, never);
  const rows = () => reader.prepare('SELECT count(*) FROM investments').pluck().get();
  const before = rows();
  keep('Bearer');
  const [damaged] = await syncOnce(partsFor(config), {}, never);
  expect(damaged?.report).toMatchObject({ outcome: 'failed', code: 'unauthorized' });
  keep(company.token);
  const [result] = await syncOnce(partsFor(config), {}, never);
  expect(result?.report).toMatchObject({ mode: 'delta', outcome: 'done' });
  expect([rows(), before]).toEqual([before, expect.any(Number)]);
});

test('a running daemon halts a source whose token file gets a token of the other realm, and keeps its rows', async () => {
  const { company, keep, config, reader } = await withTokenFile();
  keep(company.token);
  const daemon = await startDaemon(partsFor(config));
  try {
    await daemon.engine.sync.idle();
    const seen = () => reader.prepare('SELECT state, last_error_code AS code, rows FROM sync_status').get();
    expect(seen()).toMatchObject({ state: 'following', code: null });
    const { rows } = seen() as { rows: number };
    keep(company.token.replace('at_test_', 'at_live_'));
    await expect.poll(seen, seconds).toEqual({ state: 'halted', code: 'filters_changed', rows });
    keep(company.token);
    await expect.poll(seen, seconds).toMatchObject({ state: 'following', rows });
  } finally {
    await daemon.close();
  }
});

test('an installation event concerns the grant of the sources of its installation only', async () => {
  const sandbox = await sandboxFor({ records: 5, companies: 2 });
  const { sources } = configFor(sandbox, { folder: freshFolder() });
  const installation = sources[1]?.installation ?? '';
  const about = (event: string, of: string, test = false) =>
    grantsOf(new SourceIndex(sources), { event, installation: of, test });
  expect(about('installation.revoked', installation)).toEqual(['c1']);
  expect(about('installation.revoked', 'inst_other')).toEqual([]);
  expect(about('installation.revoked', '')).toEqual([]);
  expect(about('installation.revoked', installation, true)).toEqual([]);
  expect(about('investment.changed', installation)).toEqual([]);
});

test('a token that is replaced while the daemon starts is noticed', async () => {
  const file = join(freshFolder(), 'acme.token');
  writeFileSync(file, 'at_test_first');
  const token = new Secret('sources[0].token', { file }, { env: {}, folder: freshFolder() });
  const rechecked: string[] = [];
  const watch = await openTokenWatch({
    engine: {
      sources: { all: [{ name: 'acme', access: { kind: 'token', token } }], onChange: () => () => {} },
      platform: { tokensOf: () => ({ reload: () => {} }) },
      sync: { recheck: (name: string) => rechecked.push(name) },
    } as never,
    rules: [],
    onRule: () => {},
    clock: manualClock(0),
    logger: silentLogger,
  });
  onTestFinished(() => watch.close());
  writeFileSync(file, 'at_test_second_one');
  watch.start();
  await expect.poll(() => rechecked, seconds).toEqual(['acme']);
});
