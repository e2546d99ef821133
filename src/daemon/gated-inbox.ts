import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import { acceptingOnSqlite, tryingOnSqlite } from '../store/dialect/sqlite/accept-deliveries.js';
import {
  DeliveryJournal,
  type Recovered,
  recoverDeliveries,
  recoverInTurns,
} from '../store/dialect/sqlite/delivery-journal.js';
import type { SqliteDatabase } from '../store/dialect/sqlite/open.js';
import { isOfLock, writeLockOf } from '../store/dialect/sqlite/write-lock.js';
import { type Inbox, type InboxDatabase, sqliteInbox } from '../store/inbox.js';
import { WriteGate } from './write-gate.js';

/** After this time, deliveries that could not be moved to the inbox are tried again. */
const retryMillis = 1_000;

/** A delivery that waits longer for the gate, because the journal failed, is rejected and resent later. */
const timeoutMillis = 5_000;

export interface GatedInbox {
  /** The gate for every other writer of this process. */
  readonly gate: WriteGate;
  /** Accepts deliveries in a journal while the gate is closed or another program has the write lock. All else waits. */
  readonly inbox: Inbox;
  /** Writes as for a delivery and leaves nothing. Rejects while a delivery could not be stored. */
  tryWrite(): Promise<void>;
  close(): Promise<void>;
}

/** Opens the inbox of a SQLite mirror and the gate before its writers. Recovers the journals of ended processes. */
export function openGatedInbox(database: SqliteDatabase, clock: Clock, logger: Logger): GatedInbox {
  const { raw, file } = database;
  const lock = writeLockOf(raw);
  const store = acceptingOnSqlite(raw, file);
  const journal = new DeliveryJournal(file, store);
  let hasFailed = false;
  const empty = async () => {
    try {
      await journal.empty();
      hasFailed = false;
    } catch (error) {
      if (!hasFailed)
        logger.warn(
          { error },
          'deliveries stay in their journal for now: they could not be moved to the inbox',
        );
      hasFailed = true;
    }
  };
  const gate = new WriteGate(clock, empty, lock);
  const closing = new AbortController();
  let retrying = Promise.resolve();
  let isRetrying = false;
  let isRecovered = false;
  let hasComplained = false;
  const recovered = ({ moved, unreadable }: Recovered) => {
    isRecovered = true;
    if (moved > 0) logger.info({ count: moved }, 'deliveries of an earlier process were moved to the inbox');
    if (unreadable > 0)
      logger.warn(
        { count: unreadable, hint: 'the file beside the database whose name includes "-unreadable-"' },
        'deliveries of an earlier process cannot be read: their journal is kept',
      );
  };
  const notRecovered = (error: unknown) => {
    if (!hasComplained)
      logger.warn({ error }, 'deliveries of an earlier process stay in their journal for now');
    hasComplained = true;
  };
  /**
   * For what is left when the gate opens: emptying failed, or the delivery came in that very moment. And for what earlier
   * processes left, if it could not be moved at the start.
   */
  const retry = async () => {
    while ((!journal.isEmpty || !isRecovered) && !closing.signal.aborted) {
      await clock.wait(retryMillis, closing.signal);
      if (gate.isClosed || closing.signal.aborted) continue;
      if (!isRecovered)
        await recoverInTurns(file, (rows) => gate.passing(() => store(rows))).then(recovered, notRecovered);
      if (!journal.isEmpty) await empty();
    }
    isRetrying = false;
  };
  const startRetrying = () => {
    if (isRetrying) return;
    isRetrying = true;
    retrying = retry();
  };
  const accept: InboxDatabase['accept'] = async (rows) => {
    try {
      journal.append(rows);
      startRetrying();
      return rows.map(() => ({ ok: true, result: 'stored' }));
    } catch (error) {
      logger.warn({ error }, 'the journal of deliveries cannot be written: they wait for the database');
      await gate.opened(timeoutMillis);
      return await store(rows);
    }
  };
  const storeOrKeep: InboxDatabase['accept'] = (rows) => {
    if (gate.isClosed) return accept(rows);
    try {
      return store(rows);
    } catch (error) {
      if (!isOfLock(error)) throw error;
      gate.meetLock();
      return accept(rows);
    }
  };
  try {
    recovered(recoverDeliveries(file, store));
  } catch (error) {
    notRecovered(error);
    startRetrying();
  }
  const inbox = sqliteInbox(database, storeOrKeep);
  const tryNow = tryingOnSqlite(raw, file);
  const tryWrite = async () => {
    await gate.opened(timeoutMillis);
    tryNow();
  };
  const close = async () => {
    closing.abort();
    await gate.close();
    await retrying;
    await empty();
    journal.leave();
  };
  return { gate, inbox: gate.guard(inbox, timeoutMillis, ['accept']), tryWrite, close };
}
