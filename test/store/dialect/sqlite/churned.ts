import { type Random, seededRandom } from '../../../../src/runtime/random.js';
import type { SqliteDatabase } from '../../../../src/store/dialect/sqlite/open.js';
import { seedInvestment, seedSource } from '../../support/mirror.js';

/** A text that stands in the pages of this row only. */
export const word = (row: number) => `CANARY-${row}-`;

/** Fills and empties pages until deleted people are still in the file, with this seed. Returns the rows left. */
export function churned(database: SqliteDatabase): {
  readonly rows: readonly number[];
  readonly there: Set<number>;
} {
  seedSource(database, 1);
  database.raw.exec('BEGIN');
  const rows = Array.from({ length: 300 }, (_, n) => seedInvestment(database, 1, `inv_${n}`));
  database.raw.exec('COMMIT');
  const there = new Set<number>();
  const put = database.raw.prepare(
    'INSERT INTO identity_rows (row_no, name, bio, message) VALUES (?, ?, ?, ?)',
  );
  const drop = database.raw.prepare('DELETE FROM identity_rows WHERE row_no = ?');
  const random = seededRandom(7);
  database.raw.exec('BEGIN');
  for (let n = 0; n < 1_500; n += 1) {
    const row = rows[below(random, rows.length)] ?? 0;
    if (there.delete(row)) drop.run(row);
    else {
      there.add(row);
      // Some are longer than a page.
      put.run(row, word(row), 'b'.repeat(below(random, n % 20 === 0 ? 12_000 : 2_500)), word(row));
    }
  }
  database.raw.exec('COMMIT');
  return { rows, there };
}

const below = (random: Random, bound: number) => Math.floor(random.fraction() * bound);
