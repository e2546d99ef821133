import type { SourceName } from '../../../domain/ids.js';
import { type Instant, instantFromMillis, millisOf } from '../../../domain/instant.js';
import type { FeedItem, Identity } from '../../../domain/investment.js';
import type { Applied } from '../../../sync/ports.js';
import {
  type CommittedChange,
  changesPerCall,
  type NoticeDraft,
  type NoticeHooks,
} from '../../committed-change.js';
import { unreadableErasures, withoutErased, withoutForgotten } from '../../forgotten.js';
import { identityIncluded, oddities } from '../../page-oddities.js';
import { lastOfEach, type RecordItem, type Step } from '../../plan-page.js';
import { identityValues, recordValues } from '../../record-columns.js';
import type { ActiveState } from '../../schema.js';
import { Erasing } from './erasing.js';
import { type HeldRow, heldRow } from './held-row.js';
import { areIndexesBuilt } from './indexes.js';
import { resolveReadable, setAside } from './quarantine.js';
import { type SourceRow, type Statements, sourceColumns } from './statements.js';

/**
 * One transaction's worth of writing to one source. It reads the clock once, hands out the feed's numbers in
 * order, keeps the source's counters, and writes the source row at the end.
 */
export class Commit {
  /** What the source row will be; everything a write changes about the source is changed here. */
  readonly source: SourceRow;
  readonly #erasing: Erasing;
  readonly #changes: CommittedChange[] = [];
  #lastSeq: number;
  #added = 0;
  #changed = 0;
  #removed = 0;

  constructor(
    readonly statements: Statements,
    source: SourceRow,
    readonly at: Instant,
    readonly hooks: CommitHooks,
  ) {
    this.source = { ...source, last_committed_at: at };
    this.#lastSeq = statements.lastSeq.get() ?? 0;
    this.#erasing = new Erasing(statements.raw, source.no, at, statements.residue);
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

  /** Whoever moves a source also ends its halt. */
  moveTo(state: ActiveState): void {
    this.source.state = state;
    this.source.halted_from = null;
    this.source.halted_code = null;
    this.source.halted_message = null;
    this.source.halted_at = null;
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
    this.#judgeGrant(items);
    const indexed = areIndexesBuilt(this.statements.raw);
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

  /** Quarantine and unknown fields of a page. Answers how many entries could not be read. */
  note(items: readonly FeedItem[]): number {
    const found = oddities(items);
    for (const [field, times] of found.unknownFields)
      this.statements.countDrift.run(this.source.no, field, times, this.at, this.at);
    this.source.quarantined += setAside(this.statements, this.source.no, found.setAside, this.at);
    if (this.source.quarantined > 0)
      this.source.quarantined -= resolveReadable(this.statements, this.source.no, found.readable, this.at);
    return found.rejected.length;
  }

  /** Nothing is written after this. */
  finish(): void {
    this.#queueNotices();
    this.#erasing.finish();
    this.statements.saveSource.run(...sourceColumns.map((column) => this.source[column]), this.source.no);
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

  #judgeGrant(items: readonly FeedItem[]): void {
    if (this.hooks.identity === 'drop') {
      // What never gets here says nothing about the grant.
      this.source.identity_included = null;
      return;
    }
    const included = identityIncluded(items);
    if (included === null) return;
    if (!included && this.source.identity_included === 1) this.#erasing.source('grant_lost');
    this.source.identity_included = included ? 1 : 0;
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
    this.statements.updateRow.run(this.at, seq, ...recordValues(investment), held.rowNo);
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
    const before = held?.investment ?? null;
    const after = record?.investment ?? null;
    const id = (after ?? before)?.id ?? null;
    if (id === null) throw new Error('a change without a record before or after it');
    this.statements.insertChange.run(seq, this.source.no, id, kind, JSON.stringify(fields), reason, this.at);
    this.tell({
      kind,
      seq,
      source: this.source.name as SourceName,
      id,
      fields,
      reason,
      at: this.at,
      statusBefore: before?.status ?? null,
      statusAfter: after?.status ?? null,
      groupBefore: before?.group_label ?? null,
      groupAfter: after?.group_label ?? null,
      committedCentsBefore: before?.committed_cents ?? null,
      committedCentsAfter: after?.committed_cents ?? null,
      companyId: (after ?? before)?.company_id ?? null,
      offeringId: (after ?? before)?.offering_id ?? null,
      currency: (after ?? before)?.currency ?? null,
      convertedFrom: after?.converted_from ?? null,
      origin: 'feed',
    });
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

  /**
   * A receiver hears of a record at most once a minute. What comes sooner waits for the minute to end, and what
   * comes while one waits is folded into it, so that nothing is lost. One that may be on its way is never touched.
   */
  #queue({ id, seq, target, body }: NoticeDraft): void {
    const minuteAgo = instantFromMillis(millisOf(this.at) - noticeGapMillis);
    const last = this.statements.lastNotice.get(id, this.source.no, target, minuteAgo);
    if (last === undefined) {
      this.statements.insertNotice.run(this.source.no, seq, target, body, this.at, this.at);
    } else if (last.state === 'pending' && last.attempts === 0 && last.next_at > this.at) {
      const folded = this.hooks.notices?.fold(last.body, body) ?? null;
      if (folded === null) this.statements.deleteNotice.run(last.notice);
      else this.statements.foldNotice.run(seq, folded, last.notice);
    } else {
      const nextAt = instantFromMillis(millisOf(last.next_at as Instant) + noticeGapMillis);
      this.statements.insertNotice.run(this.source.no, seq, target, body, this.at, nextAt);
    }
  }
}

/** What the mirror's owner decides about every commit. */
export interface CommitHooks {
  readonly notices?: NoticeHooks | undefined;
  readonly identity: 'keep' | 'drop';
}

const noticeGapMillis = 60_000;
