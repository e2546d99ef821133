import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test as onSqlite } from 'vitest';
import type { UserId } from '../../src/domain/ids.js';
import type { FeedItem, Identity } from '../../src/domain/investment.js';
import { decideNotices, foldNotices } from '../../src/outbox/decide-notices.js';
import { removeBackups } from '../../src/store/dialect/sqlite/backups.js';
import { SqliteErasures } from '../../src/store/dialect/sqlite/erasures.js';
import { scrubApart } from '../../src/store/scrub.js';
import { readApart } from '../support/read-apart.js';
import { test } from './both-databases.js';
import { failingDatabase } from './failing-database.js';
import { bytesOf, cautious, type Fixture, migratedDatabase, mirrorFixture } from './mirror-fixture.js';
import { listingPage, record, rejected, tombstone } from './samples.js';

/** A person whose every field contains a marker that can be found in the bytes of a file. */
function canary(id: string, round = 0): Identity {
  const mark = (field: string) =>
    `CANARY-${id}-${field}-${round}-${'x'.repeat((id.length * 37 + round * 11) % 400)}`;
  return {
    name: mark('name'),
    legal_name: mark('legal'),
    email: mark('email'),
    address_line: mark('line'),
    city: mark('city'),
    state: mark('state'),
    postal_code: mark('code'),
    country: mark('country'),
    bio: mark('bio'),
    message: mark('message'),
    external_username: mark('user'),
    email_hidden: false,
    extra: JSON.stringify({ phone: mark('phone') }),
  };
}

const person = (id: string, more: object = {}, round = 0): FeedItem => record(id, more, canary(id, round));
const unreadable = (id: string | null, named: string) =>
  rejected(
    id,
    JSON.stringify({
      id: `inv_${named}`,
      investor: { id: `usr_inv_${named}`, name: `CANARY-inv_${named}-` },
    }),
  );

/** Returns the ids of the people whose markers occur in the text. */
function peopleIn(text: string): string[] {
  const found = new Set<string>();
  for (const [, id] of text.matchAll(/CANARY-(inv_\w+?)-/g)) if (id !== undefined) found.add(id);
  return [...found].sort();
}

/** Searches every file in the folder, including backups. */
function standing(file: string): string[] {
  const folder = dirname(file);
  return peopleIn(
    readdirSync(folder)
      .map((name) => readApart(join(folder, name)).toString('latin1'))
      .join('\n'),
  );
}

const standingIn = async ({ store }: Fixture) =>
  store.kind === 'sqlite' ? standing(store.sqlite.file) : peopleIn(await bytesOf(store));

const notices = {
  draft: (changes: Parameters<typeof decideNotices>[0]) =>
    decideNotices(changes, [{ name: 'hook', rules: {} }]),
  fold: foldNotices,
};
const scrubbed = async ({ store, erasures, clock }: Fixture) =>
  store.kind === 'sqlite'
    ? await scrubApart(
        { file: store.sqlite.file, now: clock.now(), rewritten: 0, way: 'in place' as const },
        new AbortController().signal,
      )
    : await erasures.scrub();

