import { systemClock } from '../../../src/runtime/clock.js';
import { type Audited, audited } from '../../postgres/fence-audit.js';
import {
  type ChangeRow,
  changesAfter,
  type FeedHistory,
  type InboxRow,
  judgeInbox,
  judgeWorked,
  type Sent,
} from '../history.js';
import { contentOf, differences, type WireRecord } from '../judge.js';
import { Violation } from '../violation.js';
import type { RunningFleet } from './running-fleet.js';

/** Counted from the last delivery: the platform may still have thousands in flight. */
const timeoutMillis = 240_000;

/** Returns the platform's records of one company, paged through its public API. */
async function truthOf(world: RunningFleet, index: number): Promise<Map<string, string | null>> {
  const company = world.sandbox.ready.companies[index];
  const found = new Map<string, string | null>();
  for (let at: string | null = null, more = true; more; ) {
    const url = new URL('/investments', world.sandbox.url);
    url.searchParams.set('company_id', company?.id ?? '');
    url.searchParams.set('per_page', '100');
    if (at !== null) url.searchParams.set('cursor', at);
    const answer = await fetch(url, { headers: { authorization: `Bearer ${company?.token}` } });
    const { data, meta } = (await answer.json()) as {
      data: WireRecord[];
      meta: { has_more: boolean; next_cursor: string };
    };
    for (const record of data) found.set(record.id, record.visible ? contentOf(record) : null);
    at = meta.next_cursor;
    more = meta.has_more;
  }
  return found;
}

async function storedOf(world: RunningFleet, index: number): Promise<Map<string, string>> {
  const rows = await world.rows<{ id: string } & Record<string, string | number | null>>(
    `SELECT id, status, observed_at, committed_cents, raised_cents, name, email FROM roster WHERE source = 'c${index}'`,
  );
  return new Map(
    rows.map(({ id, status, observed_at, committed_cents, raised_cents, name, email }) => [
      id,
      JSON.stringify([status, observed_at, Number(committed_cents), Number(raised_cents), name, email]),
    ]),
  );
}

/** How long it took after the last change. */
interface Rest {
  /** Until every record equalled the truth. */
  readonly equalMillis: number;
  /** Until the platform had delivered every event and each was processed. */
  readonly settledMillis: number;
}

/**
 * Requires that no changes are made and members are alive: soon every source equals the truth and every event is
 * processed. `feed` is what readers of the change feed read meanwhile.
 */
export async function judgeFleet(world: RunningFleet, feed: FeedHistory): Promise<Audited & Rest> {
  const wanted = await Promise.all(world.sandbox.ready.companies.map((_, index) => truthOf(world, index)));
  const begun = systemClock.monotonic();
  let equalMillis = Number.NaN;
  let rested: Inbox;
  let arrived = 0;
  let arrivedAt = begun;
  for (let last = ''; ; await systemClock.wait(200)) {
    const wrong = await Promise.all(
      wanted.map(async (truth, index) => differences(truth, await storedOf(world, index)).length),
    );
    const inbox = await readInbox(world);
    if (inbox.stored.length > arrived) {
      arrived = inbox.stored.length;
      arrivedAt = systemClock.monotonic();
    }
    const events = inbox.stored.filter(({ state }) => state === 'pending' || state === 'given_up').length;
    const different = wrong.reduce((sum, one) => sum + one, 0);
    last = `${different} records differ (${wrong.join(', ')}), ${events} events are not worked`;
    const passed = Math.round(systemClock.monotonic() - begun);
    if (different > 0) equalMillis = Number.NaN;
    else if (Number.isNaN(equalMillis)) equalMillis = passed;
    if (different === 0 && events === 0) {
      rested = inbox;
      break;
    }
    if (systemClock.monotonic() - arrivedAt > timeoutMillis)
      throw new Violation(`not at rest ${timeoutMillis / 1000} s after the last delivery: ${last}`);
  }
  const settledMillis = Math.round(systemClock.monotonic() - begun);
  await judgeHistories(world, feed, rested);
  const seen = await audited(world.url);
  if (seen.stale.length > 0) throw new Violation(`${seen.stale.length} stale writes: ${seen.stale[0]}`);
  return { ...seen, equalMillis, settledMillis };
}

interface Inbox {
  readonly deliveries: Sent;
  readonly stored: readonly InboxRow[];
}

async function readInbox(world: RunningFleet): Promise<Inbox> {
  // Before the rows: a delivery that is accepted meanwhile is not missing.
  const deliveries = world.deliveries();
  return { deliveries, stored: await world.rows<InboxRow>('SELECT event_id, state FROM webhook_inbox') };
}

/** Judges the inbox as it was at rest: the platform may deliver more meanwhile. */
async function judgeHistories(
  world: RunningFleet,
  feed: FeedHistory,
  { deliveries, stored }: Inbox,
): Promise<void> {
  const inbox = [...judgeInbox(deliveries, stored), ...judgeWorked(deliveries, stored)];
  if (inbox.length > 0) throw new Violation(`the inbox: ${inbox.slice(0, 20).join(', ')}`);
  await readFeed(world, feed);
  const wrong = feed.judge(await world.rows<ChangeRow>(changesAfter(0)));
  if (wrong.length > 0) throw new Violation(`the change feed: ${wrong.slice(0, 20).join(', ')}`);
  const back = await world.rows<{ id: string }>(
    `SELECT h.id FROM investment_history h JOIN investments i USING (source, id) WHERE h.observed_at > i.observed_at`,
  );
  if (back.length > 0) throw new Violation(`${back[0]?.id} went back to an older version`);
}

/** Reads the feed as two consumers do: one at every call, the other at every fourth. */
export const readFeed = async (world: RunningFleet, feed: FeedHistory, turn = 0): Promise<void> => {
  const rows = (sql: string) => world.rows<ChangeRow>(sql);
  await feed.read('one that reads often', rows);
  if (turn % 4 === 0) await feed.read('one that reads rarely', rows);
};
