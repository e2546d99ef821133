import type { CompiledQuery, Kysely, RawBuilder } from 'kysely';
import type { SourceName } from '../domain/ids.js';
import type { Instant } from '../domain/instant.js';
import type {
  AcceptedEvent,
  Inbox as InboxPort,
  Lane,
  PendingEvent,
  Proof,
  Settlement,
  WaitingLane,
} from '../inbox/ports.js';
import { type Connection, postgresConnection, sqliteConnection } from './connection.js';
import { type DeliveryRow, deliveryRow, type Stored } from './delivery-row.js';
import { acceptingOnPostgres } from './dialect/postgres/accept-deliveries.js';
import type { PostgresDatabase } from './dialect/postgres/open.js';
import { acceptingOnSqlite } from './dialect/sqlite/accept-deliveries.js';
import { withSqliteFaults } from './dialect/sqlite/faults.js';
import type { SqliteDatabase } from './dialect/sqlite/open.js';
import { preparingOnce } from './dialect/sqlite/prepared.js';
import { withoutWaiting } from './dialect/sqlite/transaction.js';
import { GroupCommit, type GroupCommitParts } from './group-commit.js';
import { sql } from './query-builder.js';
import type { ReadDatabase } from './reads/views.js';

const hourMillis = 3_600_000;
/** The platform retries a delivery for 72 hours. The extra day allows for a wrong clock. */
export const inboxKeepMillis = (72 + 24) * hourMillis;

/** What the inbox leaves to its database. */
export interface InboxDatabase {
  readonly connection: Connection;
  readonly accept: GroupCommitParts<DeliveryRow, Stored>['commit'];
  /** Runs a query that repeats with other parameters: each tick runs two. */
  readonly select: <Row>(query: CompiledQuery<Row>) => Promise<readonly Row[]>;
  /** Runs an update that a power cut may lose: the events are pending again then, and are worked again. */
  readonly update: (statement: CompiledQuery) => Promise<void>;
  /** Whether several daemons share the inbox. Updates then skip rows that another daemon has locked. */
  readonly shared: boolean;
}

/**
 * Webhooks that were accepted and not yet covered by a sync. An event is durable once `accept` resolves; the receiver
 * responds 2xx only then. Deliveries that arrive together are committed together.
 */
export class Inbox implements InboxPort {
  readonly #accepting: GroupCommit<DeliveryRow, Stored>;
  readonly #connection: Connection;
  readonly #parts: InboxDatabase;
  #compiled: Promise<Queries> | undefined;

  constructor(parts: InboxDatabase) {
    this.#connection = parts.connection;
    this.#parts = parts;
    this.#accepting = new GroupCommit({ commit: parts.accept, bytesOf });
  }

  accept(event: AcceptedEvent): Promise<Stored> {
    return this.#accepting.add(deliveryRow(event));
  }

  async waiting(): Promise<readonly WaitingLane[]> {
    const rows = await this.#parts.select((await this.#queries()).waiting);
    return rows.flatMap(({ source, events, dueAt }) =>
      source === null ? [] : [{ lane: source as Lane, events, dueAt: dueAt as Instant }],
    );
  }

  async pending(lane: Lane, after: number, limit: number): Promise<readonly PendingEvent[]> {
    const { pending } = await this.#queries();
    const query: typeof pending = { ...pending, parameters: [lane, after, limit] };
    const rows = await this.#parts.select(query);
    return rows.map((row) => ({
      no: row.inbox_no,
      observedAt: row.observed_at as Instant | null,
      receivedAt: row.received_at as Instant,
      attempts: row.attempts,
      nextAt: row.next_at as Instant | null,
    }));
  }

  async settle(nos: readonly number[], end: Settlement, at: Instant): Promise<void> {
    await this.#update(nos, 'settle', [end, at]);
  }

  async retry(nos: readonly number[], nextAt: Instant): Promise<void> {
    await this.#update(nos, 'retry', [nextAt]);
  }

  /** Read from rows that only the lease holder of the source writes. */
  async proofOf(source: SourceName): Promise<Proof | null> {
    const row = await this.#connection.run((db) =>
      db
        .selectFrom('tick_rows')
        .innerJoin('sources', 'sources.no', 'tick_rows.source_no')
        .select(['tick_rows.started_at', 'sources.published_through'])
        .where('sources.name', '=', source)
        .where('tick_rows.outcome', '=', 'done')
        // Single records that were read again say nothing of the feed.
        .where('tick_rows.mode', '<>', 'none')
        .orderBy('tick_rows.tick', 'desc')
        .limit(1)
        .executeTakeFirst(),
    );
    return row === undefined
      ? null
      : {
          startedAt: row.started_at as Instant,
          publishedThrough: row.published_through as Instant | null,
        };
  }

  /** Compiles the queries of each tick once: compiling one takes longer than running it. */
  #queries(): Promise<Queries> {
    this.#compiled ??= this.#connection.run(async (db) => queriesOf(db));
    return this.#compiled;
  }

  /** Runs a single statement on pending events. */
  async #update(
    nos: readonly number[],
    change: 'settle' | 'retry',
    values: readonly string[],
  ): Promise<void> {
    if (nos.length === 0) return;
    const { shared, update } = this.#parts;
    const queries = await this.#queries();
    if (shared) await update({ ...queries[change](lockedAmong(nos)), parameters: values });
    else {
      const these = sql<number>`(SELECT value FROM json_each(${''}))`;
      const statement = queries.compiled[change] ?? queries[change](these);
      queries.compiled[change] = statement;
      await update({ ...statement, parameters: [...values, JSON.stringify(nos)] });
    }
  }

  /** Deletes events settled before `before`, usually now minus `inboxKeepMillis`. Pending events are never deleted. */
  async purge(before: Instant): Promise<number> {
    const result = await this.#connection.run((db) =>
      db
        .deleteFrom('webhook_inbox')
        .where('state', '<>', 'pending')
        .where('worked_at', '<', before)
        .executeTakeFirstOrThrow(),
    );
    return Number(result.numDeletedRows);
  }

  async counts(): Promise<Readonly<Record<'pending' | 'worked' | 'ignored' | 'given_up', number>>> {
    const rows = await this.#connection.run((db) =>
      db
        .selectFrom('webhook_inbox')
        .select(({ fn }) => ['state', fn.countAll<number>().as('count')])
        .groupBy('state')
        .execute(),
    );
    const counts = { pending: 0, worked: 0, ignored: 0, given_up: 0 };
    for (const { state, count } of rows) counts[state] = count;
    return counts;
  }
}

