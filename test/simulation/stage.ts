import { mkdtempSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { millisOf } from '../../src/domain/instant.js';
import { healthOf } from '../../src/store/reads/judge-source.js';
import { CatalogJudge } from './catalog-judge.js';
import { Chance } from './chance.js';
import { Counters } from './counters.js';
import type { DatabaseWatch } from './database-watch.js';
import { FakeCatalog } from './fake-catalog.js';
import { FakePlatform, type PlatformRequest, type PlatformResponse } from './fake-platform.js';
import { Account } from './fake-tokens.js';
import type { FileWatch } from './file-watch.js';
import { Judge } from './judge.js';
import { wrongTotal } from './kept-totals.js';
import { type DatabaseLocation, type Life, Machine, type SourcePlan } from './machine.js';
import { Network } from './network.js';
import type { FaultClass, Plan } from './plan.js';
import { PostOffice } from './post-office.js';
import type { PostgresAround } from './postgres/postgres-laboratory.js';
import { QuotaJudge } from './quota-judge.js';
import type { Look, Reader } from './reader.js';
import { Scheduler } from './scheduler.js';
import { sqlitePlace } from './sqlite-mirror.js';
import { SqliteReader } from './sqlite-reader.js';
import { Truth } from './truth.js';
import { Weather } from './weather.js';

export interface Surroundings {
  readonly watch: DatabaseWatch;
  readonly files: FileWatch;
  readonly servers: ReadonlyMap<number, Server>;
  /** A folder in memory for scratch files, and one with a migrated, empty mirror in it. */
  readonly scratch: string;
  readonly template: string;
  readonly keepLines: boolean;
  /** The server for mirrors that are not files. */
  readonly postgres: PostgresAround | null;
}

/** Ends a run at its first violation. */
export class Violation extends Error {}

const minute = 60_000;
const hour = 60 * minute;

/** The page limit for SQLite once the disk has room again. */
export const unlimitedPages = 1_000_000_000;

/**
 * Faults that move requests into another window than the one they were counted in, lose a count, or let two processes
 * count on one file.
 */
const movesRequests: readonly FaultClass[] = [
  'slow',
  'suspend',
  'clock_jump',
  'crash',
  'crash_at',
  'stop',
  'rival',
  'disk_full',
  'locked',
];

/** The people and machines of one run, and the ways to look at them. */
export class Stage {
  readonly counters = new Counters();
  readonly scheduler: Scheduler;
  readonly truth: Truth;
  readonly weather: Weather;
  readonly platform: FakePlatform;
  readonly network: Network;
  readonly post: PostOffice;
  readonly machine: Machine;
  readonly judge: Judge;
  readonly catalogJudge: CatalogJudge;
  readonly quota: QuotaJudge;
  readonly sources: readonly SourcePlan[];
  readonly companies: readonly string[];
  readonly root: string;
  protected violation: string | null = null;
  protected publishing = 0;
  protected down = false;
  protected wallOffset: number;
  protected healed = false;
  /** How far the clock is ahead of the true time, until the machine that uses it dies. */
  protected ahead = 0;
  protected loud = 0;
  protected readonly analysts = new Set<Reader>();
  protected injured = new Set<string>();
  /** How often the daemon may have looked at the locks of other programs. */
  protected looksMax = 0;
  protected readonly accepted = new Set<string>();
  /** Until when the source's last manual tick said that it waits. */
  protected readonly waits = new Map<string, number>();
  protected readonly identityMoved = new Set<string>();

  constructor(
    readonly plan: Plan,
    readonly around: Surroundings,
  ) {
    const chance = new Chance(`world ${plan.seed}`);
    const violate = (invariant: string, what: string) => this.violate(invariant, what);
    this.root = mkdtempSync(join(around.scratch, 'w-'));
    this.scheduler = new Scheduler(
      plan.start,
      chance.fork('order'),
      around.keepLines,
      () => around.postgres?.watch.busy() ?? null,
    );
    const now = () => this.scheduler.now;
    this.truth = new Truth(chance.fork('truth'), now);
    this.weather = new Weather(plan.fronts, this.scheduler, chance.fork('weather'), this.counters);
    this.companies = ['co_0', 'co_1'];
    this.platform = new FakePlatform(
      this.truth,
      new FakeCatalog(this.truth, chance.fork('catalog'), this.companies),
      plan.freedom,
      this.weather,
      chance.fork('platform'),
      this.counters,
      violate,
    );
    this.platform.judgesLimit =
      plan.wallOffset === 0 && !plan.classes.some((kind) => movesRequests.includes(kind));
    this.network = new Network(
      this.scheduler,
      this.weather,
      chance.fork('network'),
      (request) => this.far(request),
      plan.latencyMax,
      (request) => this.mayDouble(request),
    );
    this.sources = plan.accounts.map(({ rotating, identity }, index) => {
      const own = chance.fork(`account ${index}`);
      const account = new Account(`app${index}`, rotating, own, plan.start, plan.accessMillis);
      account.identity = identity;
      account.catalog = own.fork('catalog').yes(0.9);
      account.stats = own.fork('stats').yes(0.8);
      this.platform.accounts.push(account);
      return {
        name: `s${index}`,
        company: this.companies[plan.companies[index] ?? 0] ?? 'co_0',
        installation: plan.installations ? `inst_${index}` : null,
        account,
      };
    });
    this.quota = new QuotaJudge(plan, this.sources, violate);
    this.post = new PostOffice(
      this.scheduler,
      this.weather,
      chance.fork('post'),
      this.counters,
      around.servers,
      () => this.machine,
      violate,
      (installation, seq) =>
        this.quota.accepted(installation, seq, this.scheduler.now, this.machine.life?.daemon ?? null),
    );
    this.wallOffset = plan.wallOffset;
    for (const act of plan.acts)
      if (act.act.kind === 'narrow')
        for (const { account } of this.sources) this.identityMoved.add(account.name);
    this.judge = new Judge({
      truth: this.truth,
      platform: this.platform,
      sources: this.sources,
      counters: this.counters,
      violate,
      brake: { share: 0.2, rows: plan.brakeRows },
      accepted: this.accepted,
      readerOf: (life: Life) => this.readerOf(life),
      seesWriters: this.seesWriters,
      look: (look) => this.judgeLook(look),
      lookCatalog: (reader) => this.judgeCatalog(reader),
      mayGoBack: this.weather.forecasts('replica_back'),
      identityMoved: this.identityMoved,
    });
    this.catalogJudge = new CatalogJudge({
      truth: this.truth,
      catalog: this.platform.catalog,
      sources: this.sources,
      counters: this.counters,
      violate,
      mayVanish: (['catalog_scope', 'forbidden', 'other_company'] as const).some((kind) =>
        plan.classes.includes(kind),
      ),
    });
    this.machine = new Machine({
      scheduler: this.scheduler,
      network: this.network,
      mirror: this.mirrorPlace(),
      files: around.files,
      servers: around.servers,
      violate,
      chance: chance.fork('machine'),
      counters: this.counters,
      sources: this.sources,
      root: this.root,
      template: around.template,
      intervalSeconds: plan.intervalSeconds,
      catalogSeconds: plan.catalogSeconds,
      perPage: plan.perPage,
      requestsPerHour: plan.freedom.requestsPerHour,
      baseUrl: 'https://platform.invalid',
      brake: { share: 0.2, rows: plan.brakeRows },
      secrets: () => this.post.secrets,
      wallOffset: () => this.wallOffset,
      onCommit: (life) => this.afterCommit(life),
      onHalt: (life, source) => {
        if (this.seesWriters) this.judge.halted(life, source);
      },
      onRecorded: (life, source, startedAt) => this.afterTick(life, source, startedAt),
      onDeath: () => {
        this.judge.machineDied();
        this.catalogJudge.machineDied();
        this.wallOffset -= this.ahead;
        this.ahead = 0;
      },
      onLog: (life, level, text) => this.afterLog(life, level, text),
    });
  }

  protected mirrorPlace(): DatabaseLocation {
    return sqlitePlace(
      this.around.watch,
      this.counters,
      (invariant, what) => this.violate(invariant, what),
      () => this.quota.rewriting(() => this.scheduler.now),
    );
  }

  /**
   * Whether the state seen at a commit was written by the process that committed; unknown where other processes
   * may be faster.
   */
  protected get seesWriters(): boolean {
    return true;
  }

  protected readerOf(life: Life): Reader {
    return new SqliteReader(life.file);
  }

  /** Where requests end. */
  protected far(request: PlatformRequest): PlatformResponse | Promise<PlatformResponse> {
    return this.platform.handle(request);
  }

  protected mayDouble(_asked: PlatformRequest): boolean {
    return true;
  }

  protected judgeLook(look: Look): void {
    this.judge.look(look);
  }

  protected chanceOf(name: string): Chance {
    return new Chance(`world ${this.plan.seed}/${name}`);
  }

  protected judgeCatalog(reader: Reader): void {
    this.catalogJudge.look(reader);
    if (this.seesWriters) this.catalogJudge.remember(reader);
  }

  protected violate(invariant: string, what: string): void {
    this.violation ??= `${invariant}: ${what}`;
  }

  protected async until(time: number, over: () => boolean): Promise<void> {
    // Two daemons that each check every two seconds whether a file was replaced cause 3,600 events an hour, and a thousand
    // requests that the platform refuses another 3,000.
    const most = 60_000 + 10_000 * Math.ceil((time - this.scheduler.now) / hour) + this.looksMax;
    const ended = await this.scheduler.run(time, () => this.violation !== null || over(), most);
    if (ended === 'bound') this.violate('L2', `the run never becomes idle: ${most} events`);
    if (this.violation !== null) throw new Violation(this.violation);
  }

  protected look(): ReturnType<Reader['look']> {
    const { life } = this.machine;
    if (life === null) throw new Error('nothing to look at: no daemon runs');
    return this.judge.readerOf(life).look();
  }

  protected ask(source: SourcePlan, ask: { resync?: boolean; acceptDeletions?: boolean }): void {
    const daemon = this.machine.life?.daemon;
    if (daemon == null || this.down) return;
    if (ask.acceptDeletions === true) this.accepted.add(source.name);
    this.counters.add(
      ask.resync === true ? 'asked:resync' : ask.acceptDeletions === true ? 'asked:accept' : 'asked:look',
    );
    try {
      const { clock } = this.machine.life ?? {};
      this.waits.delete(source.name);
      daemon.engine.sync.tick(source.name as never, ask).then(
        ({ report: { outcome, retryAt } }) => {
          if (outcome !== 'waiting' || retryAt === null || clock === undefined) return;
          this.waits.set(source.name, this.scheduler.now + millisOf(retryAt) - clock.now());
        },
        () => {},
      );
    } catch {
      // The daemon is just stopping, which is allowed.
    }
  }

  /** Opens a snapshot and reads every view twice before closing it: both reads must be equal. */
  protected analyze(holdMillis: number): void {
    const { life } = this.machine;
    if (life === null || life.daemon === null) return;
    const reader = this.readerOf(life);
    reader.hold();
    const before = reader.look();
    this.judgeLook(before);
    this.judgeHonesty(life, before);
    for (const view of [
      'investments',
      'identities',
      'incoming',
      'round_totals',
      'rounds',
      'companies',
      'round_stats',
      'company_updates',
      'daily_raised',
      'investor_totals',
      'sync_status',
    ])
      reader.rows(`SELECT count(*) FROM ${view}`);
    const total = wrongTotal(reader);
    if (total !== null) this.violate('I3', `stored totals differ from the rows: ${total}`);
    this.analysts.add(reader);
    this.scheduler.in(holdMillis, 'the analyst is done', () => {
      if (!this.analysts.delete(reader)) return;
      const after = reader.look();
      if (JSON.stringify([...after.rows]) !== JSON.stringify([...before.rows]))
        this.violate('I3', 'a snapshot changed while it was open');
      reader.close();
    });
  }

  protected sendAnalystsHome(): void {
    for (const reader of this.analysts) reader.close();
    this.analysts.clear();
  }

  /** I13: a source that has not been read for long must not report healthy. */
  protected judgeHonesty(life: Life, look: ReturnType<Reader['look']>): void {
    const { intervalSeconds } = this.plan;
    const allowed = 2.5 * intervalSeconds * 1000 + 15 * minute;
    const { now } = this.scheduler;
    if (now - life.startedAt < allowed || this.injured.size > 0 || this.machine.rival !== null) return;
    for (const source of look.sources) {
      const plan = this.sources.find((one) => one.name === source.name);
      const lastRead = this.platform.readings.findLast(
        (one) => one.status === 200 && one.account === plan?.account.name && one.company === plan.company,
      );
      const health = healthOf(source as never);
      if (health === 'ok' && (source.last_outcome === 'failed' || source.last_outcome === 'waiting'))
        this.violate('I13', `${source.name} reports healthy, but its last tick ended ${source.last_outcome}`);
      if (health === 'ok' && (lastRead === undefined || now - lastRead.at > allowed))
        this.violate(
          'I13',
          `${source.name} reports healthy but was ${lastRead === undefined ? 'never read' : `not read for ${now - lastRead.at} ms`}`,
        );
    }
  }

  /** Called when a tick is done that its process considers recorded. */
  protected afterTick(_life: Life, _source: string, _startedAt: string): void {}

  protected afterCommit(life: Life): void {
    try {
      this.judge.afterCommit(life);
    } catch (error) {
      this.violate('judge', `the file could not be read: ${(error as Error).stack}`);
    }
  }

  protected afterLog(_life: Life, level: string, text: string): void {
    if (level === 'warn' || level === 'error') this.loud += 1;
    if (level === 'error') this.counters.add('log:error');
    if (/name-|@mail\.invalid|message-|whsec_|at_test_|rt_test_|sk_test_/.test(text))
      this.violate('I10', `the log contains ${text}`);
  }
}
