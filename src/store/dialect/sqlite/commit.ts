import type { Instant } from '../../../domain/instant.js';
import type { FeedItem, Identity } from '../../../domain/investment.js';
import type { Applied } from '../../../sync/ports.js';
import { boundedDrift } from '../../anomaly-limits.js';
import {
  type CommitHooks,
  type CommittedChange,
  changeOf,
  changesPerCall,
  type NoticeDraft,
} from '../../committed-change.js';
import { unreadableErasures, withoutErased, withoutForgotten } from '../../forgotten.js';
import { grantIsGone, grantIsThere, judgeGrant } from '../../identity-grant.js';
import { spaced, spacedSince } from '../../notice-spacing.js';
import { oddities } from '../../page-anomalies.js';
import { lastOfEach, type RecordItem, type Step } from '../../plan-page.js';
import { columnsToWrite, identityValues, recordValues, stored } from '../../record-columns.js';
import type { ActiveState } from '../../schema.js';
import { type CommitTimes, moveTo, type SourceRow, sourceColumns } from '../../source-row.js';
import { Erasing } from './erasing.js';
import { resolveReadable, setAside } from './quarantine.js';
import type { Statements } from './statements.js';
import { type HeldRow, heldRow } from './stored-row.js';

/**
 * One transaction's worth of writing to one source. It reads the clock once, hands out the feed's numbers in
 * order, keeps the source's counters, and writes the source row at the end.
 */
export class Commit {
  /** What the source row will be; everything a write changes about the source is changed here. */
  readonly source: SourceRow;
  /** The time of its versions and changes. */
  readonly at: Instant;
  /** The wall clock, for everything that is compared with it later: see `CommitTimes`. */
  readonly now: Instant;
  readonly #erasing: Erasing;
  readonly #changes: CommittedChange[] = [];
  readonly #before: SourceRow;
  #lastSeq: number;
  #added = 0;
  #changed = 0;
  #removed = 0;

  constructor(
    readonly statements: Statements,
    source: SourceRow,
    { at, now }: CommitTimes,
    readonly hooks: CommitHooks,
  ) {
    this.at = at;
    this.now = now;
    this.source = { ...source, last_committed_at: at };
    this.#before = source;
    this.#lastSeq = statements.lastSeq.get() ?? 0;
    this.#erasing = new Erasing(statements.raw, source.no, now, statements.residue);
  }

  held(id: string): HeldRow | undefined {
    return heldRow(this.statements, this.statements.held.get(this.source.no, id));
  }

  /** Performs one step of what a page of the feed asks for; a listing is published as a whole, by `swapIn`. */
  perform(step: Step<HeldRow>): void {
    switch (step.kind) {
      case 'insert':
        this.#insert(step.record);
        break;
      case 'replace':
        this.#replace(step.held, step.record, step.fields, step.identityDiffers);
        break;
      case 'remove':
        this.#remove(step.held, step.reason);
        break;
    }
  }

  moveTo(state: ActiveState): void {
    moveTo(this.source, state);
  }

  /** One row in the feed for a whole first listing. */
  snapshot(): number {
    const seq = this.#nextSeq();
    this.statements.insertChange.run(seq, this.source.no, null, 'snapshot', '[]', null, this.at);
    return seq;
  }

  putIdentity(rowNo: number | bigint, identity: Identity | null): void {
    if (identity !== null) this.statements.putIdentity.run(rowNo, ...identityValues(identity));
  }

  /**
   * What a page brought, less what may not be kept, before anything of it is compared or stored. It is judged
   * whole first: that identity is missing where it used to stand means that the grant is gone, and with it goes
   * what it gave. People and records that are gone leave every table now, even if their rows wait for a listing.
   */
  receive(items: readonly FeedItem[]): readonly FeedItem[] {
    if (judgeGrant(this.source, items, this.hooks.identity)) this.#erasing.source('grant_lost');
    const indexed = this.statements.indexed();
    for (const item of lastOfEach(items)) {
      if (item.kind === 'tombstone') this.#erasing.record(item.id, 'tombstone');
      // Before the very first listing is complete a person's other records cannot be found without reading all;
      // the pass that follows every listing brings each of them.
      else if (item.investment.investor_deactivated && indexed) this.#deactivate(item);
    }
    // That a record cannot be read is no reason to keep whom it says is gone.
    const gone = unreadableErasures(items);
    for (const [id, cause] of gone) {
      const investor = cause === 'deactivated' && indexed ? this.statements.investorOf.get(id) : null;
      if (investor != null) this.#erasing.deactivated(investor);
      this.#erasing.record(id, cause);
    }
    const forgotten = new Set(this.statements.forgotten.all());
    const investorOf = (id: string) => (indexed ? (this.statements.investorOf.get(id) ?? null) : null);
    return withoutForgotten(withoutErased(items, gone), forgotten, investorOf);
  }

  /** False when there was none to lose. */
  loseGrant(): boolean {
    const had = grantIsGone(this.source);
    if (had) this.#erasing.source('grant_lost');
    return had;
  }

  /** Returns whether names are incomplete. */
  regainGrant(): boolean {
    return grantIsThere(this.source);
  }

  /** A page named these records: they do not await deletion any more. */
  unmark(ids: readonly string[]): void {
    if (this.source.awaiting_deletion === 0 || ids.length === 0) return;
    const { changes } = this.statements.unmarkNamed.run(JSON.stringify(ids), this.source.no);
    this.source.awaiting_deletion -= changes;
  }

  /** Exactly the rows that no page of the listing named await deletion from now on. */
  markUnseen(): void {
    const { no, generation } = this.source;
    this.source.awaiting_deletion = this.statements.markUnseen.run(generation, this.at, no, no).changes;
    this.statements.unmarkOthers.run(no, generation);
  }

