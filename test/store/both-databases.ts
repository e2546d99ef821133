import { test as vitestTest } from 'vitest';

export type Dialect = 'sqlite' | 'postgres';

let running: Dialect = 'sqlite';

/** The database on which the running test creates its fixtures. The tests of one file run one after the other. */
export const dialect = (): Dialect => running;

const on =
  <Args extends unknown[]>(which: Dialect, work: (...args: Args) => unknown) =>
  async (...args: Args): Promise<void> => {
    running = which;
    try {
      await work(...args);
    } finally {
      running = 'sqlite';
    }
  };

const titles: Readonly<Record<Dialect, string>> = { sqlite: '', postgres: ' (PostgreSQL)' };
const dialects: readonly Dialect[] = ['sqlite', 'postgres'];
type Body<Args extends readonly unknown[]> = (
  title: string,
  work: (...args: Args) => unknown,
  timeoutMs?: number,
) => void;

/** Like vitest's `test`, but runs the test on both databases. */
export function test(title: string, work: () => unknown, timeoutMs?: number): void {
  for (const which of dialects) vitestTest(title + titles[which], on(which, work), timeoutMs);
}

test.each = each;

/** `[unknown]` makes TypeScript infer the cases as tuples. */
function each<Args extends unknown[] | [unknown]>(cases: readonly Args[]): Body<Args>;
function each<Case>(cases: readonly Case[]): Body<[Case]>;
function each(cases: readonly unknown[]): Body<never> {
  return (title, work, timeoutMs) => {
    for (const which of dialects)
      vitestTest.each(cases as never)(title + titles[which], on(which, work) as never, timeoutMs);
  };
}
