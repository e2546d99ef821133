import { bug, type PlantedBug } from '../../support/planting.js';

const postgres = 'src/store/dialect/postgres';

/**
 * Bugs that simulations on PostgreSQL must find: in code that only they run. For code shared with SQLite, such as
 * the fence, file simulations cover more in the same time. The torture test of the fleet covers many processes.
 */
export const plantedPostgresBugs: readonly PlantedBug[] = [
  // Only commits that may be lost: elsewhere a LOCK TABLE would fail, which is an error and no finding.
  bug(
    'a page of a listing is not a transaction',
    `${postgres}/transaction.ts`,
    "    'BEGIN',\n",
    "    ...(mayBeLost ? [] : ['BEGIN']),\n",
  ),
  bug(
    'a position is committed before its rows',
    `${postgres}/mirror.ts`,
    'const applied = await this.#commit(\n      lease,\n      async (commit, now) => {\n        const applied',
    'await this.#commit(lease, (commit) => applyPage(commit, page, readPage([]), reached));\n    this.#positions.delete(lease);\n    const applied = await this.#commit(\n      lease,\n      async (commit, now) => {\n        const applied',
  ),
  bug(
    'tombstones are ignored',
    `${postgres}/commit.ts`,
    "const removes = steps.filter((step) => step.kind === 'remove');",
    "const removes = steps.filter((step) => step.kind === 'remove').slice(1);",
  ),
  bug(
    'superseded versions are not stored',
    `${postgres}/commit.ts`,
    "if (step.kind === 'insert') return [];",
    "if (step.kind !== 'remove') return [];",
  ),
  bug(
    'identities are merged: changed people keep old values',
    `${postgres}/commit.ts`,
    'replaces.filter(({ identityDiffers }) => identityDiffers);',
    'replaces.filter(({ identityDiffers, record }) => identityDiffers && record.identity === null);',
  ),
  bug(
    'the change feed has gaps',
    `${postgres}/commit.ts`,
    'await this.reserve(announcing.length);',
    'await this.reserve(announcing.length + 1);',
  ),
  bug(
    'the brake is off',
    `${postgres}/listing.ts`,
    'await swapIn(commit, { removesUnseen: brake === null });',
    'await swapIn(commit, { removesUnseen: true });',
  ),
  bug(
    'the ids seen by a listing outlive it',
    `${postgres}/stage.ts`,
    "  transaction.send('DELETE FROM staged_pages WHERE source_no = $1', sourceNo);\n",
    '',
  ),
  bug(
    'erased people stay in the files of their tables',
    `${postgres}/scrub.ts`,
    'VACUUM (FULL, ANALYZE)',
    'ANALYZE',
  ),
  bug(
    'an unfinished first listing is visible',
    'schema/postgres/0012_companies_and_rounds.sql',
    'LEFT JOIN identity_rows i ON i.row_no = r.row_no\nWHERE s.listed_at IS NOT NULL;',
    'LEFT JOIN identity_rows i ON i.row_no = r.row_no;',
  ),
  bug('the fence is not checked', `${postgres}/mirror.ts`, '        checkFence(locked.lease, lease);\n', ''),
  // That the fence is read after the lock shows only if two sessions meet at the server, so a test of the mirror holds it.
  bug(
    'a new holder of a lease keeps the fence of the one before',
    `${postgres}/leases.ts`,
    '{ ...policy, isGone });',
    '{ ...policy, isGone }) && (current?.fence ?? 1);',
  ),
  bug(
    'deliveries are accepted without a wait for the disk',
    `${postgres}/open.ts`,
    '    pipeline: true,\n',
    "    pipeline: true,\n    options: '-c synchronous_commit=off',\n",
  ),
  bug(
    'a page of changes does not wait for the disk',
    `${postgres}/mirror.ts`,
    'mayBeLost: page.items.length === 0,',
    'mayBeLost: true,',
  ),
  bug(
    'an erasure on a page that may be lost does not wait for the disk',
    `${postgres}/mirror.ts`,
    'if ((await commit.finish()) && mayBeLost) transaction.send(mustBeDurable);',
    'await commit.finish();',
  ),
  bug(
    'the setting of a page that may be lost outlives its transaction',
    `${postgres}/transaction.ts`,
    "['SET LOCAL synchronous_commit = off']",
    "['SET synchronous_commit = off']",
  ),
  bug(
    'a listing is published without a wait for the disk',
    `${postgres}/mirror.ts`,
    'await this.#commit(lease, (commit) => publishListing(commit, final, brake));',
    'await this.#commit(lease, (commit) => publishListing(commit, final, brake), { mayBeLost: true });',
  ),
  bug(
    'change numbers are read, not reserved',
    `${postgres}/changes.ts`,
    '  `UPDATE feed_counter SET last_seq = last_seq + $1\n   RETURNING last_seq - $1 AS before, pg_notify(',
    '  `SELECT (SELECT coalesce(max(seq), 0) FROM change_rows) + 0 * $1::bigint AS before, pg_notify(',
  ),
  bug(
    'a re-listing changes no row that is there',
    `${postgres}/listing.ts`,
    'publicationDifference(stored.investment, record.investment).length > 0 ||\n      differenceOf(stored, record) !== null,',
    'publicationDifference(stored.investment, record.investment).length > 99 &&\n      differenceOf(stored, record) !== null,',
  ),
  bug(
    'a re-listing remembers only what its last page named',
    `${postgres}/listing.ts`,
    'rememberSeen(transaction, source.no, pageNo, plan.seen);',
    'rememberSeen(transaction, source.no, 0 * pageNo, plan.seen);',
  ),
  bug(
    'a published listing replaces rows and leaves out people',
    `${postgres}/swap.ts`,
    '    transaction.send(...bound(insertPersons, every));\n',
    '',
  ),
  bug(
    'people of rows that a listing removes stay',
    `${postgres}/swap.ts`,
    "SELECT 'removed', r.row_no, '[]', true",
    "SELECT 'removed', r.row_no, '[]', false",
  ),
  bug(
    'a first listing that begins again keeps the rows of the abandoned one',
    `${postgres}/listing.ts`,
    "    transaction.send('DELETE FROM investment_rows WHERE source_no = $1', source.no);\n",
    '',
  ),
  bug(
    'people stay when the grant to read them is lost',
    `${postgres}/identity-eraser.ts`,
    "  'DELETE FROM identity_rows WHERE row_no IN (SELECT row_no FROM investment_rows WHERE source_no = $1)',\n",
    '',
  ),
  // Each event of a simulation waits for the server, so no two deliveries arrive in one group.
  bug(
    'a delivery that could not be stored is accepted',
    `${postgres}/accept-deliveries.ts`,
    'await pool.query({ ...insertOne, values: row });',
    'await pool.query({ ...insertOne, values: row }).catch(() => ({ rowCount: 1 }));',
  ),
  bug('counts come back as text', `${postgres}/values.ts`, '  [builtins.INT8, exactNumber],\n', ''),
];
