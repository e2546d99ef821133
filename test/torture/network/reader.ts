import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { type ChangeRow, changesAfter } from '../history.js';
import { eachLine, type ReaderOrder, say } from './orders.js';
import { direct, openForwards } from './wire.js';

/*
 * An analyst with plain SQL: reads the change feed after the last number it saw, writes down every row it got, and
 * counts in one snapshot whether the rows of each source are those that the feed added and removed.
 */

const pauseMillis = 100;

export async function runReader({ forwards: orders, seed, url, file, after }: ReaderOrder): Promise<void> {
  const forwards = await openForwards(orders, seed);
  let last = after;
  let ended = false;
  const note = (line: object) => appendFileSync(file, `${JSON.stringify(line)}\n`);
  const session = async () => {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 2_000,
      query_timeout: 3_000,
    });
    client.on('error', () => {});
    try {
      await client.connect();
      for (let turn = 0; !ended; turn += 1, await pause(pauseMillis)) {
        const { rows } = await client.query<ChangeRow>(`${changesAfter(last)} LIMIT 1000`);
        for (const row of rows) {
          note({ ...row, seq: Number(row.seq) });
          last = Number(row.seq);
        }
        if (turn % 5 === 0) note({ snapshot: await snapshot(client) });
      }
    } finally {
      client.connection.stream.destroy();
    }
  };
  say({ ready: true });
  void eachLine((line) => direct(forwards, line)).then(() => process.exit(0));
  while (!ended)
    await session().catch(async () => {
      await pause(pauseMillis);
    });
  ended = true;
}

/** For each source that is listed: its rows less what the feed added and removed, which never changes. */
async function snapshot(client: pg.Client): Promise<Record<string, number>> {
  const { rows } = await client.query<{ source: string; base: string }>(
    `SELECT s.name AS source, (SELECT count(*) FROM investments i WHERE i.source = s.name)
       - (SELECT count(*) FILTER (WHERE kind = 'added') - count(*) FILTER (WHERE kind = 'removed')
          FROM changes c WHERE c.source = s.name) AS base
     FROM sources s WHERE s.listed_at IS NOT NULL`,
  );
  return Object.fromEntries(rows.map(({ source, base }) => [source, Number(base)]));
}
