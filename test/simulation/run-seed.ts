import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openMirror } from '../../src/daemon/open-mirror.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { DatabaseWatch } from './database-watch.js';
import { forbidGlobals } from './forbidden-globals.js';
import { type Plan, planFor } from './plan.js';
import { epoch } from './scheduler.js';
import { captureServers } from './sockets.js';
import type { Surroundings } from './stage.js';
import { type Verdict, World } from './world.js';

/** What all worlds of a process share: memory for their disks, and the watchers over SQLite and sockets. */
export class Laboratory {
  readonly #watch = new DatabaseWatch();
  readonly #servers = captureServers();
  readonly #scratch: string;
  readonly #template: string;

  constructor() {
    this.#scratch = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'rosterd-sim-'));
    this.#template = join(this.#scratch, 'template');
    mkdirSync(this.#template, { mode: 0o700 });
    const clock = { now: () => epoch, monotonic: () => 0, wait: async () => {} };
    openMirror(
      { kind: 'sqlite', file: join(this.#template, 'mirror.db') },
      { clock, logger: silentLogger, identity: 'keep' },
    ).close();
  }

  run(plan: Plan, keepLines = false): Promise<Verdict> {
    return this.#inside(new World(plan, this.#around(keepLines)));
  }

  seed(seed: number, keepLines = false): Promise<Verdict> {
    return this.run(planFor(seed), keepLines);
  }

  close(): void {
    this.#watch.undo();
    this.#servers.undo();
    rmSync(this.#scratch, { recursive: true, force: true });
  }

  #around(keepLines: boolean): Surroundings {
    return {
      ...{ watch: this.#watch, servers: this.#servers.ports, keepLines },
      ...{ scratch: this.#scratch, template: this.#template },
    };
  }

  async #inside(world: World): Promise<Verdict> {
    const allow = forbidGlobals();
    try {
      return await world.run();
    } finally {
      allow();
    }
  }
}
