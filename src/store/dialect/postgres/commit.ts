import type { Instant } from '../../../domain/instant.js';
import type { Applied } from '../../../sync/ports.js';
import { driftFieldsMax, moreFields } from '../../anomaly-limits.js';
import { type CommitHooks, type CommittedChange, changeOf, changesPerCall } from '../../committed-change.js';
import { withoutErased, withoutForgotten } from '../../forgotten.js';
import { grantIsGone, grantIsThere, judgeGrant } from '../../identity-grant.js';
import { type PageFacts, type RecordItem, readPage, type Tombstone } from '../../page-facts.js';
import type { Step } from '../../plan-page.js';
import type { ActiveState } from '../../schema-columns.js';
import { type CommitTimes, moveTo, type SourceRow, sourceColumns } from '../../source-row.js';
import { announce, reserveNumbers } from './changes.js';
import { IdentityEraser } from './identity-eraser.js';
import type { LockedSource } from './locked-source.js';
import { queueNotices } from './notices.js';
import { archiveRows, insertRows, removeRows, replacePeople, updateRows } from './page-rows.js';
import { quarantineEntries, resolveReadable } from './quarantine.js';
import { payloadOf, recordset } from './recordset.js';
import { markUnseen, unmarkAll, unmarkNamed } from './stage.js';
import { readStored, type StoredRow } from './stored-row.js';
import { statement, type Transaction } from './transaction.js';

/**
 * The writes of one transaction to one source, whose row the transaction has locked. Every time in it comes from one
 * reading of the clock. The plan comes from code shared with SQLite, and each table is written with one statement,
 * however long the page is.
 */
export class Commit {
  /** The source row as `finish` will save it. Every change to the source is made here. */
  readonly source: SourceRow;
  /** The time of the versions and changes this commit writes. */
  readonly at: Instant;
  /** The wall-clock time, for values that are later compared with the clock: see `CommitTimes`. */
  readonly now: Instant;
  readonly indexed: boolean;
  readonly #erasing: IdentityEraser;
  readonly #changes: CommittedChange[] = [];
  #added = 0;
  #changed = 0;
  #removed = 0;

  constructor(
    readonly transaction: Transaction,
    readonly locked: LockedSource,
    { at, now }: CommitTimes,
    readonly hooks: CommitHooks,
  ) {
    this.at = at;
    this.now = now;
    this.source = { ...locked.source, last_committed_at: at };
    this.indexed = locked.indexed;
    this.#erasing = new IdentityEraser(transaction, this.source.no, now);
  }

  storedRows(ids: readonly string[]): Promise<ReadonlyMap<string, StoredRow>> {
    return readStored(this.transaction, this.source.no, ids);
  }

  moveTo(state: ActiveState): void {
    moveTo(this.source, state);
  }

  /** Announces a whole first listing with one row in the change feed. Returns its number. */
  async snapshot(): Promise<number> {
    const seq = (await this.reserve(1)) + 1;
    const marker = { seq, id: null, kind: 'snapshot', fields: [], reason: null } as const;
    announce(this.transaction, this.source.no, this.at, [marker]);
    return seq;
  }

  reserve(numbers: number): Promise<number> {
    return reserveNumbers(this.transaction, numbers);
  }

