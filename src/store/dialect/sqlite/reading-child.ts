import { endWithParent } from '../../../runtime/own-child.js';
import { failureOf } from './child-failure.js';
import { connectSqlite, type SqliteConnection } from './connect.js';
import type { ReadingDemand } from './reading-messages.js';

// A child process that reads for the dashboard, so that no query blocks the daemon: see reading-processes.ts.

const rowsPerBatch = 500;

interface Session {
  readonly database: SqliteConnection;
  rows: IterableIterator<unknown> | null;
}

const sessions = new Map<number, Session>();

endWithParent();
process.on('message', (demand: ReadingDemand) => {
  const { no } = demand;
  try {
    process.send?.({ no, kind: 'rows', rows: handle(demand) });
  } catch (error) {
    process.send?.({ no, kind: 'failed', failure: failureOf(error) });
  }
});

function handle(demand: ReadingDemand): readonly unknown[] {
  const no = demand.session;
  if (demand.kind === 'open') {
    sessions.set(no, { database: connectSqlite(demand.file, { readonly: true }), rows: null });
    return [];
  }
  const session = sessions.get(no);
  if (session === undefined) throw new Error(`session ${no} is not open`);
  const { raw } = session.database;
  switch (demand.kind) {
    case 'all':
      return raw.prepare(demand.sql).all(...demand.parameters);
    case 'begin':
      session.rows = raw.prepare(demand.sql).iterate(...demand.parameters);
      return [];
    case 'next':
      return nextBatch(session);
    case 'drop':
      drop(session);
      return [];
    case 'close':
      sessions.delete(no);
      drop(session);
      session.database.close();
      return [];
  }
}

function nextBatch({ rows }: Session): readonly unknown[] {
  const batch: unknown[] = [];
  while (rows !== null && batch.length < rowsPerBatch) {
    const { done, value } = rows.next();
    if (done === true) break;
    batch.push(value);
  }
  return batch;
}

function drop(session: Session): void {
  session.rows?.return?.();
  session.rows = null;
}
