import { migratePostgres } from '../../../src/store/dialect/postgres/migrate.js';
import { openPostgres } from '../../../src/store/dialect/postgres/open.js';
import { installDurabilityAudit } from '../../postgres/durability-audit.js';
import { installAudit } from '../../postgres/fence-audit.js';
import { dropDatabasesOf, runName, urlOf, withClient } from '../../postgres/run-databases.js';
import { epoch } from '../scheduler.js';
import { Looks } from './looks.js';
import { PostgresWatch } from './postgres-watch.js';

/** What a run on PostgreSQL needs from its environment. */
export interface PostgresAround {
  /** Of its own database, as a superuser. */
  readonly url: string;
  readonly watch: PostgresWatch;
  readonly looks: Looks;
}

/**
 * The database clock decides whether fleet members are alive; here that is the virtual clock, see `PostgresWatch`.
 */
const virtualClock = `CREATE OR REPLACE FUNCTION fleet_clock(ago_millis bigint DEFAULT 0) RETURNS text
  LANGUAGE sql VOLATILE AS $$
    SELECT to_char(to_timestamp((current_setting('sim.now')::numeric - ago_millis) / 1000) AT TIME ZONE 'UTC',
                   'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') COLLATE "C"
  $$`;

/** A server for simulations: each run gets its own database, copied from a migrated one. */
export class PostgresLaboratory {
  readonly #watch = new PostgresWatch();
  readonly #looks = new Looks();
  #worlds = 0;

  private constructor(
    readonly server: string,
    readonly run: string,
  ) {}

  static async open(server: string): Promise<PostgresLaboratory> {
    const laboratory = new PostgresLaboratory(server, runName());
    const name = `${laboratory.run}_template`;
    await withClient(server, (client) => client.query(`CREATE DATABASE "${name}"`));
    const database = await openPostgres(urlOf(server, name), { max: 1 });
    const clock = { now: () => epoch, monotonic: () => 0, wait: async () => {} };
    await migratePostgres(database, { clock, version: '0.0.0-test' });
    await database.pool.query(virtualClock);
    await database.close();
    await installAudit(urlOf(server, name));
    await installDurabilityAudit(urlOf(server, name));
    return laboratory;
  }

  async inWorld<Result>(work: (around: PostgresAround) => Promise<Result>): Promise<Result> {
    this.#worlds += 1;
    const name = `${this.run}_${this.#worlds}`;
    await withClient(this.server, (client) =>
      client.query(`CREATE DATABASE "${name}" TEMPLATE "${this.run}_template"`),
    );
    try {
      const url = urlOf(this.server, name);
      return await work({ url, watch: this.#watch, looks: this.#looks });
    } finally {
      await withClient(this.server, (client) => client.query(`DROP DATABASE "${name}" WITH (FORCE)`));
    }
  }

  async close(): Promise<void> {
    this.#watch.undo();
    await this.#looks.close();
    await dropDatabasesOf(this.server, this.run);
  }
}
