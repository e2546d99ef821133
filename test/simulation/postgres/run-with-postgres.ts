import { withErasuresApplied } from '../../../src/daemon/open-mirror.js';
import { openPostgresMirror } from '../../../src/daemon/open-postgres-mirror.js';
import { PostgresErasures } from '../../../src/store/dialect/postgres/erasures.js';
import { openPostgres } from '../../../src/store/dialect/postgres/open.js';
import { undurable } from '../../postgres/durability-audit.js';
import { audited } from '../../postgres/fence-audit.js';
import type { DatabaseLocation, Life } from '../machine.js';
import type { Reader } from '../reader.js';
import { SimulatedRun } from '../simulated-run.js';
import { LookFailed } from './looks.js';
import type { PostgresAround } from './postgres-laboratory.js';
import { PostgresReader } from './postgres-reader.js';

/** The application name of a process's connections. */
const nameOf = ({ no }: Life) => `world-life-${no}`;

/** A look waits for no lock and the server ends deadlocks; the next commit triggers another look. */
const passes = /^(?:55P03|40P01)/;

/** On a server shared with other tests, their transactions delay a scrub. */
const scrubsMax = 100;

/**
 * The same simulation with the mirror on a real PostgreSQL. The machine's disk stores credentials only. The server
 * survives every death, drops connections, becomes unreachable or runs out of room, and a second daemon forms a
 * fleet. It answers in real time while virtual time stands still, so two runs of one seed may differ.
 */
export class PostgresRun extends SimulatedRun {
  protected override get seesWriters(): boolean {
    return false;
  }

  protected override mirrorPlace(): DatabaseLocation {
    const { watch, url } = this.postgres();
    watch.now = () => this.scheduler.now;
    return {
      database: 'postgres://postgres@127.0.0.1/mirror',
      own: (life) => void watch.own(nameOf(life), life),
      disown: (life) => watch.cut(nameOf(life)),
      openerFor: (life) => {
        const named = new URL(url);
        named.searchParams.set('application_name', nameOf(life));
        return async (_, parts) =>
          withErasuresApplied(
            await openPostgresMirror({ kind: 'postgres', url: named.href, password: null }, parts),
            parts,
          );
      },
    };
  }

  protected override readerOf(): Reader {
    const { looks, url } = this.postgres();
    return new PostgresReader(looks, url);
  }

  protected override afterCommit(life: Life): void {
    const process = this.postgres().watch.of(nameOf(life));
    // A heartbeat or the budget of a token changes nothing that readers see.
    if (process?.changedMirror === false) return;
    try {
      this.judge.afterCommit(life);
      if (process !== null) process.changedMirror = false;
      this.#feedIsDense(this.judge.readerOf(life));
    } catch (error) {
      if (error instanceof LookFailed && passes.test(error.message)) this.counters.add('look:locked');
      else this.violate('judge', `the mirror could not be read: ${(error as Error).stack}`);
    }
  }

  /** What a commit reported as done is there: the server may have rolled it back. */
  protected override afterTick(life: Life, source: string, startedAt: string): void {
    const ticks = this.judge
      .readerOf(life)
      .rows(`SELECT 1 AS one FROM ticks WHERE source = '${source}' AND started_at = '${startedAt}'`);
    this.counters.add('ticks looked for');
    if (ticks.length === 0) this.violate('tick', `the tick of ${source} at ${startedAt} was not stored`);
  }

  /** A consumer that has read to the newest number has missed nothing: no later commit fills a gap before it. */
  #feedIsDense(reader: Reader): void {
    const [feed] = reader.rows<{ readonly n: number; readonly last: number }>(
      'SELECT count(*) AS n, coalesce(max(seq), 0) AS last FROM change_rows',
    );
    if (feed !== undefined && feed.n !== feed.last)
      this.violate('feed', `${feed.n} changes are visible, and the newest has number ${feed.last}`);
  }

  /** Every write was made under the newest lease of its source, and what must survive a power cut waited for the disk. */
  protected override async end(): Promise<void> {
    await super.end();
    if (this.violation !== null) return;
    const { url } = this.postgres();
    const { takings, handovers, stale } = await audited(url);
    this.counters.add('audit:leases taken', takings);
    this.counters.add('audit:handovers', handovers);
    if (stale[0] !== undefined) this.violate('I11', stale[0]);
    const [lost] = await undurable(url);
    if (lost !== undefined) this.violate('durability', lost);
  }

  /** How soon a delivery is processed also depends on the server's real time. */
  protected override async probe(): Promise<void> {}

  protected override async probeCatalog(): Promise<void> {}

  protected override fillDisk(millis: number, slack: number): void {
    const process = this.#process();
    if (process === null) return;
    this.injured.add('disk_full');
    process.writesLeft = slack;
    // Other sessions free and use up room: now this statement of a commit fails, now another one.
    process.roomAfterFailure = slack % 2 === 1 ? 5 + 2 * slack : null;
    this.scheduler.in(millis, 'there is room on the server again', () => {
      process.writesLeft = null;
    });
  }

  /** Instead of a stray lock: restarts the server or breaks the connection to it. */
  protected override lock(millis: number): void {
    const process = this.#process();
    const { life } = this.machine;
    if (process === null || life === null) return;
    this.injured.add('locked');
    process.away = true;
    this.postgres().watch.cut(nameOf(life));
    this.scheduler.in(millis, 'the server can be reached again', () => {
      process.away = false;
    });
  }

  protected override letLocksGo(): void {
    const process = this.#process();
    if (process === null) return;
    process.away = false;
    process.writesLeft = null;
  }

  protected override async scrubAtRest({ clock }: Life): Promise<void> {
    const { url, looks } = this.postgres();
    const database = await openPostgres(url);
    try {
      const erasures = new PostgresErasures(database, clock);
      for (let tries = 0; ; tries += 1) {
        const { kind } = await erasures.scrub();
        this.counters.add(`scrub at rest:${kind}`);
        if (kind !== 'blocked') break;
        if (tries >= scrubsMax) return;
      }
    } finally {
      await database.close();
    }
    const session = looks.open(url);
    session.run('CHECKPOINT');
    const [relations = []] = session.run(
      `SELECT relname AS name, encode(pg_read_binary_file(pg_relation_filepath(oid)), 'escape') AS text
       FROM pg_class WHERE relkind IN ('r', 'i', 't') AND oid >= 16384`,
    ) as readonly (readonly { readonly name: string; readonly text: string }[])[];
    session.close();
    this.judge.bytes(relations.map(({ name, text }) => [name, text] as const));
  }

  #process() {
    const { life } = this.machine;
    return life === null ? null : this.postgres().watch.of(nameOf(life));
  }

  /**
   * Protected instead of `#private`: the constructor of the base class calls it before private fields of this
   * class exist.
   */
  protected postgres(): PostgresAround {
    const { postgres } = this.around;
    if (postgres === null) throw new Error('a run on PostgreSQL needs a server');
    return postgres;
  }
}
