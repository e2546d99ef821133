import { bug, type PlantedBug } from '../../support/planting.js';

const postgres = 'src/store/dialect/postgres';

/** What worlds on a server have to see: the code that only they run, and what several daemons share. */
export const plantedPostgresBugs: readonly PlantedBug[] = [
  bug('a page is no transaction', `${postgres}/transaction.ts`, "    'BEGIN',\n", ''),
  bug(
    'a position is committed before its rows',
    `${postgres}/mirror.ts`,
    'return this.#commit(\n      lease,\n      async (commit, now) => {\n        const applied',
    'await this.#commit(lease, (commit) => applyPage(commit, { ...page, items: [] }, reached));\n    return this.#commit(\n      lease,\n      async (commit, now) => {\n        const applied',
  ),
  bug(
    'tombstones are ignored',
    `${postgres}/commit.ts`,
    "const removes = steps.filter((step) => step.kind === 'remove');",
    "const removes = steps.filter((step) => step.kind === 'remove').slice(1);",
  ),
  bug(
    'replaced versions are not kept',
    `${postgres}/commit.ts`,
    "if (step.kind === 'insert') return [];",
    "if (step.kind !== 'remove') return [];",
  ),
  bug(
    'identities are merged: who changed stays as he was',
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
    'if (brake !== null) {',
    'if (brake !== null && held < 0) {',
  ),
  bug(
    'a record nobody can read is deleted by a listing',
    `${postgres}/listing.ts`,
    "if (held !== undefined) seen.add(held.rowNo);\n    if (item.kind === 'rejected') continue;",
    "if (item.kind === 'rejected') continue;\n    if (held !== undefined) seen.add(held.rowNo);",
  ),
  bug(
    'what pages named outlives its listing',
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
    'an unfinished first listing is shown',
    'schema/postgres/0002_views.sql',
    'LEFT JOIN identity_rows i ON i.row_no = r.row_no\nWHERE s.listed_at IS NOT NULL;',
    'LEFT JOIN identity_rows i ON i.row_no = r.row_no;',
  ),
  bug(
    'the fence is not checked',
    'src/store/lease-rules.ts',
    'if (held?.fence === lease.fence) return;',
    'if (held?.fence !== undefined) return;',
  ),
  bug(
    'what a clock put off is not settled before it is due',
    'src/inbox/proven.ts',
    'events.filter((event) => proofs.every((proof) => reaches(proof, event, apartMillis)));',
    'events.filter((event) => isDue(event, at) && proofs.every((proof) => reaches(proof, event, apartMillis)));',
  ),
];