  unmarkAll(): void {
    this.statements.unmarkAll.run(this.source.no);
    this.source.awaiting_deletion = 0;
  }

  /** Quarantine and unknown fields of a page. Answers how many entries are newly set aside; one that was already is not new. */
  note(items: readonly FeedItem[]): number {
    const found = oddities(items);
    if (found.unknownFields.size > 0) {
      const known = new Set(this.statements.driftFields.all(this.source.no));
      for (const [field, times] of boundedDrift(found.unknownFields, known))
        this.statements.countDrift.run(this.source.no, field, times, this.at, this.at);
    }
    const opened = setAside(this.statements, this.source, found.setAside, this.at);
    this.source.quarantined += opened;
    if (this.source.quarantined > 0)
      this.source.quarantined -= resolveReadable(this.statements, this.source.no, found.readable, this.at);
    return opened;
  }

  /** Nothing is written after this. Answers whether anybody was erased. */
  finish(): boolean {
    this.#queueNotices();
    const receipts = this.#erasing.finish();
    const moved = sourceColumns.filter((column) => this.source[column] !== this.#before[column]);
    if (moved.length > 0)
      this.statements.updateSource(moved).run(...moved.map((column) => this.source[column]), this.source.no);
    return receipts > 0;
  }

  /** Takes so many numbers of the feed at once; answers the last one before them. */
  reserve(numbers: number): number {
    const before = this.#lastSeq;
    this.#lastSeq += numbers;
    return before;
  }

  /** Somebody we knew, whom a complete listing does not name any more: the caller deletes the identity with the row. */
  absent(id: string): void {
    this.#erasing.absent(id);
  }

  /** Whether anybody wants to hear of changes one by one. */
  get tellsNotices(): boolean {
    return this.hooks.notices !== undefined;
  }

  tell(change: CommittedChange): void {
    this.#changes.push(change);
    if (this.#changes.length >= changesPerCall) this.#queueNotices();
  }

  /** What was written without `perform`. */
  count({ added, changed, removed }: Pick<Applied, 'added' | 'changed' | 'removed'>): void {
    this.#added += added;
    this.#changed += changed;
    this.#removed += removed;
    this.source.rows_held += added - removed;
  }

  applied(unchanged: number, quarantined: number): Applied {
    return { added: this.#added, changed: this.#changed, removed: this.#removed, unchanged, quarantined };
  }

  #deactivate({ investment }: RecordItem): void {
    const investor = investment.investor_id ?? this.statements.investorOf.get(investment.id);
    if (investor != null) this.#erasing.deactivated(investor);
  }

  #insert(record: RecordItem): void {
    const { investment, identity } = record;
    const seq = this.#announce('added', null, record, [], investment.reason);
    const { lastInsertRowid } = this.statements.insertRow.run(
      this.source.no,
      investment.id,
      this.at,
      seq,
      ...recordValues(investment),
    );
    this.putIdentity(lastInsertRowid, identity);
    this.source.rows_held += 1;
    this.#added += 1;
  }

  #replace(held: HeldRow, record: RecordItem, fields: readonly string[], identityDiffers: boolean): void {
    const { investment, identity } = record;
    const differs = fields.length > 0 || identityDiffers;
    const seq = differs ? this.#announce('changed', held, record, fields, investment.reason) : null;
    this.statements.archive.run(this.at, 'update', held.rowNo);
    const columns = columnsToWrite(new Set(fields));
    const values = columns.map((column) => stored(investment[column]));
    this.statements.updateRow(columns).run(this.at, seq, ...values, held.rowNo);
    // Replaced, never merged: what the new record does not say is gone.
    if (identityDiffers) {
      this.statements.deleteIdentity.run(held.rowNo);
      this.putIdentity(held.rowNo, identity);
    }
    if (differs) this.#changed += 1;
  }

  #remove(held: HeldRow, reason: string | null): void {
    this.#announce('removed', held, null, [], reason);
    this.statements.archive.run(this.at, 'tombstone', held.rowNo);
    this.statements.deleteIdentity.run(held.rowNo);
    this.statements.deleteRow.run(held.rowNo);
    this.source.rows_held -= 1;
    this.#removed += 1;
  }

  #announce(
    kind: CommittedChange['kind'],
    held: HeldRow | null,
    record: RecordItem | null,
    fields: readonly string[],
    reason: string | null,
  ): number {
    const seq = this.#nextSeq();
    const { at } = this;
    const id = held?.investment.id ?? record?.investment.id ?? null;
    this.statements.insertChange.run(seq, this.source.no, id, kind, JSON.stringify(fields), reason, at);
    // Where nobody wants to hear of it, what to tell need not be made: 33 µs of a tick with one change.
    if (this.tellsNotices)
      this.tell(changeOf(kind, held, record, { fields, reason, seq, at, source: this.source.name }));
    return seq;
  }

  #nextSeq(): number {
    this.#lastSeq += 1;
    return this.#lastSeq;
  }

  #queueNotices(): void {
    const changes = this.#changes.splice(0);
    if (changes.length === 0) return;
    for (const draft of this.hooks.notices?.draft(changes) ?? []) this.#queue(draft);
  }

  #queue({ id, seq, target, body }: NoticeDraft): void {
    const last = this.statements.lastNotice.get(id, this.source.no, target, spacedSince(this.now));
    const step = spaced(last, this.now, body, this.hooks.notices);
    if (step.kind === 'insert')
      this.statements.insertNotice.run(this.source.no, seq, target, body, this.now, step.nextAt);
    else if (step.kind === 'delete') this.statements.deleteNotice.run(step.notice);
    else this.statements.foldNotice.run(seq, step.body, step.notice);
  }
}