  /**
   * Returns the page without the data that must not be stored. Runs before anything is compared or stored.
   * It first checks the page as a whole: if identity was included before and is missing now, the grant was lost, and
   * the identities stored under it are erased. The people and records that the page reports as gone are erased from
   * every table now, even if their rows stay until a listing is complete.
   */
  async receive(page: PageFacts): Promise<PageFacts> {
    if (judgeGrant(this.source, page, this.hooks.identity)) await this.#erasing.source('grant_lost');
    const unreadable = page.unreadableErasures;
    const investorOf = await this.#investorsOf(page);
    for (const run of erasingRuns(page.latest, this.indexed)) {
      if (run.kind === 'tombstones')
        await this.#erasing.records(run.items.map(({ id }) => [id, 'tombstone'] as const));
      else
        await this.#erasing.deactivated(
          run.items.flatMap(({ investment }) => investment.investor_id ?? investorOf(investment.id) ?? []),
        );
    }
    // Erasures are honoured even when the rest of the record is unreadable.
    for (const [id, cause] of unreadable) {
      const investor = cause === 'deactivated' && this.indexed ? investorOf(id) : null;
      if (investor !== null) await this.#erasing.deactivated([investor]);
      await this.#erasing.records([[id, cause]]);
    }
    const items = withoutForgotten(withoutErased(page.items, unreadable), this.locked.forgotten, investorOf);
    return items === page.items ? page : readPage(items);
  }

  /** Performs the planned steps of one feed page. A re-listing is published as a whole, by `swapIn`. */
  async perform(steps: readonly Step<StoredRow>[]): Promise<void> {
    const announcing = steps.filter(isAnnounced);
    const numbers = announcing.length === 0 ? 0 : await this.reserve(announcing.length);
    const seqOf = new Map(announcing.map((step, index) => [step, numbers + index + 1]));
    const changes = announcing.map((step) => this.#changeOf(step, seqOf.get(step) ?? 0));
    announce(this.transaction, this.source.no, this.at, changes);
    const inserts = steps.filter((step) => step.kind === 'insert');
    const replaces = steps.filter((step) => step.kind === 'replace');
    const removes = steps.filter((step) => step.kind === 'remove');
    archiveRows(
      this.transaction,
      this.at,
      steps.flatMap((step) => {
        if (step.kind === 'insert') return [];
        return [{ rowNo: step.stored.rowNo, by: step.kind === 'remove' ? 'tombstone' : 'update' }];
      }),
    );
    updateRows(
      this.transaction,
      this.at,
      replaces.map((step) => ({
        rowNo: step.stored.rowNo,
        record: step.record,
        seq: seqOf.get(step) ?? null,
      })),
    );
    const other = replaces.filter(({ identityDiffers }) => identityDiffers);
    replacePeople(
      this.transaction,
      other.map(({ stored, record }) => ({ rowNo: stored.rowNo, person: record.identity })),
    );
    removeRows(
      this.transaction,
      removes.map(({ stored }) => stored.rowNo),
    );
    const fresh = inserts.map((step) => ({ record: step.record, seq: seqOf.get(step) ?? null }));
    const existing = await insertRows(this.transaction, this.source.no, this.at, fresh);
    if (existing.length > 0) throw new Error('a record planned as new already has a row');
    this.count({
      added: inserts.length,
      removed: removes.length,
      changed: replaces.filter(isAnnounced).length,
    });
    for (const change of changes) await this.collectNotice(change);
  }

  /** Erases the source's identities after its grant was lost. Returns false if there was no grant to lose. */
  async loseGrant(): Promise<boolean> {
    const had = grantIsGone(this.source);
    if (had) await this.#erasing.source('grant_lost');
    return had;
  }

  /** Records that the source has the identity grant again. Returns whether names are incomplete. */
  regainGrant(): boolean {
    return grantIsThere(this.source);
  }

  /** Removes the mark "awaiting deletion" from records that a page named. */
  async unmark(ids: readonly string[]): Promise<void> {
    if (this.source.awaiting_deletion === 0 || ids.length === 0) return;
    this.source.awaiting_deletion -= await unmarkNamed(this.transaction, this.source.no, ids);
  }

  /** Marks exactly the rows that no page of the listing named as awaiting deletion. */
  async markUnseen(): Promise<void> {
    const { no, generation } = this.source;
    this.source.awaiting_deletion = await markUnseen(this.transaction, no, generation, this.at);
  }

  unmarkAll(): void {
    unmarkAll(this.transaction, this.source.no);
    this.source.awaiting_deletion = 0;
  }

  /**
   * Stores the page's quarantined entries and counts its unknown fields. Returns the number of newly quarantined entries;
   * one that was in quarantine already does not count.
   */
  async recordAnomalies(found: PageFacts): Promise<number> {
    const { no } = this.source;
    if (found.unknownFields.size > 0) {
      const rows = [...found.unknownFields].map(([field, times], n) => [n, field, times] as const);
      this.transaction.send(countDrift, no, this.at, payloadOf(rows), driftFieldsMax, moreFields);
    }
    const opened = await quarantineEntries(this.transaction, this.source, found.rejected, this.at);
    this.source.quarantined += opened;
    if (this.source.quarantined > 0)
      this.source.quarantined -= await resolveReadable(this.transaction, no, found.readable, this.at);
    return opened;
  }

  /** Saves the source row; the last write of the commit. Returns whether this commit erased personal data. */
  async finish(): Promise<boolean> {
    await this.#queueNotices();
    const receipts = await this.#erasing.finish();
    const { source } = this;
    this.transaction.send(saveSource, ...sourceColumns.map((column) => source[column]), source.no);
    return receipts > 0;
  }

  /** Records the erasure of a person whom a complete listing no longer names. The caller deletes row and identity. */
  absent(id: string): void {
    this.#erasing.absent(id);
  }

  /** Whether notices are configured, which need every change on its own. */
  get wantsNotices(): boolean {
    return this.hooks.notices !== undefined;
  }

  async collectNotice(change: CommittedChange): Promise<void> {
    if (!this.wantsNotices) return;
    this.#changes.push(change);
    if (this.#changes.length >= changesPerCall) await this.#queueNotices();
  }

  /** Adds to the counts of this commit and to the source's row count. */
  count({ added, changed, removed }: Pick<Applied, 'added' | 'changed' | 'removed'>): void {
    this.#added += added;
    this.#changed += changed;
    this.#removed += removed;
    this.source.rows_held += added - removed;
  }

  applied(unchanged: number, quarantined: number): Applied {
    return { added: this.#added, changed: this.#changed, removed: this.#removed, unchanged, quarantined };
  }

  #changeOf(step: Step<StoredRow>, seq: number): CommittedChange {
    const common = { seq, at: this.at, source: this.source.name };
    switch (step.kind) {
      case 'insert':
        return changeOf('added', null, step.record, {
          ...common,
          fields: [],
          reason: step.record.investment.reason,
        });
      case 'replace':
        return changeOf('changed', step.stored, step.record, {
          ...common,
          fields: step.fields,
          reason: step.record.investment.reason,
        });
      case 'remove':
        return changeOf('removed', step.stored, null, { ...common, fields: [], reason: step.reason });
    }
  }

  /** Returns a lookup of the stored investor id, for those entries of the page that need one and do not carry it. */
  async #investorsOf({ items, unreadableErasures }: PageFacts): Promise<(id: string) => string | null> {
    const wanted = new Set<string>(unreadableErasures.keys());
    for (const item of items) {
      if (item.kind === 'record') {
        const isNeeded = item.investment.investor_deactivated || this.locked.forgotten.size > 0;
        if (isNeeded && item.investment.investor_id === null) wanted.add(item.investment.id);
      } else if (item.kind === 'rejected' && item.id !== null && this.locked.forgotten.size > 0)
        wanted.add(item.id);
    }
    if (wanted.size === 0 || !this.indexed) return () => null;
    const rows = await this.transaction.rows<{ id: string; investor_id: string }>(investorsOf, [...wanted]);
    const known = new Map(rows.map(({ id, investor_id }) => [id, investor_id]));
    return (id) => known.get(id) ?? null;
  }

  async #queueNotices(): Promise<void> {
    const { notices } = this.hooks;
    const changes = this.#changes.splice(0);
    if (changes.length === 0 || notices === undefined) return;
    await queueNotices(this.transaction, this.source.no, this.now, notices.draft(changes), notices);
  }
}

