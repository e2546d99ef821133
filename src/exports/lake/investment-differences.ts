import { columnList, type Workshop } from '../duckdb.js';
import { columnTypes } from '../parquet-types.js';
import type { LakeMirror, LakePosition, RowSource } from '../ports.js';
import { investmentsOf } from './current-rows.js';
import type { LakeManifest } from './layout.js';

export interface DifferencesParts {
  readonly folder: string;
  readonly mirror: LakeMirror;
  readonly duckdb: Workshop;
  /** The number of the snapshot that is being written. */
  readonly snapshot: number;
}

/**
 * Finds how the investments of the mirror differ from those of the lake. In DuckDB, `prior` is what the lake has, `log`
 * the differences, and `everything` all rows of the mirror, if they were read.
 */
export class InvestmentDifferences {
  /** Decimals of the rows that were read which the type of their column cannot hold. */
  inexact = 0;

  constructor(private readonly parts: DifferencesParts) {}

  /** What the lake has now, as the view `prior`. */
  async createPrior(manifest: LakeManifest): Promise<void> {
    const known = new Set(manifest.tables.investments.columns.map(({ name }) => name));
    const columns = this.parts.mirror.investmentColumns.map(({ name, kind }) =>
      known.has(name) ? name : `NULL::${columnTypes[kind]} AS ${name}`,
    );
    const rows = investmentsOf(this.parts.folder, manifest);
    await this.parts.duckdb.run(`CREATE VIEW prior AS SELECT ${columns.join(', ')} FROM (${rows})`);
  }

  /** Reads what may differ, and keeps what does in the table `log`. */
  async readChanges(since: LakePosition): Promise<void> {
    await this.parts.duckdb.load('touched', this.parts.mirror.touched(since));
    await this.#load('fresh', this.parts.mirror.changed(since));
    await this.parts.duckdb.run(`CREATE TABLE log AS
      SELECT ${this.parts.snapshot}::BIGINT AS snapshot, 'upsert' AS op, * FROM (
        SELECT * FROM fresh EXCEPT SELECT p.* FROM prior p SEMI JOIN touched t USING (source, id))
      UNION ALL BY NAME
      SELECT ${this.parts.snapshot}::BIGINT AS snapshot, 'delete' AS op, source, id FROM (
        SELECT p.source, p.id FROM prior p SEMI JOIN touched t USING (source, id)) k
        ANTI JOIN fresh f USING (source, id)`);
  }

  /** Reads every row into the table `everything`, and keeps the differences from before in the table `log`. */
  async readAll(hasPrior: boolean): Promise<void> {
    await this.parts.duckdb.run('DROP TABLE IF EXISTS log');
    await this.#load('everything', this.parts.mirror.investments());
    const columns = columnList(this.parts.mirror.investmentColumns);
    if (!hasPrior) {
      await this.parts.duckdb.run(`CREATE TABLE log (snapshot BIGINT, op VARCHAR, ${columns})`);
      return;
    }
    await this.parts.duckdb.run(`CREATE TABLE log AS
      SELECT ${this.parts.snapshot}::BIGINT AS snapshot, 'upsert' AS op, * FROM (
        SELECT * FROM everything EXCEPT SELECT * FROM prior)
      UNION ALL BY NAME
      SELECT ${this.parts.snapshot}::BIGINT AS snapshot, 'delete' AS op, source, id FROM (
        SELECT source, id FROM prior) k ANTI JOIN everything e USING (source, id)`);
  }

  async #load(table: string, rows: RowSource): Promise<void> {
    this.inexact = 0;
    await this.parts.duckdb.load(table, rows, () => {
      this.inexact += 1;
    });
  }

  /** Returns whether rows and sums of each source will equal those of the mirror. */
  async sumsAgree(): Promise<boolean> {
    const { sources } = this.parts.mirror.position;
    const names = Object.keys(sources[0]?.sums ?? {});
    const sums = names.map((name) => `CAST(coalesce(sum(${name}), 0) AS VARCHAR)`).join(', ');
    const columns = ['source', ...names].join(', ');
    const found = await this.parts.duckdb.rows(`SELECT source, CAST(count(*) AS VARCHAR), ${sums} FROM (
        SELECT ${columns} FROM prior p ANTI JOIN log l USING (source, id)
        UNION ALL SELECT ${columns} FROM log WHERE op = 'upsert') GROUP BY source`);
    const here = new Map(found.map(([source, ...numbers]) => [String(source), numbers.join(' ')]));
    const expected = sources.filter(({ rows }) => rows > 0);
    return (
      here.size === expected.length &&
      expected.every(
        ({ source, rows, sums: exact }) =>
          here.get(source) === [rows, ...names.map((name) => exact[name])].join(' '),
      )
    );
  }

  /** Returns the number of differences, and how many of them are deletions. */
  async count(): Promise<{ readonly all: number; readonly deleted: number }> {
    const [numbers = []] = await this.parts.duckdb.rows(
      "SELECT count(*), count(*) FILTER (op = 'delete') FROM log",
    );
    const [all = 0, deleted = 0] = numbers.map(Number);
    return { all, deleted };
  }
}
