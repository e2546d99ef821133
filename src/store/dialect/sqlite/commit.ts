import type { Instant } from '../../../domain/instant.js';
import type { Identity } from '../../../domain/investment.js';
import type { Applied } from '../../../sync/ports.js';
import { boundedDrift } from '../../anomaly-limits.js';
import {
  type CommitHooks,
  type CommittedChange,
  changeOf,
  changesPerCall,
  type NoticeDraft,
} from '../../committed-change.js';
import { withoutErased, withoutForgotten } from '../../forgotten.js';
import { grantIsGone, grantIsThere, judgeGrant } from '../../identity-grant.js';
import { spaced, spacedSince } from '../../notice-spacing.js';
import { type PageFacts, type RecordItem, readPage } from '../../page-facts.js';
import type { Step } from '../../plan-page.js';
import { columnsToWrite, identityValues, recordValues, stored } from '../../record-columns.js';
import type { ActiveState } from '../../schema-columns.js';
import { type CommitTimes, moveTo, type SourceRow, sourceColumns } from '../../source-row.js';
import { IdentityEraser } from './identity-eraser.js';
import { quarantineEntries, resolveReadable } from './quarantine.js';
import type { Statements } from './statements.js';
import { type StoredRow, storedRowFrom } from './stored-row.js';

/**
 * The writes of one transaction to one source. Every time in it comes from one reading of the clock. It assigns the
 * change feed's numbers in order, keeps the source's counters, and saves the source row at the end.
 */