/** Whether a step is announced in the change feed. A newer observation of the same content only goes to history. */
function isAnnounced(step: Step<StoredRow>): boolean {
  return step.kind !== 'replace' || step.fields.length > 0 || step.identityDiffers;
}

type ErasingRun =
  | { readonly kind: 'tombstones'; readonly items: Tombstone[] }
  | { readonly kind: 'deactivated'; readonly items: RecordItem[] };

/**
 * Returns the entries that erase data, with neighbours of the same kind grouped. Their order is kept, because it decides
 * which cause a receipt names. Deactivated investors are left out before the first listing is complete: without the
 * indexes their other records could only be found by a full scan. The sweep after every listing delivers each of them.
 */
function erasingRuns(latest: PageFacts['latest'], indexed: boolean): readonly ErasingRun[] {
  const runs: ErasingRun[] = [];
  for (const item of latest) {
    const last = runs.at(-1);
    if (item.kind === 'tombstone') {
      if (last?.kind === 'tombstones') last.items.push(item);
      else runs.push({ kind: 'tombstones', items: [item] });
    } else if (item.investment.investor_deactivated && indexed) {
      if (last?.kind === 'deactivated') last.items.push(item);
      else runs.push({ kind: 'deactivated', items: [item] });
    }
  }
  return runs;
}

const investorsOf = statement(
  'investors_of',
  `SELECT DISTINCT ON (id) id, investor_id FROM investment_rows
   WHERE id = ANY($1::text[]) AND investor_id IS NOT NULL ORDER BY id, row_no`,
);

const countDrift = statement(
  'count_drift',
  // Same result as `boundedDrift`, without a round trip to read the known fields first.
  `WITH known AS (SELECT field FROM drift_rows WHERE source_no = $1),
     found AS (SELECT t.n, t.field, t.times, t.field IN (SELECT field FROM known) AS is_known
       FROM ${recordset('$3', 'n int', 'field text', 'times bigint')}),
     placed AS (SELECT field, times, is_known, row_number() OVER (PARTITION BY is_known ORDER BY n) AS place FROM found),
     counted AS (SELECT CASE WHEN is_known OR place <= $4 - (SELECT count(*) FROM known WHERE field <> $5)
         THEN field ELSE $5 END AS field, times FROM placed)
   INSERT INTO drift_rows AS d (source_no, field, times, first_seen, last_seen)
   SELECT $1, field, sum(times), $2, $2 FROM counted GROUP BY field
   ON CONFLICT (source_no, field) DO UPDATE
   SET times = d.times + excluded.times, last_seen = excluded.last_seen`,
);

const saveSource = statement(
  'save_source',
  `UPDATE sources SET ${sourceColumns.map((column, index) => `${column} = $${index + 1}`).join(', ')}
   WHERE no = $${sourceColumns.length + 1}`,
);
