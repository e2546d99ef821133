import { type FeedRead, judgeFeed, judgeSet } from '../judges/histories.js';

/** A row of the view `changes`, as SQL or a JSON line of `rosterd changes` returns it. */
export interface ChangeRow {
  readonly seq: number | string;
  readonly source: string;
  readonly id: string | null;
  readonly kind: string;
  readonly fields: string | readonly string[];
  readonly reason: string | null;
  readonly at: string;
}

export const changesAfter = (seq: number): string =>
  `SELECT seq, source, id, kind, fields, reason, at FROM changes WHERE seq > ${seq} ORDER BY seq`;

type Entries = FeedRead['entries'];

export const entriesOf = (rows: readonly ChangeRow[]): Entries =>
  rows.map(({ seq, source, id, kind, fields, reason, at }) => ({
    seq: Number(seq),
    content: JSON.stringify([
      ...[source, id, kind, reason, at],
      ...(typeof fields === 'string' ? (JSON.parse(fields) as string[]) : fields),
    ]),
  }));

/** What consumers of one feed read while it grew, each from where it had ended. */
export class FeedHistory {
  readonly #reads: FeedRead[] = [];
  readonly #reached = new Map<string, number>();

  async read(consumer: string, rows: (sql: string) => Promise<readonly ChangeRow[]>): Promise<void> {
    const after = this.#reached.get(consumer) ?? 0;
    const entries = entriesOf(await rows(changesAfter(after)));
    this.#reads.push({ consumer, after, entries });
    this.#reached.set(consumer, entries.at(-1)?.seq ?? after);
  }

  /** Returns what is wrong if the feed ends with these rows; they begin with the first change. */
  judge(rows: readonly ChangeRow[]): readonly string[] {
    const first = Number(rows[0]?.seq ?? 1);
    const lacks = first === 1 ? [] : [`the feed begins with ${first}`];
    return [...lacks, ...judgeFeed(this.#reads, entriesOf(rows))];
  }
}

export interface Sent {
  /** Deliveries that were answered with success. */
  readonly accepted: readonly string[];
  /** Every delivery, whatever its answer was, or if there was none. */
  readonly sent: readonly string[];
}

export interface InboxRow {
  readonly event_id: string;
  readonly state: string;
}

/** Returns what is wrong with the rows of the inbox: each accepted delivery has one, and none comes from nowhere. */
export function judgeInbox({ accepted, sent }: Sent, rows: readonly InboxRow[]): readonly string[] {
  return judgeSet(
    accepted,
    rows.map(({ event_id }) => event_id),
    new Set(sent),
  );
}

/** Returns the accepted deliveries whose row says anything else than that they were worked. */
export function judgeWorked(
  { accepted }: Pick<Sent, 'accepted'>,
  rows: readonly InboxRow[],
): readonly string[] {
  const states = new Map(rows.map(({ event_id, state }) => [event_id, state]));
  return accepted.flatMap((id) => {
    const state = states.get(id);
    return state === undefined || state === 'worked' ? [] : [`${state} in the end: ${id}`];
  });
}
