import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import type { Config } from '../../src/config/config.js';
import { configFrom } from '../../src/config/config-from.js';
import { settingsSchema } from '../../src/config/settings.js';
import { type Daemon, startDaemon } from '../../src/daemon/daemon.js';
import { leaseMillis } from '../../src/daemon/mirror-parts.js';
import type { openMirror } from '../../src/daemon/open-mirror.js';
import { isFault } from '../../src/domain/fault.js';
import type { LogFields, Logger } from '../../src/runtime/logger.js';
import type { Chance } from './chance.js';
import type { Counters } from './counters.js';
import { Crash, type Frames, type Step, type Watched } from './database-watch.js';
import type { Account } from './fake-tokens.js';
import type { FileWatch } from './file-watch.js';
import { MachineClock } from './machine-clock.js';
import type { Network } from './network.js';
import { copyAsItLies, type Death } from './power.js';
import type { Scheduler } from './scheduler.js';

export interface SourcePlan {
  readonly name: string;
  company: string;
  readonly installation: string | null;
  readonly account: Account;
}

/** Where the daemons of a machine keep their mirror, observed from outside. */
export interface DatabaseLocation {
  /** As written in the configuration. */
  readonly database: string;
  /** Assigns every later connection from there to that process. */
  own(life: Life & Watched): void;
  disown(life: Life): void;
  openerFor(life: Life, chance: Chance): typeof openMirror;
}

export interface MachineParts {
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly mirror: DatabaseLocation;
  readonly files: FileWatch;
  readonly servers: ReadonlyMap<number, Server>;
  readonly chance: Chance;
  readonly counters: Counters;
  readonly sources: readonly SourcePlan[];
  readonly baseUrl: string;
  /** A folder in memory for this run only. */
  readonly root: string;
  readonly template: string;
  readonly intervalSeconds: number;
  readonly catalogSeconds: number;
  readonly perPage: number;
  readonly requestsPerHour: number;
  readonly brake: { readonly share: number; readonly rows: number };
  readonly secrets: () => readonly string[];
  readonly wallOffset: () => number;
  readonly onCommit: (life: Life) => void;
  /** Called when a tick has ended and the process considers its source halted. */
  readonly onHalt: (life: Life, source: string) => void;
  /** Called when a tick is done and the process considers it recorded. */
  readonly onRecorded: (life: Life, source: string, startedAt: string) => void;
  readonly onDeath: () => void;
  readonly onLog: (life: Life, level: string, text: string) => void;
  readonly violate: (invariant: string, what: string) => void;
}

export interface Armed {
  readonly step: Step;
  countdown: number;
  readonly death: Death;
}

/** One process, from its start to its end. */
export interface Life {
  readonly no: number;
  readonly name: string;
  readonly folder: string;
  readonly file: string;
  readonly clock: MachineClock;
  readonly startedAt: number;
  readonly connections: ReadonlySet<{
    readonly open: boolean;
    close(): unknown;
    pragma(text: string): unknown;
  }>;
  dead: boolean;
  floor: Frames | null;
  armed: Armed | null;
  /** The number of database pages the disk has room for. */
  pagesMax: number | null;
  daemon: Daemon | null;
  port: number | null;
}

/**
 * The computer that runs rosterd: starts the real daemon, kills it, cuts its power and restarts it on what is
 * left.
 */
export class Machine {
  life: Life | null = null;
  /** A second daemon started on the same file. */
  rival: Life | null = null;
  readonly lives: Life[] = [];
  #folder: string;
  #lives = 0;
  /**
   * For each lease, by holder and expiry: since when it has kept a process out, and the daemon's clock at that
   * time.
   */
  readonly #refusals = new Map<string, { readonly at: number; readonly clockTime: number }>();

