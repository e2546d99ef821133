/*
 * Checks over recorded histories, in the manner of Elle: pure, and without knowledge of the program. A set check for
 * what was accepted, and a list-append check for what consumers of an ordered feed read.
 */

/** Returns what is wrong when each accepted element has to appear exactly once in `final`, and nothing else may. */
export function judgeSet(
  accepted: readonly string[],
  final: readonly string[],
  /** Elements whose sender got no answer: they may appear or not. */
  unsure: ReadonlySet<string> = new Set(),
): readonly string[] {
  const times = new Map<string, number>();
  for (const element of final) times.set(element, (times.get(element) ?? 0) + 1);
  const known = new Set([...accepted, ...unsure]);
  const wrong: string[] = [];
  for (const element of new Set(accepted)) if (!times.has(element)) wrong.push(`lost: ${element}`);
  for (const [element, count] of times) {
    if (count > 1) wrong.push(`${count} times: ${element}`);
    if (!known.has(element)) wrong.push(`never accepted: ${element}`);
  }
  return wrong;
}

/** One read of the feed by one consumer: the entries after `after`, in the order in which they were returned. */
export interface FeedRead {
  readonly consumer: string;
  readonly after: number;
  readonly entries: readonly { readonly seq: number; readonly content: string }[];
}

/**
 * Returns what is wrong when the feed is a list that only grows. Numbers are dense and in order in each read, each read
 * of a consumer continues where it ended, and all consumers see the same entry under a number: what they read are
 * prefixes of one list. `final` is the list at the end.
 */
export function judgeFeed(reads: readonly FeedRead[], final: FeedRead['entries']): readonly string[] {
  const wrong: string[] = [];
  const list = new Map<number, string>();
  for (const { seq, content } of final) list.set(seq, content);
  const reached = new Map<string, number>();
  const dense = (name: string, after: number, entries: FeedRead['entries']) => {
    let expected = after;
    for (const { seq, content } of entries) {
      expected += 1;
      if (seq !== expected) wrong.push(`${name} read ${seq} where ${expected} follows`);
      expected = seq;
      const other = list.get(seq);
      if (other === undefined) wrong.push(`${name} read ${seq}, which is not in the feed`);
      else if (other !== content) wrong.push(`${name} read another entry under ${seq}`);
    }
    return expected;
  };
  dense('the end', (final[0]?.seq ?? 1) - 1, final);
  for (const { consumer, after, entries } of reads) {
    const before = reached.get(consumer);
    if (before !== undefined && before !== after)
      wrong.push(`${consumer} went on after ${after}, not after ${before}`);
    reached.set(consumer, dense(consumer, after, entries));
  }
  return wrong;
}
