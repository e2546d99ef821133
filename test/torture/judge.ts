import { askPlatform } from './ask-platform.js';
import { Deadline } from './deadline.js';
import { type ChangeRow, changesAfter, type InboxRow, judgeInbox, judgeWorked } from './history.js';
import type { Place } from './place.js';
import type { Sight } from './storage/storage.js';
import { Violation } from './violation.js';

export interface WireRecord {
  readonly id: string;
  readonly visible: boolean;
  readonly status: string;
  readonly observed_at: string;
  readonly amounts: { readonly committed_cents: number; readonly raised_cents: number };
  readonly investor?: { readonly name?: string | null; readonly email?: string | null } | null;
}

/** The compared fields of a record, as one text. */
type Content = string;

/** Returns the platform's records paged through its public API: those after `cursor`, or all. */
async function page(place: Place, cursor: string | null): Promise<Map<string, Content | null>> {
  const { sandbox } = place;
  const [company] = sandbox.ready.companies;
  const found = new Map<string, Content | null>();
  for (let at = cursor, more = true; more; ) {
    const url = new URL('/investments', sandbox.url);
    url.searchParams.set('company_id', company?.id ?? '');
    url.searchParams.set('per_page', '100');
    if (at !== null) url.searchParams.set('cursor', at);
    const answer = await askPlatform(url, { headers: { authorization: `Bearer ${company?.token}` } });
    if (!answer.ok)
      throw new Violation(`cursor ${at} is refused with ${answer.status}: ${await answer.text()}`);
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

export const truth = (place: Place) => page(place, null);

export function contentOf({ status, observed_at, amounts, investor }: WireRecord): Content {
  return JSON.stringify([
    ...[status, observed_at, amounts.committed_cents, amounts.raised_cents],
    ...[investor?.name ?? null, investor?.email ?? null],
  ]);
}

export async function held(sight: Sight): Promise<Map<string, Content>> {
  const rows = await sight.rows<{ id: string } & Record<string, string | number | null>>(
    'SELECT id, status, observed_at, committed_cents, raised_cents, name, email FROM roster',
  );
  return new Map(
    rows.map(({ id, status, observed_at, committed_cents, raised_cents, name, email }) => [
      id,
      JSON.stringify([status, observed_at, committed_cents, raised_cents, name, email]),
    ]),
  );
}

export function differences(wanted: Map<string, Content | null>, mirror: Map<string, Content>): string[] {
  const wrong = [...wanted].filter(([id, content]) => (mirror.get(id) ?? null) !== content).map(([id]) => id);
  return [...wrong, ...[...mirror.keys()].filter((id) => !wanted.has(id))];
}

/** Checks what must be true of a database whatever happened to the process that wrote it. */
export async function judgeStopped(place: Place): Promise<void> {
  // Copying a file while another process checkpoints its WAL would make rows look lost.
  await place.deserted();
  const seen = await place.storage.lookAtRemains(async (sight) => {
    const damage = await sight.damage();
    if (damage !== null) throw new Violation(`damaged: ${damage}`);
    if (!(await sight.isWhole())) return null;
    await goesForward(sight);
    await histories(place, sight);
    const [source] = await sight.rows<{ state: string; cursor: string | null }>(
      'SELECT state, cursor FROM sources',
    );
    return source?.state === 'following' ? { cursor: source.cursor, mirror: await held(sight) } : null;
  });
  if (seen === null || seen.cursor === null) return;
  // What the mirror lacks must still come after its cursor.
  const toCome = await page(place, seen.cursor);
  const missed = differences(await truth(place), seen.mirror).filter((id) => !toCome.has(id));
  if (missed.length > 0) throw new Violation(`the cursor is ahead of ${missed.length} rows: ${missed[0]}`);
}

/** Judges what was sent, accepted and read since the mirror was new. */
async function histories(place: Place, sight: Sight): Promise<void> {
  // Read before the rows: a delivery that is accepted meanwhile is not missing.
  const history = place.deliveries();
  const stored = await inboxOf(sight);
  const inbox = judgeInbox(history, stored);
  if (inbox.length > 0)
    throw new Violation(`the inbox of ${stored.length} rows: ${inbox.slice(0, 20).join(', ')}`);
  await readFeed(place, sight, 'one between lives');
  const feed = place.feed().judge(await sight.rows<ChangeRow>(changesAfter(0)));
  if (feed.length > 0) throw new Violation(`the change feed: ${feed.slice(0, 20).join(', ')}`);
}

const inboxOf = (sight: Sight) => sight.rows<InboxRow>('SELECT event_id, state FROM webhook_inbox');

const readFeed = (place: Place, sight: Sight, consumer: string) =>
  place.feed().read(consumer, (sql) => sight.rows<ChangeRow>(sql));

/** No version was followed by an older one: writes follow feed order, one writer at a time. */
async function goesForward(sight: Sight): Promise<void> {
  const [back] = await sight.rows<{ id: string }>(
    `SELECT h.id FROM investment_history h JOIN investments i USING (source, id) WHERE h.observed_at > i.observed_at
     UNION SELECT a.id FROM investment_history a JOIN investment_history b USING (source, id)
     WHERE a.change_seq < b.change_seq AND a.observed_at > b.observed_at`,
  );
  if (back !== undefined) throw new Violation(`${back.id} went back to an older version`);
}

/**
 * Requires a running daemon and no further changes: soon the mirror equals the truth and every event is processed.
 * Returns early, without a verdict, when `calledOff` is aborted.
 */
export async function judgeAtRest(place: Place, calledOff?: AbortSignal): Promise<void> {
  const wanted = await truth(place);
  const deadline = new Deadline(place.living());
  let left: readonly string[] = ['the mirror was never there'];
  while (calledOff?.aborted !== true) {
    left = await place.look(async (sight) => {
      if (!(await sight.isWhole())) return left;
      await readFeed(place, sight, 'one beside the daemon');
      return unfinished(place, sight, wanted);
    });
    if (left.length === 0) return;
    if (deadline.over) throw new Violation(['not at rest', ...left, ...printedIn(place)].join('\n  '));
    await deadline.turn();
  }
}

/** Returns what keeps a mirror from being at rest: ids and times, no personal data. */
async function unfinished(
  place: Place,
  sight: Sight,
  wanted: Map<string, Content | null>,
): Promise<readonly string[]> {
  const wrong = differences(wanted, await held(sight)).map((id) => `${id} differs`);
  const pending = await sight.rows<object>(
    `SELECT inbox_no, state, observed_at, received_at, attempts, next_at
     FROM webhook_inbox WHERE state IN ('pending', 'given_up')`,
  );
  return [
    ...wrong,
    ...pending.map((event) => `not worked: ${JSON.stringify(event)}`),
    ...judgeWorked(place.deliveries(), await inboxOf(sight)),
  ];
}

const printedIn = (place: Place) => place.living().map((life) => life.printed());