  constructor(readonly parts: MachineParts) {
    this.#folder = join(parts.root, 'disk-0');
    copyAsItLies(parts.template, this.#folder, 'kill', null, parts.chance);
    for (const { account } of parts.sources) if (account.rotating) this.signIn(account);
  }

  get folder(): string {
    return this.#folder;
  }

  /** Writes the credentials of a fresh sign-in, as `rosterd connect` does. */
  signIn(account: Account): void {
    const { access, refresh, expiresAt } = account.current;
    const credentials = {
      clientId: account.clientId,
      clientSecret: account.clientSecret,
      accessToken: access,
      refreshToken: refresh,
      previousRefreshToken: null,
      scope: '',
      expiresAt: new Date(expiresAt).toISOString(),
    };
    writeFileSync(join(this.#folder, `${account.name}.json`), JSON.stringify(credentials), { mode: 0o600 });
  }

  start(): void {
    if (this.life === null) this.life = this.#boot(this.#folder, true);
  }

  /**
   * Uses another path to the same folder, so that its connections can be told apart from those of the first
   * daemon.
   */
  startRival(): void {
    if (this.rival !== null || this.life === null) return;
    const path = join(this.parts.root, `other-path-${this.#lives}`);
    symlinkSync(this.#folder, path);
    this.rival = this.#boot(path, false);
  }

  #boot(folder: string, receives: boolean): Life {
    const { scheduler, mirror, files, counters } = this.parts;
    this.#lives += 1;
    const no = this.#lives;
    const name = `daemon ${no}`;
    const life = {
      no,
      name,
      folder,
      file: join(folder, 'mirror.db'),
      startedAt: scheduler.now,
      clock: new MachineClock(scheduler, name, this.parts.wallOffset()),
      dead: false,
      armed: null,
      pagesMax: null,
      daemon: null,
      port: null,
      onStep: (step: Step) => this.#onStep(life, step),
      onCommit: () => {
        if (!life.dead) this.parts.onCommit(life);
      },
    } as unknown as Life & Watched;
    mirror.own(life);
    files.own(folder, life);
    this.lives.push(life);
    counters.add('machine:start');
    const before = new Set(this.parts.servers.keys());
    startDaemon({
      config: this.#config(folder, receives),
      clock: life.clock,
      random: this.parts.chance.fork(`life ${no}`).asRandom(),
      openMirror: mirror.openerFor(life, this.parts.chance),
      logger: this.#logger(life, {}),
      wire: this.parts.network.wireOf({
        name,
        life: no,
        get dead() {
          return life.dead;
        },
        get suspendedUntil() {
          return life.clock.suspendedUntil;
        },
      }),
    }).then(
      (daemon) => {
        if (life.dead) return;
        life.daemon = daemon;
        life.port = [...this.parts.servers.keys()].find((port) => !before.has(port)) ?? null;
        daemon.engine.sync.onTick((source, { report, phase, recorded }) => {
          counters.add(`outcome:${report.outcome}`);
          if (report.code !== null) counters.add(`code:${report.code}`);
          counters.add(`trigger:${report.trigger}`);
          if (phase !== null) counters.add(`state:${phase.kind}`);
          if (phase?.kind === 'halted' && !life.dead) this.parts.onHalt(life, source);
          if (recorded && report.outcome === 'done' && !life.dead)
            this.parts.onRecorded(life, source, report.startedAt);
          if (report.code === 'lease_lost') this.#judgeRefusal(life, report.message ?? '');
          if (report.code === 'internal' && !life.dead)
            this.parts.violate('defect', `a tick ended with a defect of rosterd: ${report.message}`);
        });
      },
      (error: unknown) => this.#startFailed(life, error),
    );
    return life;
  }

  /**
   * P11: a holder renews its lease, so one expiry keeps others out for at most one lease duration. That duration
   * does not start at the holder's death: a lease written by a fast clock starts to count later, and the count
   * starts again when that clock is corrected while another lock blocks every process. A refusal by a member of a fleet
   * names no expiry: it may last as long as that member lives.
   */
  #judgeRefusal(life: Life, refusal: string): void {
    const { now } = this.parts.scheduler;
    const other = life === this.rival ? this.life : this.rival;
    if (!refusal.includes(' until ') && other?.dead === false) return void this.#refusals.delete(refusal);
    const clockTime = life.clock.now();
    const first = this.#refusals.get(refusal) ?? { at: now, clockTime };
    const since = clockTime - first.clockTime < now - first.at ? { at: now, clockTime } : first;
    this.#refusals.set(refusal, since);
    if (!life.dead && now - since.at > 3 * leaseMillis)
      this.parts.violate(
        'P11',
        `a lease that is not renewed has kept ${life.name} out for ${now - since.at} ms`,
      );
  }

  #startFailed(life: Life, error: unknown): void {
    if (life.dead || error instanceof Crash) return;
    if (!isFault(error))
      this.parts.violate('defect', `the daemon did not start: ${String((error as Error).stack)}`);
    else this.parts.counters.add(`start refused:${error.code}`);
    this.#end(life);
    // The service manager restarts it.
    if (life !== this.rival)
      this.parts.scheduler.in(20_000, 'the supervisor starts it again', () => this.start());
  }

  #onStep(life: Life, step: Step): void {
    if (life.dead) throw new Crash();
    const { armed } = life;
    if (armed === null || armed.step !== step) return;
    armed.countdown -= 1;
    if (armed.countdown > 0) return;
    this.parts.counters.add(`crash:${step}`);
    this.die(step === 'torn' ? 'torn' : armed.death);
    throw new Crash();
  }

