import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../src/runtime/clock.js';
import { type FeedRead, judgeFeed } from '../../judges/histories.js';
import { audited } from '../../postgres/fence-audit.js';
import {
  type ChangeRow,
  changesAfter,
  entriesOf,
  type InboxRow,
  judgeInbox,
  judgeWorked,
} from '../history.js';
import { contentOf, type WireRecord } from '../judge.js';
import type { World } from './world.js';

/*
 * The judge. It knows nothing of rosterd but the names of tables and columns: it reads the tables with plain SQL, and
 * compares with what the sender, the receiver of notices, the analysts and the platform wrote down.
 */

export interface NoticeSeen {
  readonly at: number;
  readonly sentAt: number;
  readonly message: string;
  readonly source: string;
  readonly id: string;
  readonly seq: number;
  readonly after: {
    readonly status: string | null;
    readonly group_label: string | null;
    readonly committed_cents: number | null;
  } | null;
}

/**
 * Returns notices about one record that were sent within a minute of one another, by the sender's clock, although the
 * result of the first was stored. A sender that dies before it stores the result sends again. If two hosts with different
 * clocks sent the first one, the earlier time counts, because either of them may have stored its result. So does an earlier
 * time in a notice between the two: the clock may have been set back before the result was stored.
 */
export function judgePace(
  seen: readonly NoticeSeen[],
  stored: readonly { source: string; id: string; at: number }[],
): string[] {
  const wrong: string[] = [];
  const last = new Map<string, NoticeSeen>();
  for (const notice of seen) {
    for (const [key, one] of last)
      if (notice.sentAt < one.sentAt) last.set(key, { ...one, sentAt: notice.sentAt });
    const key = `${notice.source} ${notice.id}`;
    const before = last.get(key);
    const isSentAgain = before?.message === notice.message;
    last.set(key, isSentAgain ? { ...notice, sentAt: Math.min(before.sentAt, notice.sentAt) } : notice);
    if (before === undefined || isSentAgain || notice.sentAt - before.sentAt >= 59) continue;
    const wasStored = stored.some(
      ({ source, id, at }) =>
        source === notice.source && id === notice.id && at >= before.at - 1_000 && at < notice.at - 500,
    );
    if (wasStored) wrong.push(`two notices about ${notice.id} within ${notice.sentAt - before.sentAt} s`);
  }
  return wrong;
}

/** Requires that nothing changes any more. Returns every broken promise. */
export async function judge(world: World, since: Baseline): Promise<string[]> {
  const wrong: string[] = [];
  // An asynchronous replica may lack the last commits of the primary that it replaces.
  const mayLose = !world.options.synchronous && world.promotions.length > 0;
  wrong.push(...(await judgeAccepted(world, mayLose)));
  const { stale } = await audited(world.pair.url());
  if (stale.length > 0) wrong.push(`${stale.length} stale writes: ${stale[0]}`);
  wrong.push(...(await judgeChanges(world, mayLose)));
  wrong.push(...(await judgeNotices(world, since, mayLose)));
  wrong.push(...(await judgeSignIns(world)));
  wrong.push(...(await judgeLogs(world)));
  return wrong;
}

/** How long before a promotion an accepted delivery may be missing from an asynchronous replica. */
const lostMillisMax = 15_000;

type Accepted = readonly { readonly id: string; readonly at: number }[];

/**
 * Waits until no delivery is pending, and returns those that were accepted before; after a minute in which there was always
 * one, those that were accepted before that minute. The platform repeats a delivery whose answer was lost whenever it
 * likes, so others may have been accepted since, which are worked within moments.
 */
async function workedBy(world: Inbox): Promise<Accepted> {
  const first = world.lines<Accepted[number]>('accepted');
  for (let tries = 0; tries < 120; tries += 1) {
    const accepted = world.lines<Accepted[number]>('accepted');
    const open = await world.rows("SELECT 1 FROM webhook_inbox WHERE state = 'pending'");
    if (open.length === 0) return accepted;
    await systemClock.wait(500);
  }
  return first;
}

