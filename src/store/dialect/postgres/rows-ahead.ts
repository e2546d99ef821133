import pg from 'pg';
import type { PageFacts, RecordItem } from '../../page-facts.js';
import type { LockedSource } from './locked-source.js';
import { appendRows } from './page-rows.js';
import type { Transaction } from './transaction.js';

/** Rows of a page that are sent right after the statements that lock the source, before their results arrive. */
export interface Ahead {
  readonly rows: number;
  send(transaction: Transaction): Promise<void>;
  /** Throws, so that the rows are rolled back, if the locked source is not in the state these rows were sent for. */
  judge(locked: LockedSource): void;
}

/**
 * Saves a round trip per page of a first listing, whose source is usually in the same state as for the page before.
 * The rows are sent together with the statements that lock the source, and the server inserts them while the locked
 * state is checked. Nothing else is written before the check, and nothing is committed. If the lease was taken over, the
 * rows are rolled back. If the state differs, they are rolled back and the page is written again after reading the state.
 */
export class RowsAhead {
  /** Numbers, by name, of the sources whose last page could have been sent ahead. */
  readonly #known = new Map<string, number>();

  /** Returns the rows to send ahead, or null if the source's state has to be read first. */
  of(source: string, page: PageFacts): Ahead | null {
    const no = this.#known.get(source);
    const records = no === undefined ? null : plainRecords(page);
    if (no === undefined || records === null) return null;
    const included = page.identityIncluded;
    return {
      rows: records.length,
      send: async (transaction) => {
        await transaction.throwIfFailed();
        appendRows(transaction, no, records);
      },
      judge: (locked) => {
        const grantLost = included === false && locked.source.identity_included === 1;
        if (locked.source.no !== no || !isOpen(locked) || grantLost) throw new Misjudged();
      },
    };
  }

  /** Remembers the state in which a page found its source. */
  learn({ source, ...locked }: LockedSource): void {
    if (isOpen(locked)) this.#known.set(source.name, source.no);
    else this.#known.delete(source.name);
  }

  /**
   * Returns whether the error came from sending ahead: the state differed, or the unique index was built meanwhile. The
   * next page of the source is not sent ahead.
   */
  wasMisjudged(source: string, error: unknown): boolean {
    this.#known.delete(source);
    return (
      error instanceof Misjudged || (error instanceof pg.DatabaseError && error.code === uniqueViolation)
    );
  }
}

const uniqueViolation = '23505';

class Misjudged extends Error {}

/** Whether rows may be inserted unchecked: not visible yet, no unique index, and no forgotten person to leave out. */
function isOpen({ listing, idsIndexed, forgotten }: Omit<LockedSource, 'source'>): boolean {
  return listing?.kind === 'first' && !idsIndexed && forgotten.size === 0;
}

/** Returns the page's records, or null if it reports an erasure or has an entry for the quarantine. */
function plainRecords({
  latest,
  hasRejected,
  removes,
  deactivates,
}: PageFacts): readonly RecordItem[] | null {
  if (hasRejected || removes || deactivates) return null;
  return latest.filter((item) => item.kind === 'record');
}
