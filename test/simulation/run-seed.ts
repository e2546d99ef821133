import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ForgottenLedger } from '../../src/daemon/forgotten-ledger.js';
import { openMirror } from '../../src/daemon/open-mirror.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { Chance } from './chance.js';
import { DatabaseWatch } from './database-watch.js';
import { FileWatch } from './file-watch.js';
import { forbidGlobals } from './forbidden-globals.js';
import { type Plan, planFor } from './plan.js';
import { type PostgresAround, PostgresLaboratory } from './postgres/postgres-laboratory.js';
import { PostgresRun } from './postgres/run-with-postgres.js';
import { withSleepers } from './postgres/sleepers.js';
import { SandboxRun } from './run-with-sandbox.js';
import { epoch } from './scheduler.js';
import { SimulatedRun, type Verdict } from './simulated-run.js';
import { captureServers } from './sockets.js';
import type { Surroundings } from './stage.js';

/** Which platform the run uses: the fake one or the bundled server. */
export type Mode = 'fake' | 'platform';

/** A fleet member sends a heartbeat every two seconds, and each is a real query to a real server. */
const shortIntervals = [60, 60, 60, 120, 120];

/** What all runs of a process share: memory for their disks, and the watchers over SQLite and sockets. */
export class Laboratory {
  readonly #watch = new DatabaseWatch();
  readonly #servers = captureServers();
  readonly #files: FileWatch;
  readonly #scratch: string;
  readonly #template: string;

  private constructor(
    public mode: Mode,
    readonly postgres: PostgresLaboratory | null,
  ) {
    this.#scratch = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'rosterd-sim-'));
    this.#files = new FileWatch(this.#scratch);
    this.#template = join(this.#scratch, 'template');
    mkdirSync(this.#template, { mode: 0o700 });
  }

  /** If `server` is given, mirrors are stored there. */
  static async open(mode: Mode = 'fake', server: string | null = null): Promise<Laboratory> {
    const postgres = server === null ? null : await PostgresLaboratory.open(server);
    const laboratory = new Laboratory(mode, postgres);
    if (postgres !== null) return laboratory;
    const folder = laboratory.#template;
    const clock = { now: () => epoch, monotonic: () => 0, wait: async () => {} };
    const ledger = new ForgottenLedger(join(folder, 'forgotten.jsonl'));
    const mirror = await openMirror(
      { kind: 'sqlite', file: join(folder, 'mirror.db') },
      { clock, logger: silentLogger, identity: 'keep', ledger },
    );
    await mirror.close();
    return laboratory;
  }

  async run(plan: Plan, keepLines = false): Promise<Verdict> {
    try {
      if (this.postgres !== null)
        return await this.postgres.inWorld((postgres) =>
          new PostgresRun(plan, this.#around(keepLines, postgres)).run(),
        );
      const Kind = this.mode === 'platform' ? SandboxRun : SimulatedRun;
      return await this.#inside(new Kind(plan, this.#around(keepLines, null)));
    } finally {
      this.#servers.forget();
      this.#files.forget();
    }
  }

  plan(seed: number): Plan {
    if (this.postgres === null) return planFor(seed);
    return withSleepers(planFor(seed, shortIntervals), new Chance(`sleepers ${seed}`));
  }

  seed(seed: number, keepLines = false): Promise<Verdict> {
    return this.run(this.plan(seed), keepLines);
  }

  async close(): Promise<void> {
    this.#watch.undo();
    this.#files.undo();
    this.#servers.undo();
    await this.postgres?.close();
    rmSync(this.#scratch, { recursive: true, force: true });
  }

  #around(keepLines: boolean, postgres: PostgresAround | null): Surroundings {
    return {
      postgres,
      watch: this.#watch,
      files: this.#files,
      servers: this.#servers.ports,
      keepLines,
      scratch: this.#scratch,
      template: this.#template,
    };
  }

  async #inside(world: SimulatedRun): Promise<Verdict> {
    const allow = forbidGlobals();
    try {
      return await world.run();
    } finally {
      allow();
    }
  }
}
