import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';
import { openState } from '../../../src/platform/state/database.js';
import { fold } from '../../../src/platform/state/fold.js';
import { schemaPath } from '../../../src/runtime/package-root.js';
import { tempFolder } from '../../store/temp-folder.js';

/** Creates a data file with the schema before the given migration and fills it with `fill`. */
function fileFromBefore(file: string, migration: string, fill: (state: Sqlite.Database) => void): void {
  const state = new Sqlite(file);
  state.function('fold', { deterministic: true }, (text) => (typeof text === 'string' ? fold(text) : text));
  state.exec('CREATE TABLE migrations (name TEXT PRIMARY KEY, checksum TEXT NOT NULL) STRICT');
  const names = readdirSync(schemaPath('platform')).sort();
  expect(names).toContain(migration);
  for (const name of names.filter((entry) => entry < migration)) {
    const sql = readFileSync(schemaPath('platform', name), 'utf8');
    state.exec(sql);
    const checksum = createHash('sha256').update(sql).digest('hex');
    state.prepare('INSERT INTO migrations VALUES (?, ?)').run(name, checksum);
  }
  fill(state);
  state.close();
}

test('migration: moving deal amounts to offering_terms keeps them, and catalog values take precedence', () => {
  const file = join(tempFolder(), 'before.db');
  fileFromBefore(file, '0034_deal_money.sql', (state) => {
    state.exec("INSERT INTO companies (no, id, name, slug, created_at) VALUES (1, 'co_1', 'One', 'one', 0)");
    const round = state.prepare(
      `INSERT INTO offerings (no, id, company_no, status, investment_type, offering_type, created_at)
       VALUES (?, ?, 1, 'open', 'SAFE', 'Reg D', 0)`,
    );
    for (const no of [1, 2, 3, 4]) round.run(no, `ofr_${no}`);
    const catalog = state.prepare(
      `INSERT INTO offering_terms (offering_no, exemption, funding_target_cents, min_investment_cents)
       VALUES (?, 'reg_cf', ?, ?)`,
    );
    catalog.run(2, null, null);
    catalog.run(3, 900, null);
    catalog.run(4, 900, 90);
    const deal = state.prepare(
      'INSERT INTO deal_terms (offering_no, funding_target_cents, min_investment_cents, updated_at) VALUES (?, 100, 10, 0)',
    );
    for (const no of [1, 2, 3, 4]) deal.run(no);
  });
  const state = openState(file);
  const terms = state.prepare(
    'SELECT exemption, funding_target_cents, min_investment_cents FROM offering_terms ORDER BY offering_no',
  );
  expect(terms.raw().all()).toEqual([
    ['reg_d', 100, 10],
    ['reg_cf', 100, 10],
    ['reg_cf', 900, 10],
    ['reg_cf', 900, 90],
  ]);
  state.close();
});
