import type { JsonObject } from '../../domain/json.js';
import type { Closable } from '../../runtime/lifecycle.js';
import type { Services } from '../services.js';
import type { State } from '../state/database.js';
import { all, one, run } from '../state/statements.js';
import { startTurns } from '../turns.js';
import { type Derived, derive, type Source } from './derive.js';
import { announcePublication } from './events.js';
import { loadInvestment } from './model.js';
import { contentShape, identityShape, packed, unpacked } from './packed.js';
import { forgetOldTombstones } from './retention.js';

export const publicationReasons = ['changed', 'recomputed', 'reprojected', 'investor_deactivated'] as const;
export type PublicationReason = (typeof publicationReasons)[number];

type Unnumbered = Omit<Source, 'no'>;

export type Audience = 'company' | 'investor';

export interface Publication {
  readonly investment_no: number;
  readonly company_no: number;
  readonly offering_no: number;
  readonly investor_no: number;
  readonly visible: number;
  readonly gone: number;
  /** As `packed` returned them. */
  readonly content: string;
  readonly identity: string;
  readonly observed_at: number;
}

/**
 * Publishes a change immediately or after the publish delay. A queued change is published with its state at that time,
 * so two queued changes to one investment become one publication.
 */
export function publishSoon(services: Services, no: number, reason: PublicationReason, now: number): void {
  const delay = services.options.publishDelayMillis;
  if (delay === 0) {
    publish(services, no, reason, now);
    return;
  }
  run(
    services.state,
    `INSERT INTO publish_queue (investment_no, reason, due_at) VALUES (?, ?, ?)
     ON CONFLICT (investment_no) DO UPDATE SET reason = excluded.reason`,
    [no, reason, now + delay],
  );
}

/** Publishes every queued change that is due. Called before published records are read. */
export function publishDue(services: Services, now: number): void {
  const due =
    'SELECT investment_no AS no, reason FROM publish_queue WHERE due_at <= ? ORDER BY due_at, investment_no';
  const waiting = all<{ no: number; reason: PublicationReason }>(services.state, due, [now]);
  if (waiting.length === 0) return;
  services.state.transaction(() => {
    for (const { no, reason } of waiting) {
      publish(services, no, reason, now);
      run(services.state, 'DELETE FROM publish_queue WHERE investment_no = ?', [no]);
    }
  })();
}

/** Derives the record and appends it to the feed of each audience that sees it change. */
function publish(services: Services, no: number, reason: PublicationReason, now: number): void {
  const { state } = services;
  const before = publicationOf(state, no);
  const source = loadInvestment(state, no);
  const derived = derive(source);
  const fields = changedFields(before, derived);
  if (before !== undefined && fields.length === 0 && reason === 'changed') return;
  const left = before !== undefined && before.offering_no !== source.offering_no ? before.offering_no : null;
  const companySeesChange =
    before?.visible === 1 || derived.visible || (left !== null && companyHasHistory(state, no));
  const feed = advanceFeed(state, 4, now);
  run(state, upsertPublication, publicationRow(no, source, derived, feed.observedAt));
  if (left !== null) {
    depart(state, no, left, 'company', feed.head - 3, feed.observedAt);
    depart(state, no, left, 'investor', feed.head - 2, feed.observedAt);
  }
  const entry = { reason, observedAt: feed.observedAt };
  if (companySeesChange)
    append(state, no, source, { ...entry, audience: 'company', seq: feed.head - 1, shown: derived.visible });
  append(state, no, source, { ...entry, audience: 'investor', seq: feed.head, shown: !derived.gone });
  forgetOldTombstones(state, now);
  if (companySeesChange) {
    announcePublication(services, source, {
      visible: derived.visible,
      reason,
      observedAt: feed.observedAt,
      first: before === undefined,
      fields,
    });
  }
}

export const publicationOf = (state: State, no: number): Publication | undefined =>
  one<Publication>(state, 'SELECT * FROM publications WHERE investment_no = ?', [no]);

/** Returns the names of the fields that differ, never their values. */
function changedFields(before: Publication | undefined, next: Derived): readonly string[] {
  if (before === undefined) return [];
  const identity = unpacked(identityShape, before.identity);
  const then = { ...identity, ...unpacked(contentShape, before.content) };
  const now: JsonObject = { ...next.identity, ...next.content };
  const differs = (key: string) => JSON.stringify(then[key]) !== JSON.stringify(now[key]);
  const fields = new Set([...Object.keys(then), ...Object.keys(now)].filter(differs));
  // `investor` is in both content and identity; the spread above kept only the content part.
  if (JSON.stringify(identity.investor) !== JSON.stringify(next.identity.investor)) fields.add('investor');
  if (before.gone !== (next.gone ? 1 : 0)) fields.add('visible');
  return [...fields].sort();
}