type Queries = ReturnType<typeof queriesOf>;

/** Returns those that no other daemon has locked. The numbers are part of the text: there may be more than parameters. */
function lockedAmong(nos: readonly number[]): RawBuilder<number> {
  const these = nos.map(wholeNumber).join(', ');
  return sql.raw(
    `(SELECT inbox_no FROM webhook_inbox WHERE inbox_no IN (${these}) AND state = 'pending' FOR UPDATE SKIP LOCKED)`,
  );
}

/**
 * The parameters of `pending` are the lane, the number before the first event, and the limit. SQLite's planner looks at the
 * values of plain parameters and prepares the statement again for each. So the state is part of the text, and the parameters
 * are operands. `settle` and `retry` update the pending ones among the given events: their parameters are the new state and
 * the time, or the time of the next attempt, and then those of the given expression. `compiled` keeps those that repeat.
 */
function queriesOf(db: Kysely<ReadDatabase>) {
  const pendingState = sql.lit<'pending'>('pending');
  return {
    waiting: db
      .selectFrom('webhook_inbox')
      .select(({ fn }) => [
        'source',
        fn.countAll<number>().as('events'),
        fn.min(fn.coalesce('next_at', 'received_at')).as('dueAt'),
      ])
      .where('state', '=', pendingState)
      .groupBy('source')
      .orderBy('dueAt')
      .compile(),
    pending: db
      .selectFrom('webhook_inbox')
      .select(['inbox_no', 'observed_at', 'received_at', 'attempts', 'next_at'])
      .where('state', '=', pendingState)
      .where('source', '=', sql<string>`${''} || ''`)
      .where('inbox_no', '>', sql<number>`cast(${0} as bigint) + 0`)
      .orderBy('inbox_no')
      .limit(sql<number>`cast(${0} as bigint) + 0`)
      .compile(),
    settle: (these: RawBuilder<number>): CompiledQuery =>
      db
        .updateTable('webhook_inbox')
        .set({
          state: sql<Settlement>`${''}`,
          worked_at: sql<Instant>`${''}`,
          next_at: sql<null>`NULL`,
          body: sql<null>`NULL`,
          attempts: sql<number>`attempts + 1`,
        })
        .where('inbox_no', 'in', these)
        .where('state', '=', pendingState)
        .compile(),
    retry: (these: RawBuilder<number>): CompiledQuery =>
      db
        .updateTable('webhook_inbox')
        .set({ next_at: sql<Instant>`${''}`, attempts: sql<number>`attempts + 1` })
        .where('inbox_no', 'in', these)
        .where('state', '=', pendingState)
        .compile(),
    compiled: {} as { settle?: CompiledQuery; retry?: CompiledQuery },
  };
}

/** Returns the inbox of a SQLite file. `accept` stores deliveries instead of the inbox. */
export function sqliteInbox(database: SqliteDatabase, accept?: InboxDatabase['accept']): Inbox {
  const update = updatingOnSqlite(database);
  return new Inbox({
    connection: sqliteConnection(database),
    accept: accept ?? acceptingOnSqlite(database.raw, database.file),
    select: selectingOnSqlite(database),
    update: async (statement) => update(statement),
    shared: false,
  });
}

export function postgresInbox(database: PostgresDatabase): Inbox {
  const connection = postgresConnection(database);
  return new Inbox({
    connection,
    accept: acceptingOnPostgres(database),
    select: (query) => connection.run(async (db) => (await db.executeQuery(query)).rows),
    update: async (statement) => {
      await connection.run((db) => db.executeQuery(statement));
    },
    shared: true,
  });
}

function selectingOnSqlite({ raw, file }: SqliteDatabase): InboxDatabase['select'] {
  const prepare = preparingOnce(raw);
  return async <Row>({ sql: text, parameters }: CompiledQuery<Row>) =>
    withSqliteFaults(file, () => prepare(text).all(...parameters) as readonly Row[]);
}

/** Returns a function that commits each statement without waiting for the disk. */
function updatingOnSqlite({ raw, file }: SqliteDatabase): (statement: CompiledQuery) => void {
  const prepare = preparingOnce(raw);
  return ({ sql: text, parameters }) =>
    withSqliteFaults(file, () => {
      const statement = prepare(text);
      withoutWaiting(raw, () => statement.run(...parameters));
    });
}

/** The body is nearly all of a row. */
const bytesOf = (row: DeliveryRow): number => rowBytes + String(row.at(-1) ?? '').length;
const rowBytes = 300;

/** Guards text that is placed in a statement. Throws unless `no` is a safe integer. */
function wholeNumber(no: number): string {
  if (!Number.isSafeInteger(no)) throw new Error(`${no} is not an event number`);
  return String(no);
}