type Inbox = Pick<World, 'lines' | 'rows' | 'promotions'>;

export async function judgeAccepted(world: Inbox, mayLose: boolean): Promise<string[]> {
  const worked = await workedBy(world);
  // Read before the rows: a delivery that is accepted meanwhile is not missing.
  const accepted = world.lines<Accepted[number]>('accepted');
  const rows = await world.rows<InboxRow>('SELECT event_id, state FROM webhook_inbox');
  // Read after the rows: one that is sent meanwhile may have a row.
  const sent = world.lines<{ id: string }>('sent').map(({ id }) => id);
  const maybeLost = (at: number) =>
    mayLose && world.promotions.some((then) => at > then - lostMillisMax && at < then + 5_000);
  const kept = accepted.filter(({ at }) => !maybeLost(at)).map(({ id }) => id);
  return [
    ...judgeInbox({ accepted: kept, sent }, rows),
    ...judgeWorked({ accepted: worked.map(({ id }) => id) }, rows),
  ].map((wrong) => `the inbox: ${wrong}`);
}

/** Waits for the analysts to read what was committed since the world came to rest, such as a late listing of companies. */
async function readThrough(world: World, last: number): Promise<void> {
  for (let tries = 0; tries < 120; tries += 1) {
    const reached = ['read-x', 'read-y'].map((file) =>
      Math.max(0, ...world.lines<{ seq?: number }>(file).map(({ seq = 0 }) => seq)),
    );
    if (reached.every((seq) => seq >= last)) return;
    await systemClock.wait(500);
  }
}

/** Returns what is wrong with the feed, and with what each of its readers read from its beginning to its end. */
export function judgeReaders(
  readers: ReadonlyMap<string, readonly ChangeRow[]>,
  feed: readonly ChangeRow[],
): string[] {
  const first = Number(feed[0]?.seq ?? 1);
  const last = Number(feed.at(-1)?.seq ?? 0);
  const wrong = first === 1 ? [] : [`the feed begins with ${first}`];
  const reads: FeedRead[] = [];
  for (const [consumer, rows] of readers) {
    // What is committed after the feed was read is judged the next time.
    const entries = entriesOf(rows.filter(({ seq }) => Number(seq) <= last));
    reads.push({ consumer, after: 0, entries });
    const reached = entries.at(-1)?.seq ?? 0;
    if (reached !== last) wrong.push(`${consumer} has read to ${reached} of ${last}`);
  }
  return [...wrong, ...judgeFeed(reads, entriesOf(feed)).slice(0, 10)];
}

async function judgeChanges(world: World, mayLose: boolean): Promise<string[]> {
  const rows = await world.rows<ChangeRow>(changesAfter(0));
  const last = Number(rows.at(-1)?.seq ?? 0);
  if (!mayLose) await readThrough(world, last);
  const read = world.lines<ChangeRow & { snapshot?: Record<string, number> }>('read-x');
  // A consumer that continues after a number of a lost commit reads another change under the next one: not promised.
  const readers = mayLose
    ? []
    : ([
        ['the analyst x', read.filter(({ seq }) => seq !== undefined)],
        ['the analyst y', world.lines<ChangeRow>('read-y')],
      ] as const);
  const wrong = judgeReaders(new Map(readers), rows);
  const bases = new Map<string, number>();
  for (const { snapshot = {} } of read)
    for (const [source, base] of Object.entries(snapshot)) {
      const first = bases.get(source) ?? base;
      bases.set(source, first);
      if (first !== base)
        wrong.push(`in one snapshot, the rows of ${source} are ${base - first} more than its changes say`);
    }
  return wrong;
}

type State = string;
const stateOf = (state: NoticeSeen['after']): State =>
  state === null ? 'null' : JSON.stringify([state.status, state.group_label, Number(state.committed_cents)]);

/** What each record was when notices about it began. */
export type Baseline = ReadonlyMap<string, State>;