export class Commit {
  /** The source row as `finish` will save it. Every change to the source is made here. */
  readonly source: SourceRow;
  /** The time of the versions and changes this commit writes. */
  readonly at: Instant;
  /** The wall-clock time, for values that are later compared with the clock: see `CommitTimes`. */
  readonly now: Instant;
  readonly #erasing: IdentityEraser;
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
    this.#erasing = new IdentityEraser(statements.raw, source.no, now, statements.residue);
  }

  storedRow(id: string): StoredRow | undefined {
    return storedRowFrom(this.statements, this.statements.held.get(this.source.no, id));
  }

  /** Performs one planned step of a feed page. A re-listing is published as a whole, by `swapIn`. */
  perform(step: Step<StoredRow>): void {
    switch (step.kind) {
      case 'insert':
        this.#insert(step.record);
        break;
      case 'replace':
        this.#replace(step.stored, step.record, step.fields, step.identityDiffers);
        break;
      case 'remove':
        this.#remove(step.stored, step.reason);
        break;
    }
  }

  moveTo(state: ActiveState): void {
    moveTo(this.source, state);
  }

  /** Announces a whole first listing with one row in the change feed. Returns its number. */
  snapshot(): number {
    const seq = this.#nextSeq();
    this.statements.insertChange.run(seq, this.source.no, null, 'snapshot', '[]', null, this.at);
    return seq;
  }

  putIdentity(rowNo: number | bigint, identity: Identity | null): void {
    if (identity !== null) this.statements.putIdentity.run(rowNo, ...identityValues(identity));
  }

  /**
   * Returns the page without the data that must not be stored. Runs before anything is compared or stored.
   * It first checks the page as a whole: if identity was included before and is missing now, the grant was lost, and
   * the identities stored under it are erased. The people and records that the page reports as gone are erased from
   * every table now, even if their rows stay until a listing is complete.
   */
  receive(page: PageFacts): PageFacts {
    if (judgeGrant(this.source, page, this.hooks.identity)) this.#erasing.source('grant_lost');
    const indexed = this.statements.indexed();
    for (const item of page.latest) {
      if (item.kind === 'tombstone') this.#erasing.record(item.id, 'tombstone');
      // Before the first listing is complete there is no index: a person's other records could only be found by a full
      // scan. The sweep after every listing delivers each of them.
      else if (item.investment.investor_deactivated && indexed) this.#deactivate(item);
    }
    // Erasures are honoured even when the rest of the record is unreadable.
    const unreadable = page.unreadableErasures;
    for (const [id, cause] of unreadable) {
      const investor = cause === 'deactivated' && indexed ? this.statements.investorOf.get(id) : null;
      if (investor != null) this.#erasing.deactivated(investor);
      this.#erasing.record(id, cause);
    }
    const forgotten = new Set(this.statements.forgotten.all());
    const investorOf = (id: string) => (indexed ? (this.statements.investorOf.get(id) ?? null) : null);
    const items = withoutForgotten(withoutErased(page.items, unreadable), forgotten, investorOf);
    return items === page.items ? page : readPage(items);
  }

  /** Erases the source's identities after its grant was lost. Returns false if there was no grant to lose. */
  loseGrant(): boolean {
    const had = grantIsGone(this.source);
    if (had) this.#erasing.source('grant_lost');
    return had;
  }

  /** Records that the source has the identity grant again. Returns whether names are incomplete. */
  regainGrant(): boolean {
    return grantIsThere(this.source);
  }

  /** Removes the mark "awaiting deletion" from records that a page named. */
  unmark(ids: readonly string[]): void {
    if (this.source.awaiting_deletion === 0 || ids.length === 0) return;
    const { changes } = this.statements.unmarkNamed.run(JSON.stringify(ids), this.source.no);
    this.source.awaiting_deletion -= changes;
  }

  /** Marks exactly these rows, which no page of the listing named, as awaiting deletion. */
  markUnseen(rowNos: readonly number[]): void {
    const { no, generation } = this.source;
    const { changes } = this.statements.markUnseen.run(no, generation, this.at, JSON.stringify(rowNos));
    this.source.awaiting_deletion = changes;
    this.statements.unmarkOthers.run(no, generation);
  }

  unmarkAll(): void {
    this.statements.unmarkAll.run(this.source.no);
    this.source.awaiting_deletion = 0;
  }

  /**
   * Stores the page's quarantined entries and counts its unknown fields. Returns the number of newly quarantined entries;
   * one that was in quarantine already does not count.
   */
  recordAnomalies(found: PageFacts): number {
    if (found.unknownFields.size > 0) {
      const known = new Set(this.statements.driftFields.all(this.source.no));
      for (const [field, times] of boundedDrift(found.unknownFields, known))
        this.statements.countDrift.run(this.source.no, field, times, this.at, this.at);
    }
    const opened = quarantineEntries(this.statements, this.source, found.rejected, this.at);
    this.source.quarantined += opened;
    if (this.source.quarantined > 0)
      this.source.quarantined -= resolveReadable(this.statements, this.source.no, found.readable, this.at);
    return opened;
  }

  /** Saves the source row; the last write of the commit. Returns whether this commit erased personal data. */
  finish(): boolean {
    this.#queueNotices();
    const receipts = this.#erasing.finish();
    const changed = sourceColumns.filter((column) => this.source[column] !== this.#before[column]);
    if (changed.length > 0)
      this.statements
        .updateSource(changed)
        .run(...changed.map((column) => this.source[column]), this.source.no);
    return receipts > 0;
  }

  /** Reserves the next `numbers` sequence numbers of the change feed. Returns the last number before them. */
  reserve(numbers: number): number {
    const before = this.#lastSeq;
    this.#lastSeq += numbers;
    return before;
  }

  /** Records the erasure of a person whom a complete listing no longer names. The caller deletes row and identity. */
  absent(id: string): void {
    this.#erasing.absent(id);
  }

  /** Whether notices are configured, which need every change on its own. */
  get wantsNotices(): boolean {
    return this.hooks.notices !== undefined;
  }

  collectNotice(change: CommittedChange): void {
    this.#changes.push(change);
    if (this.#changes.length >= changesPerCall) this.#queueNotices();
  }

  /** Adds changes that were written without `perform` to the counts of this commit and the source. */
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

  #replace(
    storedRow: StoredRow,
    record: RecordItem,
    fields: readonly string[],
    identityDiffers: boolean,
  ): void {
    const { investment, identity } = record;
    const differs = fields.length > 0 || identityDiffers;
    const seq = differs ? this.#announce('changed', storedRow, record, fields, investment.reason) : null;
    this.statements.archive.run(this.at, 'update', storedRow.rowNo);
    const columns = columnsToWrite(new Set(fields));
    const values = columns.map((column) => stored(investment[column]));
    this.statements.updateRow(columns).run(this.at, seq, ...values, storedRow.rowNo);
    // Replaced, never merged: a field missing from the new identity is deleted.
    if (identityDiffers) {
      this.statements.deleteIdentity.run(storedRow.rowNo);
      this.putIdentity(storedRow.rowNo, identity);
    }
    if (differs) this.#changed += 1;
  }

  #remove(storedRow: StoredRow, reason: string | null): void {
    this.#announce('removed', storedRow, null, [], reason);
    this.statements.archive.run(this.at, 'tombstone', storedRow.rowNo);
    this.statements.deleteIdentity.run(storedRow.rowNo);
    this.statements.deleteRow.run(storedRow.rowNo);
    this.source.rows_held -= 1;
    this.#removed += 1;
  }

  #announce(
    kind: CommittedChange['kind'],
    storedRow: StoredRow | null,
    record: RecordItem | null,
    fields: readonly string[],
    reason: string | null,
  ): number {
    const seq = this.#nextSeq();
    const { at } = this;
    const id = storedRow?.investment.id ?? record?.investment.id ?? null;
    this.statements.insertChange.run(seq, this.source.no, id, kind, JSON.stringify(fields), reason, at);
    // Building the change takes a noticeable part of a small tick, so it is skipped without notices.
    if (this.wantsNotices)
      this.collectNotice(
        changeOf(kind, storedRow, record, { fields, reason, seq, at, source: this.source.name }),
      );
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
