/** What one quarter of a simulated company left behind. Every value is of the same moment of its quarter. */
export interface Quarter {
  /** The file, and the same content written anew. */
  readonly fileBytes: number;
  readonly contentBytes: number;
  /** Heap after a garbage collection; null where the process cannot ask for one. */
  readonly heapBytes: number | null;
  /** Of a tick that finds nothing new. */
  readonly idleStatements: number;
  readonly idleRequests: number;
  /** Rows past the retention of their table. */
  readonly overdue: Readonly<Record<string, number>>;
  /** Rows of other tables that have a retention, or that only hold what is in progress. */
  readonly bounded: Readonly<Record<string, number>>;
}

/** How much more than in the first full quarter is allowed in the last one. */
const growth = {
  ratio: 1.5,
  heap: 1.5,
  heapSlack: 24 * 2 ** 20,
  statements: 1.25,
  rows: 2,
  rowsSlack: 50,
} as const;

/**
 * Returns which tables had rows past their retention, and what grew from the first full quarter to the last one although
 * it should stay flat.
 */
export function judgeQuarters(quarters: readonly Quarter[]): readonly string[] {
  return [...overdueIn(quarters), ...grownIn(quarters)];
}

const overdueIn = (quarters: readonly Quarter[]): readonly string[] =>
  quarters.flatMap(({ overdue }, at) =>
    Object.entries(overdue).flatMap(([table, rows]) =>
      rows === 0 ? [] : [`quarter ${at + 1}: ${rows} rows of ${table} are past their retention`],
    ),
  );

function grownIn(quarters: readonly Quarter[]): readonly string[] {
  const [, first] = quarters;
  const last = quarters.at(-1);
  if (first === undefined || last === undefined || quarters.length < 3) return [];
  const found: string[] = [];
  const flat = (name: string, before: number, after: number, most: number) => {
    if (after > most) found.push(`${name} grew from ${round(before)} to ${round(after)}`);
  };
  const ratio = ({ fileBytes, contentBytes }: Quarter) => fileBytes / contentBytes;
  flat('file over content', ratio(first), ratio(last), growth.ratio * Math.max(1, ratio(first)));
  if (first.heapBytes !== null && last.heapBytes !== null)
    flat('heap', first.heapBytes, last.heapBytes, growth.heap * first.heapBytes + growth.heapSlack);
  flat(
    'statements of an idle tick',
    first.idleStatements,
    last.idleStatements,
    growth.statements * first.idleStatements + 2,
  );
  flat('requests of an idle tick', first.idleRequests, last.idleRequests, first.idleRequests);
  for (const [table, rows] of Object.entries(last.bounded)) {
    const before = first.bounded[table] ?? 0;
    flat(`rows of ${table}`, before, rows, growth.rows * before + growth.rowsSlack);
  }
  return found;
}

const round = (value: number) => Math.round(value * 100) / 100;
