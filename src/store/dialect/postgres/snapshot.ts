import type { Ask, Snapshots } from '../../reads/snapshot.js';
import { postgresFault } from './faults.js';
import { openPostgres, type PostgresDatabase } from './open.js';

/** Only this level sees one state throughout. */
const begin = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';

export async function postgresSnapshot<Result>(
  url: string,
  work: (ask: Ask) => Promise<Result>,
): Promise<Result> {
  const opened = await openPostgres(url, { readonly: true, max: 1 });
  try {
    return await snapshotOn(opened, work);
  } finally {
    await opened.close();
  }
}

/** Scraped once a minute or more often, it connects once. */
const idleMs = 5 * 60_000;

/** On connections that are kept between the looks. After a failure the next look connects anew, with what is then the password. */
export class KeptSnapshots implements Snapshots {
  #opened: Promise<PostgresDatabase> | null = null;

  constructor(private readonly url: () => Promise<string>) {}

  async take<Result>(work: (ask: Ask) => Promise<Result>): Promise<Result> {
    this.#opened ??= this.url().then((url) => openPostgres(url, { readonly: true, max: 2, idleMs }));
    const opened = this.#opened;
    try {
      return await snapshotOn(await opened, work);
    } catch (error) {
      if (this.#opened === opened) this.#opened = null;
      void closed(opened);
      throw error;
    }
  }

  async close(): Promise<void> {
    await closed(this.#opened);
  }
}

/** Looks under way end first. What could not be opened, or not be closed, is nothing to wait for. */
async function closed(opened: Promise<PostgresDatabase> | null): Promise<void> {
  await opened?.then((database) => database.close()).catch(() => {});
}

async function snapshotOn<Result>(
  { pool, url }: PostgresDatabase,
  work: (ask: Ask) => Promise<Result>,
): Promise<Result> {
  try {
    const client = await pool.connect();
    let usable = false;
    try {
      await client.query(begin);
      const result = await work(async (text, ...values) => {
        const numbered = text.reduce((sql, part, at) => `${sql}$${at}${part}`);
        return (await client.query(numbered, [...values])).rows;
      });
      await client.query('COMMIT');
      usable = true;
      return result;
    } finally {
      client.release(!usable);
    }
  } catch (error) {
    throw postgresFault(error, url);
  }
}
