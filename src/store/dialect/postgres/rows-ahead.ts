import pg from 'pg';
import type { FeedPage } from '../../../sync/ports.js';
import { identityIncluded } from '../../page-anomalies.js';
import { lastOfEach, type RecordItem } from '../../plan-page.js';
import type { LockedSource } from './locked-source.js';
import { appendRows } from './page-rows.js';
import type { Transaction } from './transaction.js';

/** Rows that are sent right behind the lock of their source, before its answer is here. */
export interface Ahead {
  readonly rows: number;
  send(transaction: Transaction): Promise<void>;
  /** Throws unless what the lock answered is what these rows were sent for: then they are rolled back. */
  judge(locked: LockedSource): void;
}

/**
 * Page after page of a first listing finds its source as the one before it did. So its rows go out with the statements
 * that lock the source: the server is at them when the answer arrives, which tells only whether they may stay. Nothing
 * else is written before that, and a commit never: whoever was overtaken, and whatever is not as it was, is rolled
 * back, and in the latter case the page is written once more by asking first. To ask first took 0.7 of a page's six
 * milliseconds over loopback, and takes a whole way there and back anywhere else.
 */
export class RowsAhead {
  /** Numbers of the sources whose last page was such a one. */
  readonly #known = new Map<string, number>();

  /** Null where the answer has to be known first. */
  of(source: string, page: FeedPage): Ahead | null {
    const no = this.#known.get(source);
    const records = no === undefined ? null : plainRecords(page);
    if (no === undefined || records === null) return null;
    const included = identityIncluded(records);
    return {
      rows: records.length,
      send: async (transaction) => {
        await transaction.sent();
        appendRows(transaction, no, records);
      },
      judge: (locked) => {
        const grantLost = included === false && locked.source.identity_included === 1;
        if (locked.source.no !== no || !isOpen(locked) || grantLost) throw new Misjudged();
      },
    };
  }

  /** How a page found its source. */
  learn({ source, ...locked }: LockedSource): void {
    if (isOpen(locked)) this.#known.set(source.name, source.no);
    else this.#known.delete(source.name);
  }

  /** Ids may also have become unique between the answer and the rows. The page is not sent ahead again. */
  misjudged(source: string, error: unknown): boolean {
    this.#known.delete(source);
    return (
      error instanceof Misjudged || (error instanceof pg.DatabaseError && error.code === uniqueViolation)
    );
  }
}

const uniqueViolation = '23505';

class Misjudged extends Error {}

/** Rows may simply be added: nobody sees them yet, none can be there already, and nobody's person is left out. */
function isOpen({ listing, idsIndexed, forgotten }: Omit<LockedSource, 'source'>): boolean {
  return listing?.kind === 'first' && !idsIndexed && forgotten.size === 0;
}

/** Null for a page that says of anybody that they are gone, or of which something is set aside. */
function plainRecords({ items }: FeedPage): readonly RecordItem[] | null {
  const records: RecordItem[] = [];
  for (const item of lastOfEach(items))
    if (item.kind === 'record' && !item.investment.investor_deactivated) records.push(item);
    else return null;
  return items.some(({ kind }) => kind === 'rejected') ? null : records;
}
