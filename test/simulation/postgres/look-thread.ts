import { type MessagePort, workerData } from 'node:worker_threads';
import pg from 'pg';
import { valueTypes } from '../../../src/store/dialect/postgres/values.js';
import type { LookAnswer, LookOrder } from './looks.js';

interface Session {
  readonly client: pg.Client;
  /** The names of its prepared statements, by their texts; null after the first use of a text. */
  readonly prepared: Map<string, string | null>;
}

/** The thread behind `Looks`: answers one query after the other. */
const { port, answered } = workerData as { port: MessagePort; answered: Int32Array };
const sessions = new Map<number, Session>();
let statements = 0;

async function obey(order: LookOrder): Promise<LookAnswer> {
  if (order.kind === 'open') {
    const client = new pg.Client({ connectionString: order.url, types: valueTypes });
    client.on('error', () => {});
    await client.connect();
    sessions.set(order.session, { client, prepared: new Map() });
    return { rows: [] };
  }
  const session = sessions.get(order.session);
  if (session === undefined) return { failed: 'closed' };
  const { client } = session;
  if (order.kind === 'close') {
    sessions.delete(order.session);
    await client.end();
    return { rows: [] };
  }
  const texts: string[] = [];
  for (const text of order.texts) texts.push(await preparedIn(session, text));
  // One message: one round trip, and outside a transaction one snapshot under repeatable read.
  const results: pg.QueryResult<object> | pg.QueryResult<object>[] = await client.query(texts.join(';\n'));
  return { rows: [results].flat().map(({ rows }) => rows) };
}

/** The looks of the judge join views, and to plan them takes longer than to run them. */
async function preparedIn({ client, prepared }: Session, text: string): Promise<string> {
  if (!/^\s*SELECT\b/i.test(text)) return text;
  const name = prepared.get(text);
  if (name === undefined) {
    prepared.set(text, null);
    return text;
  }
  if (name !== null) return `EXECUTE ${name}`;
  statements += 1;
  const next = `look_${statements}`;
  await client.query(`PREPARE ${next} AS ${text}`);
  prepared.set(text, next);
  return `EXECUTE ${next}`;
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