test('after a scrub no byte of any file contains an erased person, whatever the cause; all others are still there', async () => {
  const fixture = await mirrorFixture({ notices });
  const { store, erasures, list, delta, collect, mirror, lease } = fixture;
  const people = ['stays', 'withdrawn', 'deactivated', 'forgotten', 'absent', 'staged', 'set_aside'];
  const crowd = Array.from({ length: 150 }, (_, n) => person(`inv_crowd${n}`));
  await list([people.map((name) => person(`inv_${name}`)), crowd]);
  // Many versions, so that database pages are split and filled again.
  for (let round = 1; round < 6; round += 1) {
    await delta(people.map((name) => person(`inv_${name}`, { shares: String(round) }, round)));
    await delta(crowd.map((_, n) => person(`inv_crowd${n}`, { shares: String(round) }, round)));
  }
  await delta([
    unreadable('inv_set_aside', 'set_aside'),
    unreadable(null, 'forgotten'),
    unreadable(null, 'deactivated'),
  ]);
  if (store.kind === 'sqlite') writeFileSync(`${store.sqlite.file}.schema-0004.bak`, 'CANARY-inv_forgotten-');

  await collect([people.slice(0, 6).map((name) => person(`inv_${name}`, { shares: '9' }, 9))], 'relist');
  const gone = { investor_deactivated: true };
  await mirror.addListingPage(
    lease,
    listingPage([record('inv_deactivated', gone, null), tombstone('inv_withdrawn')], 'p2', true),
  );
  await erasures.forget('usr_inv_forgotten' as UserId);
  if (store.kind === 'sqlite') removeBackups(store.sqlite.file, Number.POSITIVE_INFINITY);
  await mirror.addListingPage(
    lease,
    listingPage(
      [person('inv_forgotten', { shares: '9' }, 10), tombstone('inv_staged'), person('inv_set_aside')],
      'p3',
    ),
  );
  // The first page staged `absent`; the listing then restarts without it.
  await collect(
    [
      [
        person('inv_stays', {}, 12),
        person('inv_forgotten', {}, 12),
        person('inv_set_aside', {}, 12),
        record('inv_deactivated', gone, null),
      ],
      crowd,
    ],
    'relist',
  );
  await mirror.publishListing(lease, 'p2' as never, { ...cautious, accepted: true });
  await delta([tombstone('inv_set_aside'), ...crowd.slice(0, 100).map((_, n) => tombstone(`inv_crowd${n}`))]);

  expect(await scrubbed(fixture)).toMatchObject({ kind: 'scrubbed' });
  const kept = ['inv_stays', ...crowd.slice(100).map((_, n) => `inv_crowd${n + 100}`)].sort();
  expect(await standingIn(fixture)).toEqual(kept);
  const causes = (await fixture.rows('SELECT id, cause FROM erasures WHERE scrubbed_at IS NOT NULL')) as {
    id: string;
    cause: string;
  }[];
  const causeOf = (id: string) => causes.filter((one) => one.id === id).map(({ cause }) => cause);
  expect(causeOf('inv_withdrawn')).toContain('tombstone');
  expect(causeOf('usr_inv_deactivated')).toContain('deactivated');
  expect(causeOf('usr_inv_forgotten')).toContain('forget');
  expect(causeOf('inv_absent')).toContain('absent');
  expect(causeOf('inv_crowd99')).toEqual(['tombstone']);
  expect(JSON.stringify(causes)).not.toContain('CANARY');

  // A lost grant erases everyone.
  await delta([record('inv_stays', {}, null)]);
  expect(await scrubbed(fixture)).toEqual({ kind: 'scrubbed', erasures: 1 });
  expect(await standingIn(fixture)).toEqual([]);
  expect(await scrubbed(fixture)).toEqual({ kind: 'clean' });
});

onSqlite(
  'an erasure that fails at any statement is done completely or not at all, and the next one leaves no bytes',
  async () => {
    for (let statement = 1; ; statement += 1) {
      const real = migratedDatabase();
      const { database, failAt } = failingDatabase(real);
      const fixture = await mirrorFixture({ database });
      await fixture.list([[person('inv_1'), person('inv_2')]]);
      await fixture.delta([unreadable(null, '1')]);
      const erasures = new SqliteErasures(database, fixture.clock);
      failAt(statement);
      let failed = false;
      try {
        erasures.forget('usr_inv_1' as UserId);
        erasures.scrub();
      } catch (error) {
        failed = (error as Error).message === 'injected failure';
      }
      failAt(Number.POSITIVE_INFINITY);
      const [{ names, receipts }] = (await fixture.rows(
        "SELECT (SELECT count(*) FROM identities WHERE id = 'inv_1') AS names, (SELECT count(*) FROM erasures) AS receipts",
      )) as [{ names: number; receipts: number }];
      // At every moment there is either the name or a receipt for its erasure.
      expect(names + receipts).toBe(1);
      erasures.forget('usr_inv_1' as UserId);
      expect(erasures.scrub().kind).toBe('scrubbed');
      expect(await standing(real.file)).toEqual(['inv_2']);
      real.close();
      if (!failed) break;
      expect(existsSync(real.file)).toBe(true);
      expect(statement).toBeLessThan(100);
    }
  },
);

onSqlite('a scrub killed halfway leaves the file intact and the scrub pending', async () => {
  const fixture = await mirrorFixture();
  await fixture.list([Array.from({ length: 300 }, (_, n) => person(`inv_${n}`))]);
  await fixture.delta([tombstone('inv_7')]);
  const killing = new AbortController();
  const request = {
    file: fixture.database.file,
    now: fixture.clock.now(),
    rewritten: 0,
    way: 'in place' as const,
  };
  const cut = scrubApart(request, killing.signal);
  killing.abort();
  await expect(cut).rejects.toMatchObject({ code: 'stopped' });
  expect(await fixture.rows('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  expect(await scrubbed(fixture)).toEqual({ kind: 'scrubbed', erasures: 1 });
  expect(await standing(fixture.database.file)).not.toContain('inv_7');
});