const companyHasHistory = (state: State, no: number): boolean =>
  one(state, `SELECT 1 FROM ledger WHERE investment_no = ? AND audience = 'company' LIMIT 1`, [no]) !==
  undefined;

/** Writes a tombstone for readers of the previous offering only. */
function depart(
  state: State,
  no: number,
  offering: number,
  audience: Audience,
  seq: number,
  at: number,
): void {
  run(
    state,
    `UPDATE ledger SET departed = 1, shown = 0, seq = ?, reason = 'changed', observed_at = ?
     WHERE investment_no = ? AND offering_no = ? AND audience = ?`,
    [seq, at, no, offering, audience],
  );
}

/**
 * Writes the publication of a new record without events, for the sandbox seed. `appendFirst` then adds it to the feed, many
 * records at once.
 */
export function publishFirst(state: State, no: number, source: Unnumbered, observedAt: number): void {
  run(state, insertPublication, publicationRow(no, source, derive(source), observedAt));
}

/**
 * Adds the records that `publishFirst` wrote from the row `from` on to the feed, two numbers each, in the order of their
 * rows. The rows have consecutive numbers, because nothing else inserts investments meanwhile.
 */
export function appendFirst(state: State, from: number): void {
  const count =
    (one<{ last: number | null }>(state, 'SELECT max(investment_no) AS last FROM publications')?.last ?? 0) -
    from +
    1;
  if (count <= 0) return;
  const head = one<{ head: number }>(state, 'SELECT head FROM feed')?.head ?? 0;
  run(
    state,
    `INSERT INTO ledger (seq, audience, investment_no, company_no, offering_no, investor_no, shown, reason, observed_at)
     SELECT $head + 2 * (p.investment_no - $from) + a.n, a.audience, p.investment_no, p.company_no, p.offering_no,
       p.investor_no, 1, 'changed', p.observed_at
     FROM publications p CROSS JOIN (SELECT 1 AS n, 'company' AS audience UNION ALL SELECT 2, 'investor') a
     WHERE p.investment_no >= $from AND (p.visible = 1 OR a.n = 2)`,
    { head, from },
  );
  run(state, 'UPDATE feed SET head = ?', [head + 2 * count]);
}

/** Allocates feed numbers. The feed's time never decreases, so ordering by number and by time is the same. */
function advanceFeed(state: State, count: number, now: number): { head: number; observedAt: number } {
  const row = one<{ head: number; observedAt: number }>(
    state,
    `UPDATE feed SET head = head + ?, observed_at = max(observed_at, ?) RETURNING head, observed_at AS observedAt`,
    [count, now],
  );
  if (row === undefined) throw new Error('the feed table is empty: the sandbox was never seeded');
  return row;
}

const insertPublication = `INSERT INTO publications (investment_no, company_no, offering_no, investor_no, status,
  committed_cents, raised_cents, visible, gone, content, identity, observed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const upsertPublication = `${insertPublication}
  ON CONFLICT (investment_no) DO UPDATE SET offering_no = excluded.offering_no, status = excluded.status,
    committed_cents = excluded.committed_cents, raised_cents = excluded.raised_cents, visible = excluded.visible,
    gone = excluded.gone, content = excluded.content, identity = excluded.identity, observed_at = excluded.observed_at`;

const publicationRow = (no: number, source: Unnumbered, derived: Derived, observedAt: number) => [
  no,
  source.company_no,
  source.offering_no,
  source.investor_no,
  source.status,
  source.committed_cents,
  derived.raisedCents,
  derived.visible ? 1 : 0,
  derived.gone ? 1 : 0,
  packed(contentShape, derived.content),
  packed(identityShape, derived.identity),
  observedAt,
];

interface LedgerEntry {
  readonly audience: Audience;
  readonly seq: number;
  readonly shown: boolean;
  readonly reason: PublicationReason;
  readonly observedAt: number;
}

function append(
  state: State,
  no: number,
  source: Unnumbered,
  { audience, seq, shown, reason, observedAt }: LedgerEntry,
): void {
  run(
    state,
    `INSERT OR REPLACE INTO ledger (seq, audience, investment_no, company_no, offering_no, investor_no, shown, reason, observed_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      seq,
      audience,
      no,
      source.company_no,
      source.offering_no,
      source.investor_no,
      shown ? 1 : 0,
      reason,
      observedAt,
    ],
  );
}

/**
 * Starts a loop that publishes due changes, because webhooks must not wait for a read. With immediate publishing
 * no change is ever queued, and there is no loop.
 */
export function startPublishing(services: Services): Closable {
  const delay = services.options.publishDelayMillis;
  if (delay === 0) return { close: () => Promise.resolve() };
  return startTurns(services, async (closing) => {
    publishDue(services, services.clock.now());
    // A change queued from now on is due after one delay. Polling every half delay bounds the lateness.
    await services.clock.wait(Math.max(delay / 2, 1), closing);
  });
}
