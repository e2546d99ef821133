import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ForgottenLedger } from '../../src/daemon/forgotten-ledger.js';
import { openMirror } from '../../src/daemon/open-mirror.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { DatabaseWatch } from './database-watch.js';
import { FileWatch } from './file-watch.js';
import { forbidGlobals } from './forbidden-globals.js';
import { type Plan, planFor } from './plan.js';
import { PlatformWorld } from './platform-world.js';
import { epoch } from './scheduler.js';
import { captureServers } from './sockets.js';
import type { Surroundings } from './stage.js';
import { type Verdict, World } from './world.js';

/** Who plays the platform: a small one of our own, or the bundled server. */
export type Mode = 'fake' | 'platform';

/** What all worlds of a process share: memory for their disks, and the watchers over SQLite and sockets. */
export class Laboratory {
  readonly #watch = new DatabaseWatch();
  readonly #servers = captureServers();
  readonly #files: FileWatch;
  readonly #scratch: string;
  readonly #template: string;

  private constructor(public mode: Mode) {
    this.#scratch = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'rosterd-sim-'));
    this.#files = new FileWatch(this.#scratch);
    this.#template = join(this.#scratch, 'template');
    mkdirSync(this.#template, { mode: 0o700 });
  }

  static async open(mode: Mode = 'fake'): Promise<Laboratory> {
    const laboratory = new Laboratory(mode);
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

  run(plan: Plan, keepLines = false): Promise<Verdict> {
    const Kind = this.mode === 'platform' ? PlatformWorld : World;
    return this.#inside(new Kind(plan, this.#around(keepLines)));
  }

  seed(seed: number, keepLines = false): Promise<Verdict> {
    return this.run(planFor(seed), keepLines);
  }

  close(): void {
    this.#watch.undo();
    this.#files.undo();
    this.#servers.undo();
    rmSync(this.#scratch, { recursive: true, force: true });
  }

  #around(keepLines: boolean): Surroundings {
    return {
      ...{ watch: this.#watch, files: this.#files, servers: this.#servers.ports, keepLines },
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
