import { type MessagePort, workerData } from 'node:worker_threads';
import pg from 'pg';
import { valueTypes } from '../../../src/store/dialect/postgres/values.js';
import type { LookAnswer, LookOrder } from './looks.js';

/** The thread behind `Looks`: answers one query after the other. */
const { port, answered } = workerData as { port: MessagePort; answered: Int32Array };
const sessions = new Map<number, pg.Client>();

async function obey(order: LookOrder): Promise<LookAnswer> {
  if (order.kind === 'open') {
    const client = new pg.Client({ connectionString: order.url, types: valueTypes });
    client.on('error', () => {});
    await client.connect();
    sessions.set(order.session, client);
    return { rows: [] };
  }
  const client = sessions.get(order.session);
  if (client === undefined) return { failed: 'closed' };
  if (order.kind === 'close') {
    sessions.delete(order.session);
    await client.end();
    return { rows: [] };
  }
  // One message: one round trip, and outside a transaction one snapshot under repeatable read.
  const results: pg.QueryResult<object> | pg.QueryResult<object>[] = await client.query(
    order.texts.join(';\n'),
  );
  return { rows: [results].flat().map(({ rows }) => rows) };
}

port.on('message', (order: LookOrder) => {
  void obey(order)
    .catch((error: Error & { code?: string }) => ({ failed: `${error.code ?? ''} ${error.message}` }))
    .then((answer) => {
      port.postMessage(answer);
      Atomics.store(answered, 0, 1);
      Atomics.notify(answered, 0);
    });
});