export async function statesOf(world: World): Promise<Baseline> {
  const rows = await world.rows<{
    source: string;
    id: string;
    status: string | null;
    group_label: string | null;
    committed_cents: string | null;
  }>('SELECT source, id, status, group_label, committed_cents FROM investments');
  return new Map(
    rows.map(({ source, id, committed_cents, ...rest }) => [
      `${source} ${id}`,
      stateOf({ ...rest, committed_cents: committed_cents === null ? null : Number(committed_cents) }),
    ]),
  );
}

async function judgeNotices(world: World, since: Baseline, mayLose: boolean): Promise<string[]> {
  const [now, waiting, stored] = await Promise.all([
    statesOf(world),
    world.rows<{ key: string }>(
      "SELECT DISTINCT (body::json ->> 'source') || ' ' || (body::json ->> 'id') AS key FROM notices WHERE state = 'pending'",
    ),
    world.rows<{ source: string; id: string; at: string }>('SELECT source, id, at FROM audit_notices'),
  ]);
  const seen = world.lines<NoticeSeen>('notices');
  const told = new Map(since);
  const numbers = new Map<string, number>();
  for (const { source, id, seq, after } of seen) {
    const key = `${source} ${id}`;
    // A repetition of an older notice says nothing new.
    if (seq < (numbers.get(key) ?? 0)) continue;
    numbers.set(key, seq);
    told.set(key, stateOf(after));
  }
  // Without a notice by rule, even if another change was merged into such a publication.
  const derivedAgain = await world.rows<{ key: string }>(
    "SELECT DISTINCT source || ' ' || id AS key FROM changes WHERE reason IN ('recomputed', 'reprojected')",
  );
  const pending = new Set([...waiting, ...derivedAgain].map(({ key }) => key));
  const wrong: string[] = [];
  for (const key of new Set([...told.keys(), ...now.keys()])) {
    const [last, present] = [told.get(key) ?? 'null', now.get(key) ?? 'null'];
    if (last !== present && !pending.has(key))
      wrong.push(`the last notice about ${key} says ${last}, and it is ${present}`);
  }
  return [
    // A source whose first listing was lost is listed again, without notices.
    ...(mayLose ? [] : wrong.slice(0, 5)),
    ...judgePace(
      seen,
      stored.map((row) => ({ ...row, at: Number(row.at) })),
    ),
  ];
}

async function judgeSignIns(world: World): Promise<string[]> {
  const rows = await world.rows<{ name: string; last_error: string | null }>(
    "SELECT name, last_error FROM sources WHERE state = 'halted'",
  );
  return rows.map(({ name, last_error }) => `${name} is halted: ${last_error}`);
}

/** Returns the records of a company as the platform shows them: null for a tombstone. */
export async function truthOf(world: World, index: number): Promise<Map<string, string | null>> {
  const company = world.ready.companies[index];
  const found = new Map<string, string | null>();
  for (let at: string | null = null, more = true; more; ) {
    const query = new URLSearchParams({
      company_id: company?.id ?? '',
      per_page: '100',
      ...(at === null ? {} : { cursor: at }),
    });
    const { data, meta } = (await world.call('GET', `/investments?${query}`, undefined, company?.token)) as {
      data: WireRecord[];
      meta: { has_more: boolean; next_cursor: string };
    };
    for (const record of data) {
      found.set(record.id, record.visible ? contentOf(record) : null);
      for (const text of [record.investor?.name, record.investor?.email])
        if (typeof text === 'string') people.add(text);
    }
    at = meta.next_cursor;
    more = meta.has_more;
  }
  return found;
}

/** All people that the platform has named. */
const people = new Set<string>();

async function judgeLogs(world: World): Promise<string[]> {
  await world.ageEndpoint((text) => text);
  const wrong: string[] = [];
  for (const name of readdirSync(world.logs)) {
    // The platform is no part of the promise.
    if (name === 'platform' || name === 'edge') continue;
    const text = readFileSync(join(world.logs, name), 'utf8');
    for (const person of people) if (text.includes(person)) wrong.push(`the log of ${name} names a person`);
    for (const [index, secret] of world.secrets.entries())
      if (text.includes(secret)) wrong.push(`the log of ${name} has secret ${index}`);
  }
  return wrong;
}
