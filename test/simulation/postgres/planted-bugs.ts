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
    'return this.#commit(\n      lease,\n      async (commit, now) => {\n        const applied',
    'await this.#commit(lease, (commit) => applyPage(commit, page, readPage([]), reached));\n    return this.#commit(\n      lease,\n      async (commit, now) => {\n        const applied',
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
];
