import { expect, test } from 'vitest';
import { shippedMigrations } from '../../src/store/migrate.js';
import { freshDatabase } from '../postgres/fresh-database.js';
import { testRandom } from '../support/chance.js';
import { crashThroughUpgrade, filledBy } from './postgres-crashes.js';
import { writtenVersions } from './written.js';

/*
 * The end and one random statement of each migration. `npm run torture:migrations` ends the session at every
 * statement of every migration, also from an empty database.
 */
test.each(writtenVersions)(
  'PostgreSQL: a session that ends at any statement of an upgrade leaves the old schema, and the next start completes it ($version)',
  async ({ version, migrations }) => {
    const random = testRandom();
    const { url } = await freshDatabase();
    await filledBy(url, version, migrations.postgres);
    const drawn = new Map<number, number>();
    const { points, wrong } = await crashThroughUpgrade(
      url,
      migrations.postgres,
      (number, statement, total) => {
        if (!drawn.has(number)) drawn.set(number, Math.floor(random.fraction() * (total + 1)));
        return statement === total || statement === drawn.get(number);
      },
    );
    expect(wrong).toEqual([]);
    expect(points).toBeGreaterThanOrEqual(shippedMigrations('postgres').length - migrations.postgres);
  },
);
