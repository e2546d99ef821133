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
import { checkAttempt, dimensionStateOf, knownOf, labelsFrom, sumOf, touchedFrom } from '../../dimensions.js';
import { refuseErasing } from '../../lease-rules.js';
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
  writesOf,
} from '../../plan-collection.js';
import { commitTimes } from '../../source-row.js';
import { reserveNumbers } from './changes.js';
import { lockedSource } from './locked-source.js';
import type { PostgresDatabase } from './open.js';
import { numbered } from './placeholders.js';
import { inTransaction, type Transaction } from './transaction.js';

const labelsSql = `SELECT min(r.investment_type) AS investment_type, min(r.offering_type) AS offering_type,
    min(r.applied_at) AS first_applied_at
  FROM investment_rows r JOIN sources s ON s.no = r.source_no
  WHERE s.name = ? AND s.listed_at IS NOT NULL AND r.offering_id = ?`;

/**
 * Companies, rounds, their numbers and posts in PostgreSQL. Every write locks the row of its source first, as a page of
 * the feed does, and takes its numbers of the change feed last.
 */
export class PostgresDimensions implements DimensionStore {
  constructor(
    private readonly database: PostgresDatabase,
    private readonly clock: Clock,
  ) {}

  state(source: SourceName): Promise<DimensionState> {
    return inTransaction(this.database, async (transaction) =>
      dimensionStateOf(
        await rows(transaction, listedSql, source),
        await rows(transaction, namesSql, source, source),
      ),
    );
  }

  touchedAt(beginnings: readonly string[]): Promise<Instant | null> {
    return inTransaction(this.database, async (transaction) =>
      touchedFrom(await rows(transaction, touchedSql(beginnings), ...beginnings.map((one) => `${one}%`))),
    );
  }

  unlistedRounds(source: SourceName): Promise<readonly string[]> {
    return inTransaction(this.database, async (transaction) =>
      (await rows(transaction, unlistedSql('investment_rows', 'true'), source)).map(({ id }) => String(id)),
    );
  }

  begin(
    source: SourceName,
    wanted: readonly CollectionName[],
    needed: readonly Collection[],
  ): Promise<Known> {
    // Waits for the disk: this process outlives a crash of the server, and its number must not be given out again.
    return inTransaction(this.database, async (transaction) => {
      const locked = await lockedSource(transaction, source);
      refuseErasing(locked.source, this.clock.now());
      const { no } = locked.source;
      const [last] = await rows(transaction, attemptSql, no);
      const attempt = 1 + Number(last?.attempt ?? 0);
      const now = instantFromMillis(this.clock.now());
      for (const collection of wanted) transaction.send(numbered(beginSql), no, collection, attempt, now);
      const invested = await rows(transaction, investedSql('investment_rows', 'true'), no);
      const stored: (readonly [Collection, readonly Row[]])[] = [];
      for (const collection of needed)
        stored.push([collection, await rows(transaction, storedSql(collection), no)]);
      return knownOf(attempt, invested, stored);
    });
  }

  labelsOf(source: SourceName, round: string): Promise<RoundLabels> {
    return inTransaction(this.database, async (transaction) =>
      labelsFrom(await rows(transaction, labelsSql, source, round)),
    );
  }

  apply(name: SourceName, attempt: number, listings: readonly Listing[]): Promise<Differences> {
    return inTransaction(this.database, async (transaction) => {
      const { source } = await lockedSource(transaction, name);
      checkAttempt(name, await rows(transaction, attemptsSql, source.no), attempt, listings);
      const { at, now } = commitTimes(source, this.clock.now());
      const plans = [];
      for (const { kind, collection, ...listing } of listings) {
        if (kind === 'incomplete' || !('rows' in listing)) continue;
        const stored = await rows(transaction, storedSql(collection), source.no);
        plans.push(planCollection(collection, listing.rows, stored));
      }
      for (const listing of listings) {
        const { sql, values } = collectionWrite(listing, source.no, now);
        transaction.send(numbered(sql), ...values);
      }
      const numbers = plans.reduce((sum, plan) => sum + announced(plan), 0);
      if (numbers > 0)
        transaction.send('UPDATE sources SET last_committed_at = $1 WHERE no = $2', at, source.no);
      let seq = numbers > 0 ? await reserveNumbers(transaction, numbers) : 0;
      for (const plan of plans) {
        for (const { sql, values } of writesOf(plan, { sourceNo: source.no, at, firstSeq: seq + 1 }))
          transaction.send(numbered(sql), ...values);
        seq += announced(plan);
      }
      return sumOf(plans);
    });
  }
}

function rows(
  transaction: Transaction,
  sql: string,
  ...values: readonly (string | number | null)[]
): Promise<Row[]> {
  return transaction.rows<Row>(numbered(sql), ...values);
}
