import type { FaultCode } from '../domain/fault.js';
import type { Instant } from '../domain/instant.js';
import type { Cursor, PageToken, Position } from '../domain/position.js';
import type { Active, Listed, ListingProgress, Phase } from '../sync/ports.js';
import { namesIncomplete } from './identity-grant.js';
import type { ActiveState } from './schema-columns.js';
import type { ListingRow, SourceRow, SweepRow } from './source-row.js';

/** The rows that complete a position, where they exist. */
export interface Behind {
  readonly listing: ListingRow | null | undefined;
  readonly sweep: SweepRow | null | undefined;
}

/** Returns the committed position in the types of the sync engine. Throws when a required column or row is missing. */
export function phaseOf(source: SourceRow, behind: Behind): Phase {
  if (source.state !== 'halted') return active(source, source.state, behind);
  const { halted_from, halted_code, halted_message, halted_at } = source;
  if (halted_from === null || halted_code === null || halted_message === null || halted_at === null)
    throw new Error(`source ${source.name} is halted without a recorded reason`);
  return {
    kind: 'halted',
    code: halted_code as FaultCode,
    message: halted_message,
    at: halted_at as Instant,
    before: active(source, halted_from, behind),
  };
}

export function listingProgress(listing: ListingRow): ListingProgress {
  return {
    kind: listing.kind,
    generation: listing.generation,
    token: listing.token as PageToken | null,
    lowMark: listing.low_mark as Instant | null,
    pages: listing.pages,
    rows: listing.rows,
    final: listing.final as Cursor | null,
    restarts: listing.restarts,
    notBefore: listing.not_before as Instant | null,
  };
}

function active(source: SourceRow, state: ActiveState, behind: Behind): Active {
  switch (state) {
    case 'empty':
      return { kind: 'empty' };
    case 'listing':
    case 'relisting':
    // Versions before 0.2 stopped here at the deletion brake: the listing is complete and the next tick publishes it.
    case 'held':
      return {
        kind: 'listing',
        listing: listingProgress(present(behind.listing, source)),
      };
    case 'sweeping': {
      const sweep = present(behind.sweep, source);
      return {
        kind: 'sweeping',
        since: sweepPosition(sweep),
        cursor: sweep.cursor as Cursor,
        listed: listed(source),
      };
    }
    case 'following':
      return {
        kind: 'following',
        cursor: present(source.cursor, source) as Cursor,
        listed: listed(source),
        namesIncomplete: namesIncomplete(source),
      };
  }
}

/** Returns where a sweep reads next. */
export function sweepPosition({ since, cursor, reached }: SweepRow): Position {
  if (reached !== null) return { kind: 'cursor', cursor: reached as Cursor };
  if (since !== null) return { kind: 'since', time: since as Instant };
  return { kind: 'cursor', cursor: cursor as Cursor };
}

function listed(source: SourceRow): Listed {
  return { at: present(source.last_listing_at, source) as Instant, restarts: source.listing_restarts };
}

function present<Value>(value: Value | null | undefined, source: SourceRow): Value {
  if (value === null || value === undefined)
    throw new Error(`source ${source.name} is ${source.state} but a value that state requires is missing`);
  return value;
}
