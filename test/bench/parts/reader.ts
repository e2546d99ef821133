import Sqlite from 'better-sqlite3';
import { committedAfter, idOf } from '../feed.js';
import { sharedNow } from '../shared-time.js';
import { recordOf } from './platform.js';

export interface ReaderOptions {
  readonly file: string;
  /** Returns the committed cents of a row by source and id. */
  readonly rowSql: string;
  /** The sources to watch: what `rowSql` takes for each, and its number of records. */
  readonly sources: readonly { readonly key: string | number; readonly records: number }[];
  /** How long it rests between two looks at the file. */
  readonly everyMillis: number;
  /** Whether it may block its event loop for the rest: only in a process of its own. */
  readonly apart: boolean;
}

/**
 * Another connection, in another process: notes when each change becomes visible. It compares `data_version`, which
 * changes with every commit of others, and only then looks for the next change of each source.
 */
export async function startReader({ file, rowSql, sources, everyMillis, apart }: ReaderOptions) {
  const db = new Sqlite(file, { readonly: true, timeout: 10_000 });
  const version = db.prepare<[], number>('PRAGMA data_version').pluck();
  const row = db.prepare<[string | number, string], number>(rowSql).pluck();
  const seen = sources.map((): number[] => []);
  const waiting = new Set<{ source: number; place: number; resolve: (at: number) => void }>();
  const cell = new Int32Array(new SharedArrayBuffer(4));
  let closed = false;
  let problem: unknown;
  let wanted = false;
  let wake = () => {};

  const look = () => {
    for (const [source, { key, records }] of sources.entries()) {
      const times = seen[source] ?? [];
      for (;;) {
        const place = times.length + 1;
        const no = recordOf(place, records);
        // Later changes of the same record commit more cents.
        if (!((row.get(key, idOf(no)) ?? 0) >= committedAfter(no, place))) break;
        times.push(sharedNow());
      }
    }
    for (const one of waiting) {
      const at = seen[one.source]?.[one.place - 1];
      if (at === undefined) continue;
      waiting.delete(one);
      one.resolve(at);
    }
  };
  const watch = async () => {
    for (let last: number | undefined; !closed; ) {
      if (!wanted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      const now = version.get();
      if (now !== last) look();
      last = now;
      if (apart) Atomics.wait(cell, 0, 0, everyMillis);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const watching = watch().catch((error: unknown) => {
    problem = error;
  });
  return {
    /** Begins or ends looking: a reader that looks takes time from the others. */
    watch: async (on: boolean): Promise<void> => {
      wanted = on;
      wake();
    },
    /** Resolves when the change at that place of a source is visible, with the time on the clock of `sharedNow`. */
    seen: (source: number, place: number, withinMillis: number): Promise<number> => {
      const at = seen[source]?.[place - 1];
      if (at !== undefined) return Promise.resolve(at);
      return new Promise((resolve, reject) => {
        const one = { source, place, resolve: (time: number) => resolve(time) };
        const late = setTimeout(() => {
          waiting.delete(one);
          reject(new Error(`a change was not visible within ${withinMillis} ms`, { cause: problem }));
        }, withinMillis);
        one.resolve = (time) => {
          clearTimeout(late);
          resolve(time);
        };
        waiting.add(one);
      });
    },
    /** The times at which the changes of each source became visible, in order. */
    times: async (): Promise<readonly (readonly number[])[]> => seen,
    /** Returns the first column of the first row. */
    value: async (sql: string): Promise<unknown> => db.prepare<[], unknown>(sql).pluck().get(),
    close: async (): Promise<void> => {
      closed = true;
      wake();
      await watching;
      db.close();
    },
  };
}
