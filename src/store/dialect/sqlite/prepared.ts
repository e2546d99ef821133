import type Sqlite from 'better-sqlite3';

/** A prepared statement. Declared here because the driver's type cannot be named in a declaration file. */
export interface Prepared<Args extends unknown[], Row = unknown> {
  run(...args: Args): Sqlite.RunResult;
  get(...args: Args): Row | undefined;
  all(...args: Args): Row[];
  iterate(...args: Args): IterableIterator<Row>;
  /** The first column only. */
  pluck(): Prepared<Args, Row>;
  /** Rows as arrays. */
  raw(): Prepared<Args, Row>;
  columns(): readonly { readonly name: string }[];
}

export type Prepare = <Args extends unknown[], Row = unknown>(sql: string) => Prepared<Args, Row>;

export type RawDatabase = Sqlite.Database;

/** Returns a function that prepares a statement when it first gets its text: that takes longer than running it. */
export function preparingOnce(raw: RawDatabase): (text: string) => Prepared<unknown[]> {
  const prepared = new Map<string, Prepared<unknown[]>>();
  return (text) => {
    const statement = prepared.get(text) ?? raw.prepare<unknown[]>(text);
    prepared.set(text, statement);
    return statement;
  };
}
