import type { SourceName } from '../../../domain/ids.js';
import type { Instant } from '../../../domain/instant.js';
import type { FeedItem, Identity } from '../../../domain/investment.js';
import type { Applied } from '../../../sync/ports.js';
import { type CommittedChange, changesPerCall, type QueueNotices } from '../../committed-change.js';
import { oddities } from '../../page-oddities.js';
import type { RecordItem, Step } from '../../plan-page.js';
import { identityValues, recordValues } from '../../record-columns.js';
import type { ActiveState } from '../../schema.js';
import { type HeldRow, heldRow } from './held-row.js';
import { resolveReadable, setAside } from './quarantine.js';
import { type SourceRow, type Statements, sourceColumns } from './statements.js';

/**
 * One transaction's worth of writing to one source. It reads the clock once, hands out the feed's numbers in
 * order, keeps the source's counters, and writes the source row at the end.
 */
export class Commit {
  /** What the source row will be; everything a write changes about the source is changed here. */
  readonly source: SourceRow;
  readonly #changes: CommittedChange[] = [];
  #lastSeq: number;
  #added = 0;
  #changed = 0;
  #removed = 0;

  constructor(
    readonly statements: Statements,
    source: SourceRow,
    readonly at: Instant,
    readonly queueNotices: QueueNotices | null,
  ) {
    this.source = { ...source, last_committed_at: at };
    this.#lastSeq = statements.lastSeq.get() ?? 0;
  }

  held(id: string): HeldRow | undefined {
    return heldRow(this.statements, this.statements.held.get(this.source.no, id));
  }

  /** Performs one step of a plan. */
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

  /** Quarantine, unknown fields and the identity grant of a page. Answers how many entries could not be read. */
  note(items: readonly FeedItem[]): number {
    const found = oddities(items);
    for (const [field, times] of found.unknownFields)
      this.statements.countDrift.run(this.source.no, field, times, this.at, this.at);
    this.source.quarantined += setAside(this.statements, this.source.no, found.setAside, this.at);
    if (this.source.quarantined > 0)
      this.source.quarantined -= resolveReadable(this.statements, this.source.no, found.readable, this.at);
    if (found.identityIncluded !== null) this.source.identity_included = found.identityIncluded ? 1 : 0;
    return found.rejected.length;
  }

  /** Nothing is written after this. */
  finish(): void {
    this.#queueNotices();
    this.statements.saveSource.run(...sourceColumns.map((column) => this.source[column]), this.source.no);
  }

  /** Takes so many numbers of the feed at once; answers the last one before them. */
  reserve(numbers: number): number {
    const before = this.#lastSeq;
    this.#lastSeq += numbers;
    return before;
  }

  /** Whether anybody wants to hear of changes one by one. */
  get tellsNotices(): boolean {
    return this.queueNotices !== null;
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
    });
    return seq;
  }

  #nextSeq(): number {
    this.#lastSeq += 1;
    return this.#lastSeq;
  }

  #queueNotices(): void {
    const changes = this.#changes.splice(0);
    if (changes.length === 0 || this.queueNotices === null) return;
    for (const { seq, target, body } of this.queueNotices(changes))
      this.statements.insertNotice.run(this.source.no, seq, target, body, this.at, this.at);
  }
}
