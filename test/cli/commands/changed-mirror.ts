import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { exportTables } from '../../../src/config/export-tables.js';
import { instantFromMillis } from '../../../src/domain/instant.js';
import { askDuckDb } from '../../exports/ask-duckdb.js';
import { sheetsOf } from '../../exports/workbook.js';
import { filledMirror } from '../filled-mirror.js';

export const formula = '=HYPERLINK("http://evil","x")';

/** Fills a mirror for the tests of a file, in which one investment, `target`, has changed after `before`. */
export async function changedMirror() {
  const world = await filledMirror(40);
  afterAll(() => world.close());
  await world.sync();
  const mirror = <Row>(sql: string): Row[] => world.inFile((raw) => raw.prepare<[], Row>(sql).all());
  const [{ id: target }] = mirror<{ id: string }>(
    "SELECT id FROM investments WHERE status = 'active' AND currency = 'usd' ORDER BY id LIMIT 1",
  ) as [{ id: string }];
  /** Some investments of the platform are hidden from every token. */
  const held = mirror('SELECT 1 FROM investments').length;
  const before = instantFromMillis(Date.now());
  await new Promise((resolve) => setImmediate(resolve));
  await world.control('PATCH', `/investments/${target}`, {
    amounts: { committed_cents: 777_700 },
    investor: { name: formula, legal_name: 'Ada, "the" first' },
  });
  await world.sync();
  return {
    world,
    target,
    held,
    before,
    mirror,
    leftovers: () => readdirSync(world.folder).filter((name) => /\.tmp/.test(name)),
    /** Runs `work` while the mirror has a source that was first listed now. */
    withLateSource: async (work: (late: string) => Promise<void>): Promise<void> => {
      const late = instantFromMillis(Date.now());
      world.inFile((raw) =>
        raw
          .prepare("INSERT INTO sources (no, name, fingerprint, listed_at) VALUES (9, 'late', 'f', ?)")
          .run(late),
      );
      try {
        await work(late);
      } finally {
        world.inFile((raw) => raw.exec('DELETE FROM sources WHERE no = 9'));
      }
    },
  };
}

export const jsonOf = (text: string) => JSON.parse(text) as Record<string, unknown>[];

/** Counts the rows of each exported file, by reading it. */
export function rowsIn(folder: string, format: string): Record<string, number> {
  const files = exportTables.map((table) => [table, join(folder, `${table}.${format}`)] as const);
  if (format === 'csv' || format === 'parquet') {
    const reader = format === 'csv' ? 'read_csv' : 'read_parquet';
    const options = format === 'csv' ? ', header = true, all_varchar = true' : '';
    const counts = files.map(
      ([table, file]) => `SELECT '${table}', count(*)::INT FROM ${reader}('${file}'${options})`,
    );
    return Object.fromEntries(askDuckDb('', counts.join(' UNION ALL ')) as [string, number][]);
  }
  return Object.fromEntries(
    files.map(([table, file]) => {
      if (format === 'jsonl') return [table, readFileSync(file, 'utf8').split('\n').length - 1];
      const [sheet] = sheetsOf(readFileSync(file));
      return [table, (sheet?.xml.match(/<row /g)?.length ?? 0) - 1];
    }),
  );
}
