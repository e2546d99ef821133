import type {
  Collection,
  CollectionName,
  Differences,
  DimensionState,
  DimensionStore,
  Known,
  Listing,
  RoundLabels,
  Row,
} from '../../../dimensions/ports.js';
import type { SourceName } from '../../../domain/ids.js';
import { type Instant, instantFromMillis } from '../../../domain/instant.js';
import type { Clock } from '../../../runtime/clock.js';
import { checkAttempt, dimensionStateOf, knownOf, sumOf, touchedFrom } from '../../dimensions.js';
import { notStored, refuseErasing } from '../../lease-rules.js';
import {
  announced,
  attemptSql,
  attemptsSql,
  beginSql,
  collectionWrite,
  investedSql,
  listedSql,
  namesSql,
  planCollection,
  storedSql,
  touchedSql,
  unlistedSql,
  type Write,
  writesOf,
} from '../../plan-collection.js';
import { commitTimes, type SourceRow } from '../../source-row.js';
import { withSqliteFaults } from './faults.js';
import type { SqliteDatabase } from './open.js';
import { preparingOnce } from './prepared.js';
import { roundLabels } from './round-labels.js';
import { inTransaction, withoutWaiting } from './transaction.js';

/** Companies, rounds, their numbers and posts in SQLite. Shares the connection of the mirror's writes. */
export class SqliteDimensions implements DimensionStore {
  constructor(
    private readonly database: SqliteDatabase,
    private readonly clock: Clock,
  ) {}

  async state(source: SourceName): Promise<DimensionState> {
    return withSqliteFaults(this.database.file, () =>
      dimensionStateOf(this.#rows(listedSql, source), this.#rows(namesSql, source, source)),
    );
  }

  async touchedAt(beginnings: readonly string[]): Promise<Instant | null> {
    return withSqliteFaults(this.database.file, () =>
      touchedFrom(this.#rows(touchedSql(beginnings), ...beginnings.map((one) => `${one}%`))),
    );
  }

  async unlistedRounds(source: SourceName): Promise<readonly string[]> {
    return withSqliteFaults(this.database.file, () =>
      this.#rows(unlistedSql('round_rows', 'r.investments > 0'), source).map(({ id }) => String(id)),
    );
  }

  async begin(
    source: SourceName,
    wanted: readonly CollectionName[],
    needed: readonly Collection[],
  ): Promise<Known> {
    // A power cut may lose it: then no attempt is under way any more.
    return this.#write('bookkeeping', () => {
      const stored = this.#source(source);
      refuseErasing(stored, this.clock.now());
      const { no } = stored;
      const attempt = 1 + Number(this.#rows(attemptSql, no)[0]?.attempt ?? 0);
      const now = instantFromMillis(this.clock.now());
      for (const collection of wanted) this.#run(beginSql, no, collection, attempt, now);
      const invested = this.#rows(investedSql('round_rows', 'r.investments > 0'), no);
      return knownOf(
        attempt,
        invested,
        needed.map((collection) => [collection, this.#rows(storedSql(collection), no)] as const),
      );
    });
  }

  labelsOf(source: SourceName, round: string): Promise<RoundLabels> {
    return roundLabels(this.database, source, round);
  }

  async apply(source: SourceName, attempt: number, listings: readonly Listing[]): Promise<Differences> {
    try {
      return this.#apply('bookkeeping', source, attempt, listings);
    } catch (error) {
      if (!(error instanceof MustBeDurable)) throw error;
      return this.#apply('durable', source, attempt, listings);
    }
  }

  #apply(
    durability: 'durable' | 'bookkeeping',
    name: SourceName,
    attempt: number,
    listings: readonly Listing[],
  ): Differences {
    return this.#write(durability, () => {
      const source = this.#source(name);
      checkAttempt(name, this.#rows(attemptsSql, source.no), attempt, listings);
      const { at, now } = commitTimes(source, this.clock.now());
      const plans = listings.flatMap((listing) =>
        listing.kind === 'complete'
          ? [
              planCollection(
                listing.collection,
                listing.rows,
                this.#rows(storedSql(listing.collection), source.no),
              ),
            ]
          : [],
      );
      let seq = this.#lastSeq();
      // A company may have thousands of posts.
      const prepare = preparingOnce(this.database.raw);
      const run = ({ sql, values }: Write) => prepare(sql).run(...values);
      for (const plan of plans) {
        // Readers may act on a change as soon as they see it, so its number must survive a power cut.
        if (announced(plan) > 0 && durability === 'bookkeeping') throw new MustBeDurable();
        for (const write of writesOf(plan, { sourceNo: source.no, at, firstSeq: seq + 1 })) run(write);
        seq += announced(plan);
      }
      for (const listing of listings) run(collectionWrite(listing, source.no, now));
      if (plans.some((plan) => announced(plan) > 0))
        this.#run('UPDATE sources SET last_committed_at = ? WHERE no = ?', at, source.no);
      return sumOf(plans);
    });
  }

  #write<Result>(durability: 'durable' | 'bookkeeping', work: () => Result): Result {
    const { raw, file } = this.database;
    const write = () => inTransaction(raw, work);
    return withSqliteFaults(file, durability === 'durable' ? write : () => withoutWaiting(raw, write));
  }

  #source(name: SourceName): SourceRow {
    const source = this.database.raw
      .prepare<[string], SourceRow>('SELECT * FROM sources WHERE name = ?')
      .get(name);
    if (source === undefined) throw notStored(name);
    return source;
  }

  #lastSeq(): number {
    const [row] = this.#rows("SELECT seq FROM sqlite_sequence WHERE name = 'change_rows'");
    return Number(row?.seq ?? 0);
  }

  #rows(sql: string, ...values: readonly (string | number | null)[]): readonly Row[] {
    return this.database.raw.prepare<unknown[], Row>(sql).all(...values);
  }

  #run(sql: string, ...values: readonly (string | number | null)[]): void {
    this.database.raw.prepare(sql).run(...values);
  }
}

class MustBeDurable extends Error {}