  /** Ends everything on this machine at once; the next start uses what is on its disk. */
  die(death: Death): void {
    const { life, rival } = this;
    const dying = life ?? rival;
    if (dying === null) return;
    this.parts.counters.add(`death:${death}`);
    this.parts.scheduler.note(`death by ${death}`);
    const name = `disk-${this.#lives}-${this.parts.scheduler.events}`;
    const fresh = join(this.parts.root, name);
    copyAsItLies(this.#folder, fresh, death, life?.floor ?? null, this.parts.chance.fork(name));
    if (death === 'power' || death === 'torn')
      this.parts.files.cutPower(this.#folder, fresh, this.parts.chance.fork(`files of ${name}`));
    for (const one of [life, rival]) if (one !== null) this.#end(one);
    this.#folder = fresh;
    this.parts.onDeath();
  }

  #end(life: Life): void {
    life.dead = true;
    life.clock.kill();
    this.parts.mirror.disown(life);
    this.parts.files.disown(life.folder);
    if (this.life === life) this.life = null;
    if (this.rival !== life) return;
    this.rival = null;
  }

  /** SIGTERM: the daemon must release everything within the duration of a request. */
  stop(life: Life | null, done: () => void = () => {}): void {
    if (life === null || life.daemon === null || life.dead) {
      done();
      return;
    }
    const { scheduler, counters, violate } = this.parts;
    const { daemon } = life;
    counters.add('machine:stop');
    const from = scheduler.now;
    life.port = null;
    life.armed = null;
    daemon.close().then(
      () => {
        if (life.dead) return;
        if (scheduler.now - from > 15_000) violate('I15', `stopping took ${scheduler.now - from} ms`);
        if (life.clock.waiting > 0) violate('I15', `${life.clock.waiting} timers outlived a clean stop`);
        if ([...life.connections].some((one) => one.open)) violate('I15', 'a clean stop left the file open');
        if (daemon.open.length > 0) violate('I15', `not closed: ${daemon.open.join()}`);
        this.#end(life);
        done();
      },
      (error: unknown) => {
        if (!life.dead) violate('I15', `a clean stop failed: ${String(error)}`);
      },
    );
    scheduler.in(60_000, 'a minute after SIGTERM', () => {
      if (!life.dead && life.daemon === daemon) violate('I15', 'the daemon never stopped after SIGTERM');
    });
  }

  /** After the run: deletes the files and closes every remaining connection. */
  close(): void {
    for (const life of this.lives) {
      life.dead = true;
      this.parts.mirror.disown(life);
      this.parts.files.disown(life.folder);
      for (const one of life.connections) if (one.open) one.close();
    }
  }

  #config(folder: string, receives: boolean): Config {
    const {
      sources,
      intervalSeconds,
      catalogSeconds,
      perPage,
      requestsPerHour,
      brake,
      baseUrl,
      secrets,
      mirror,
    } = this.parts;
    mkdirSync(folder, { recursive: true });
    return configFrom(
      settingsSchema.parse({
        platform: { baseUrl, requestsPerHour },
        database: mirror.database,
        sources: sources.map(({ name, company, installation, account }) => ({
          name,
          company,
          ...(installation === null ? {} : { installation }),
          ...(account.rotating
            ? {
                credentials: {
                  file: `${account.name}.json`,
                  clientId: account.clientId,
                  clientSecret: { env: `CLIENT_SECRET_${account.name}` },
                },
              }
            : { token: { env: `TOKEN_${account.name}` } }),
        })),
        sync: { intervalSeconds, catalogIntervalSeconds: catalogSeconds, perPage, concurrency: 2, brake },
        receiver: receives
          ? {
              listen: '127.0.0.1:8787',
              secrets: secrets().map((_, index) => ({ env: `HOOK_${index}` })),
            }
          : null,
        console: null,
      }),
      { env: this.#environment(), folderOf: () => folder },
    );
  }

  /** Read each time a secret is needed, like a file that may be rotated. */
  #environment(): Readonly<Record<string, string | undefined>> {
    const { sources, secrets } = this.parts;
    return new Proxy<Record<string, string | undefined>>(
      {},
      {
        get: (_target, name) => {
          const key = String(name);
          for (const { account } of sources)
            if (key === `CLIENT_SECRET_${account.name}`) return account.clientSecret;
          if (key.startsWith('HOOK_')) return secrets()[Number(key.slice(5))] ?? secrets()[0];
          return sources.find(({ account }) => `TOKEN_${account.name}` === key)?.account.current.access;
        },
      },
    );
  }

  #logger(life: Life, inherited: LogFields): Logger {
    const line = (level: string) => (fields: LogFields, message: string) => {
      if (life.dead) return;
      const { error, ...rest } = { ...inherited, ...fields };
      this.parts.onLog(life, level, JSON.stringify({ ...rest, message, error: errorKind(error) }));
    };
    return {
      debug: line('debug'),
      info: line('info'),
      warn: line('warn'),
      error: line('error'),
      child: (fields) => this.#logger(life, { ...inherited, ...fields }),
    };
  }
}

/** What the real log keeps of an error: its class, its code, and the message of our own errors. */
const errorKind = (error: unknown) =>
  isFault(error) ? `${error.code} ${error.message}` : error instanceof Error ? error.name : undefined;
