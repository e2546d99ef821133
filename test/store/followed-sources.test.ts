import { expect } from 'vitest';
import type { InstallationId, SourceName } from '../../src/domain/ids.js';
import type { Instant } from '../../src/domain/instant.js';
import type { FollowedSource, FollowedSources } from '../../src/installations/ports.js';
import { PostgresFollowedSources } from '../../src/store/dialect/postgres/followed-sources.js';
import { SqliteFollowedSources } from '../../src/store/dialect/sqlite/followed-sources.js';
import { test } from './both-databases.js';
import { freshStore, type Store } from './mirror-fixture.js';

const at = (minute: number): Instant => `2026-11-01T10:${String(minute).padStart(2, '0')}:00.000Z` as Instant;

const entry = (name: string, more: Partial<FollowedSource> = {}): FollowedSource => ({
  source: name as SourceName,
  rule: 'crm',
  realm: 'live',
  targetType: 'company',
  target: `co_${name}`,
  installation: `inst_${name}` as InstallationId,
  state: 'waiting',
  reason: null,
  scopes: null,
  mints: 0,
  lastMintAt: null,
  firstSeenAt: at(1),
  connectedAt: null,
  disconnectedAt: null,
  eraseAfter: null,
  erasedAt: null,
  erasedRows: null,
  ...more,
});

const followedOn = (store: Store): FollowedSources =>
  store.kind === 'sqlite'
    ? new SqliteFollowedSources(store.sqlite)
    : new PostgresFollowedSources(store.postgres);

const registry = async () => followedOn(await freshStore());

test('followed sources: entries come back as they were written, by name, and each write raises the revision', async () => {
  const followed = await registry();
  expect([await followed.list(), await followed.revision()]).toEqual([[], 0]);
  const acme = entry('acme', {
    state: 'erased',
    reason: 'revoked',
    scopes: ['read:companies', 'read:investments'],
    mints: 2,
    lastMintAt: at(2),
    connectedAt: at(3),
    disconnectedAt: at(4),
    eraseAfter: at(5),
    erasedAt: at(6),
    erasedRows: 5_000_000_000,
  });
  const before = entry('umbrella', { realm: 'test', scopes: [] });
  expect(await followed.save([before, acme].map((next) => ({ next, before: null })))).toEqual([]);
  expect(await followed.list()).toEqual([acme, before]);
  expect(await followed.revision()).toBe(1);
  const next = entry('umbrella', { realm: 'live', state: 'connected', mints: 1 });
  expect(await followed.save([{ next, before }])).toEqual([]);
  expect([await followed.list(), await followed.revision()]).toEqual([[acme, next], 2]);
  expect(await followed.save([])).toEqual([]);
  expect(await followed.revision()).toBe(2);
});

test('followed sources: a change is not written when state, mints or installation were written meanwhile', async () => {
  const followed = await registry();
  const before = entry('acme');
  const other = entry('umbrella');
  await followed.save([before, other].map((next) => ({ next, before: null })));
  const stored = entry('acme', { mints: 1 });
  expect(await followed.save([{ next: stored, before }])).toEqual([]);
  const revision = await followed.revision();
  for (const stale of [
    before,
    entry('acme', { mints: 1, state: 'connected' }),
    entry('acme', { mints: 1, installation: 'inst_other' as InstallationId }),
  ])
    expect(await followed.save([{ next: entry('acme', { mints: 9 }), before: stale }])).toEqual(['acme']);
  expect([await followed.list(), await followed.revision()]).toEqual([[stored, other], revision]);
  // The others of the same call are written.
  const moved = entry('umbrella', { state: 'connected' });
  expect(
    await followed.save([
      { next: entry('acme', { mints: 2 }), before },
      { next: moved, before: other },
    ]),
  ).toEqual(['acme']);
  expect(await followed.list()).toEqual([stored, moved]);
});

test('followed sources: a new entry needs a new name and a target that its rule does not follow yet', async () => {
  const followed = await registry();
  const acme = entry('acme');
  await followed.save([{ next: acme, before: null }]);
  expect(await followed.save([{ next: entry('acme', { target: 'co_else' }), before: null }])).toEqual([
    'acme',
  ]);
  const twin = entry('twin', { target: 'co_acme' });
  expect(await followed.save([{ next: twin, before: null }])).toEqual(['twin']);
  const inTest = { ...twin, realm: 'test' } as const;
  const ofOther = { ...twin, rule: 'other', source: 'third' as SourceName };
  expect(await followed.save([inTest, ofOther].map((next) => ({ next, before: null })))).toEqual([]);
  expect(await followed.save([{ next: twin, before: inTest }])).toEqual(['twin']);
  await expect(followed.save([{ next: entry('renamed'), before: acme }])).rejects.toThrow('keeps');
  expect(await followed.list()).toEqual([acme, ofOther, inTest]);
});

test('followed sources: of two writers at once exactly one writes an entry', async () => {
  const store = await freshStore();
  const before = entry('acme');
  await followedOn(store).save([{ next: before, before: null }]);
  const writers = Array.from({ length: 8 }, (_, index) =>
    followedOn(store).save([{ next: entry('acme', { mints: index + 1 }), before }]),
  );
  const missed = (await Promise.all(writers)).filter((names) => names.length > 0);
  expect(missed).toHaveLength(7);
  expect(await followedOn(store).revision()).toBe(2);
});

test('followed sources: ten thousand are written and read in one go', async () => {
  const followed = await registry();
  const many = Array.from({ length: 10_000 }, (_, index) => entry(`s${String(index).padStart(5, '0')}`));
  expect(await followed.save(many.map((next) => ({ next, before: null })))).toEqual([]);
  expect(await followed.list()).toEqual(many);
});
