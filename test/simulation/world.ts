import { mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { SqliteErasures } from '../../src/store/dialect/sqlite/erasures.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { healthOf } from '../../src/store/reads/status.js';
import { Chance } from './chance.js';
import { Counters } from './counters.js';
import type { DatabaseWatch } from './database-watch.js';
import { FakePlatform } from './fake-platform.js';
import { Account } from './fake-tokens.js';
import { Judge, Reader } from './judge.js';
import { type Life, Machine, type SourcePlan } from './machine.js';
import { Network } from './network.js';
import type { Act, Plan } from './plan.js';
import { PostOffice } from './post-office.js';
import { Scheduler } from './scheduler.js';
import { type Publication, Truth } from './truth.js';
import { Weather } from './weather.js';

export interface Surroundings {
  readonly watch: DatabaseWatch;
  readonly servers: ReadonlyMap<number, Server>;
  /** A folder in memory for scratch, and one with a migrated, empty mirror in it. */
  readonly scratch: string;
  readonly template: string;
  readonly keepLines: boolean;
}

export interface Verdict {
  readonly seed: number;
  readonly violation: string | null;
  readonly trace: number;
  readonly events: number;
  readonly virtualMillis: number;
  readonly counters: Counters;
  readonly lines: readonly string[];
}

class Violation extends Error {}

const minute = 60_000;
const hour = 60 * minute;

/** One world from its plan to its verdict: calm, chaos, healing, rest, judgement. */
export class World {
  readonly counters = new Counters();
  readonly scheduler: Scheduler;
  readonly truth: Truth;
  readonly weather: Weather;
  readonly platform: FakePlatform;
  readonly network: Network;
  readonly post: PostOffice;
  readonly machine: Machine;
  readonly judge: Judge;
  readonly sources: readonly SourcePlan[];
  readonly companies: readonly string[];
  readonly root: string;
  #violation: string | null = null;
  #publishing = 0;
  #down = false;
  #wallOffset: number;
  #healed = false;
  #loud = 0;
  readonly #analysts = new Set<Reader>();
  #injured = new Set<string>();
  readonly #accepted = new Set<string>();
  readonly #identityMoved = new Set<string>();

  constructor(
    readonly plan: Plan,
    readonly around: Surroundings,
  ) {
    const chance = new Chance(`world ${plan.seed}`);
    const violate = (invariant: string, what: string) => this.#violate(invariant, what);
    this.root = mkdtempSync(join(around.scratch, 'w-'));
    this.scheduler = new Scheduler(plan.start, chance.fork('order'), around.keepLines);
    const now = () => this.scheduler.now;
    this.truth = new Truth(chance.fork('truth'), now);
    this.weather = new Weather(plan.fronts, this.scheduler, chance.fork('weather'), this.counters);
    this.platform = new FakePlatform(
      this.truth,
      plan.freedom,
      this.weather,
      chance.fork('platform'),
      this.counters,
      violate,
    );
    this.network = new Network(
      this.scheduler,
      this.weather,
      chance.fork('network'),
      (asked) => this.platform.handle(asked),
      plan.latencyMax,
    );
    this.companies = ['co_0', 'co_1'];
    this.sources = plan.accounts.map(({ rotating, identity }, index) => {
      const account = new Account(`app${index}`, rotating, chance.fork(`account ${index}`), plan.start);
      account.identity = identity;
      this.platform.accounts.push(account);
      return {
        name: `s${index}`,
        company: this.companies[plan.companies[index] ?? 0] ?? 'co_0',
        installation: plan.installations ? `inst_${index}` : null,
        account,
      };
    });
    this.post = new PostOffice(
      this.scheduler,
      this.weather,
      chance.fork('post'),
      this.counters,
      around.servers,
      () => this.machine,
      violate,
    );
    this.#wallOffset = plan.wallOffset;
    for (const act of plan.acts)
      if (act.act.kind === 'narrow')
        for (const { account } of this.sources) this.#identityMoved.add(account.name);
    this.judge = new Judge({
      ...{
        truth: this.truth,
        platform: this.platform,
        sources: this.sources,
        counters: this.counters,
        violate,
      },
      brake: { share: 0.2, rows: plan.brakeRows },
      accepted: this.#accepted,
      mayGoBack: this.weather.forecasts('replica_back'),
      identityMoved: this.#identityMoved,
    });
    this.machine = new Machine({
      ...{
        scheduler: this.scheduler,
        network: this.network,
        watch: around.watch,
        servers: around.servers,
        violate,
      },
      ...{ chance: chance.fork('machine'), counters: this.counters, sources: this.sources, root: this.root },
      ...{ template: around.template, intervalSeconds: plan.intervalSeconds, perPage: plan.perPage },
      baseUrl: 'https://platform.invalid',
      brake: { share: 0.2, rows: plan.brakeRows },
      secrets: () => this.post.secrets,
      wallOffset: () => this.#wallOffset,
      onCommit: (life) => this.#afterCommit(life),
      onDeath: () => this.judge.machineDied(),
      onLog: (life, level, text) => this.#afterLog(life, level, text),
    });
  }

  async run(): Promise<Verdict> {
    const stray = (error: unknown) => {
      if (!(error instanceof Violation) && (error as Error)?.name !== 'Crash')
        this.#violation ??= `stray rejection: ${(error as Error)?.stack ?? String(error)}`;
    };
    process.on('unhandledRejection', stray);
    try {
      await this.#live();
    } catch (error) {
      if (!(error instanceof Violation))
        this.#violation ??= `the simulator failed: ${(error as Error).stack}`;
    } finally {
      process.off('unhandledRejection', stray);
      this.#sendAnalystsHome();
      this.judge.close();
      this.machine.close();
      rmSync(this.root, { recursive: true, force: true });
    }
    return {
      ...{ seed: this.plan.seed, violation: this.#violation, trace: this.scheduler.trace },
      ...{ events: this.scheduler.events, virtualMillis: this.scheduler.now - this.plan.start },
      ...{ counters: this.counters, lines: this.scheduler.lines },
    };
  }

  async #live(): Promise<void> {
    const { plan, scheduler } = this;
    for (let made = 0; made < plan.records; made += 1)
      this.platform.reach(this.truth.create(this.companies[made % 2] ?? 'co_0').seq);
    this.machine.start();
    for (const { at, no, act } of plan.acts)
      scheduler.at(at, `act ${no} ${act.kind}`, () => {
        this.counters.add(`act:${act.kind}`);
        this.#act(act, no);
      });
    await this.#until(plan.chaosUntil, () => false);
    await this.#heal();
    await this.#rest();
    if (this.#violation === null) await this.#probe();
    if (this.#violation === null) await this.#end();
  }

  async #until(time: number, over: () => boolean): Promise<void> {
    const ended = await this.scheduler.run(time, () => this.#violation !== null || over(), 60_000);
    if (ended === 'bound') this.#violate('L2', 'the world never comes to rest: 60,000 events');
    if (this.#violation !== null) throw new Violation(this.#violation);
  }

  #violate(invariant: string, what: string): void {
    this.#violation ??= `${invariant}: ${what}`;
  }

  #act(act: Act, no: number): void {
    const chance = new Chance(`act ${this.plan.seed}/${no}`);
    const { machine, scheduler, platform, truth } = this;
    const wake = (millis: number) => {
      this.#down = true;
      scheduler.in(millis, 'the machine is switched on', () => {
        this.#down = false;
        machine.start();
      });
    };
    switch (act.kind) {
      case 'publish':
        for (let count = act.times; count > 0; count -= 1) this.#publish(act.what, chance);
        break;
      case 'restore': {
        const gone = truth.publications.filter((one) => one.version === null);
        if (gone.length > 0) this.#restore(chance.pick(gone));
        break;
      }
      case 'crash':
        if (machine.life === null) break;
        machine.die(act.death);
        wake(act.downMillis);
        break;
      case 'crash_at':
        if (machine.life !== null) {
          const { life } = machine;
          life.armed = { step: act.step, countdown: act.countdown, death: act.death };
          this.#reviveAfterArmed(life, act.downMillis);
        }
        break;
      case 'stop':
        if (this.#down || machine.life?.daemon == null) break;
        machine.stop(machine.rival);
        machine.stop(machine.life, () => wake(act.downMillis));
        break;
      case 'clock_jump':
        this.#wallOffset += act.millis;
        if (machine.life !== null) machine.life.clock.wallOffset = this.#wallOffset;
        break;
      case 'disk_full':
        this.#fillDisk(act.forMillis, act.slack);
        break;
      case 'locked':
        this.#lock(act.forMillis);
        break;
      case 'expire':
        platform.horizon = platform.head + 1;
        truth.publish('co_nobody', `inv_nobody${truth.head}`, null);
        platform.reach(truth.head);
        break;
      case 'access_lost': {
        const company = chance.pick(this.sources).company;
        for (const [, one] of truth.visible(company)) if (chance.yes(act.share)) truth.withdraw(one, true);
        this.#publishSoon(truth.publications.at(-1), chance, false);
        break;
      }
      case 'revoke':
        chance.pick(this.sources).account.revoked = true;
        break;
      case 'narrow': {
        const { account } = chance.pick(this.sources);
        account.identity = !account.identity;
        this.#identityMoved.add(account.name);
        break;
      }
      case 'rotate_hook':
        this.post.secrets = [`whsec_${chance.text(16)}`, ...this.post.secrets].slice(0, 2);
        break;
      case 'rival': {
        machine.startRival();
        const { rival } = machine;
        if (rival !== null)
          scheduler.in(act.forMillis, 'the second daemon is stopped', () => machine.stop(rival));
        break;
      }
      case 'resync':
        this.#ask(chance.pick(this.sources), { resync: true });
        break;
      case 'other_company': {
        const source = chance.pick(this.sources);
        source.company = this.companies.find((one) => one !== source.company) ?? source.company;
        if (machine.life === null) break;
        machine.die('kill');
        wake(1_000);
        break;
      }
      case 'letter':
        for (let count = act.times; count > 0; count -= 1)
          this.post.other(act.what, this.sources[0]?.installation ?? 'inst_0');
        break;
      case 'analyst':
        this.#analyze(act.holdMillis);
        break;
    }
  }

  /** An armed crash strikes when it strikes; the machine is switched on again some time later. */
  #reviveAfterArmed(life: Life, millis: number): void {
    const look = () => {
      if (life.armed === null && !life.dead) return;
      if (!life.dead) {
        if (this.#healed) life.armed = null;
        else this.scheduler.in(10_000 + millis, 'the supervisor looks', look);
      } else if (this.machine.life === null && !this.#down) this.machine.start();
    };
    this.scheduler.in(millis, 'the supervisor looks', look);
  }

  #publish(what: Extract<Act, { kind: 'publish' }>['what'], chance: Chance): void {
    const company = chance.pick(this.companies);
    const held = [...this.truth.visible(company).values()];
    const one =
      what === 'create' || held.length === 0
        ? this.truth.create(company)
        : this.truth[what](chance.pick(held));
    this.#publishSoon(one, chance, true);
  }

  #restore(gone: Publication): void {
    const last = this.truth.story(gone.id).findLast((one) => one.version !== null);
    if (last?.version == null || this.truth.latest(gone.id, this.truth.head)?.version !== null) return;
    const again = this.truth.change(last);
    this.#publishSoon(again, new Chance(`restore ${again.seq}`), true);
  }

  /** Announced at once, in the feed after the publishing delay: events run ahead of what they tell of. */
  #publishSoon(one: Publication | undefined, chance: Chance, announced: boolean): void {
    if (one === undefined) return;
    const delay = chance.skewed(0, this.plan.freedom.publishDelayMax);
    this.#publishing += 1;
    this.scheduler.in(delay, `publication ${one.seq} is in the feed`, () => {
      this.#publishing -= 1;
      this.platform.reach(one.seq);
    });
    if (!announced) return;
    const id = this.post.eventId();
    for (const [index, source] of this.sources.entries())
      if (source.company === one.company) this.post.announce(one, id, `inst_${index}`);
  }

  #fillDisk(millis: number, slack: number): void {
    const { life } = this.machine;
    if (life === null || life.daemon === null) return;
    const pages = Number(life.daemon.engine.mirror.database.raw.pragma('page_count', { simple: true }));
    const limit = (most: number) => {
      for (const one of life.connections) if (one.open) one.pragma(`max_page_count = ${most}`);
    };
    this.#injured.add('disk_full');
    limit(pages + slack);
    this.scheduler.in(millis, 'there is room on the disk again', () => {
      if (!life.dead) limit(1_000_000_000);
    });
  }

  #lock(millis: number): void {
    if (this.machine.life?.daemon == null) return;
    // By another name, so that it is not taken for a connection of the daemon.
    const other = new Sqlite(`${this.machine.life.folder}/./mirror.db`, { timeout: 0 });
    try {
      other.exec('BEGIN IMMEDIATE');
    } catch {
      other.close();
      return;
    }
    this.#injured.add('locked');
    this.scheduler.in(millis, 'the stray lock is let go', () => {
      other.exec('ROLLBACK');
      other.close();
    });
  }

  #ask(source: SourcePlan, ask: { resync?: boolean; acceptDeletions?: boolean }): void {
    const daemon = this.machine.life?.daemon;
    if (daemon == null || this.#down) return;
    if (ask.acceptDeletions === true) this.#accepted.add(source.name);
    this.counters.add(
      ask.resync === true ? 'asked:resync' : ask.acceptDeletions === true ? 'asked:accept' : 'asked:look',
    );
    try {
      daemon.engine.sync.tick(source.name as never, ask).catch(() => {});
    } catch {
      // It is just stopping, as it may.
    }
  }

  /** Opens a snapshot, reads every view, and reads them again before letting go: nothing may have moved. */
  #analyze(holdMillis: number): void {
    const { life } = this.machine;
    if (life === null || life.daemon === null) return;
    const reader = new Reader(life.file);
    reader.raw.exec('BEGIN');
    const before = reader.look();
    this.judge.look(before);
    this.#judgeHonesty(life, before);
    for (const view of [
      'investments',
      'identities',
      'incoming',
      'round_totals',
      'daily_raised',
      'investor_totals',
      'sync_status',
    ])
      reader.raw.prepare(`SELECT count(*) FROM ${view}`).get();
    this.#analysts.add(reader);
    this.scheduler.in(holdMillis, 'the analyst is done', () => {
      if (!this.#analysts.delete(reader)) return;
      const after = reader.look();
      if (JSON.stringify([...after.rows]) !== JSON.stringify([...before.rows]))
        this.#violate('I3', 'a snapshot changed while it was held');
      reader.raw.exec('COMMIT');
      reader.close();
    });
  }

  #sendAnalystsHome(): void {
    for (const reader of this.#analysts) reader.close();
    this.#analysts.clear();
  }

  /** I13: whoever has heard nothing for long does not read as healthy. */
  #judgeHonesty(life: Life, look: ReturnType<Reader['look']>): void {
    const { intervalSeconds } = this.plan;
    const patience = 2.5 * intervalSeconds * 1000 + 15 * minute;
    const { now } = this.scheduler;
    if (now - life.startedAt < patience || this.#injured.size > 0 || this.machine.rival !== null) return;
    for (const source of look.sources) {
      const plan = this.sources.find((one) => one.name === source.name);
      const heard = this.platform.readings.findLast(
        (one) => one.status === 200 && one.account === plan?.account.name && one.company === plan.company,
      );
      const health = healthOf(source as never);
      if (health === 'ok' && (heard === undefined || now - heard.at > patience))
        this.#violate(
          'I13',
          `${source.name} reads as healthy and heard nothing since ${heard === undefined ? 'ever' : `${now - heard.at} ms`}`,
        );
    }
  }

  #afterCommit(life: Life): void {
    try {
      this.judge.afterCommit(life);
    } catch (error) {
      this.#violate('judge', `the file could not be read: ${(error as Error).stack}`);
    }
  }

  #afterLog(_life: Life, level: string, text: string): void {
    if (level === 'warn' || level === 'error') this.#loud += 1;
    if (level === 'error') this.counters.add('log:error');
    if (/name-|@mail\.invalid|message-|whsec_|at_test_|rt_test_|sk_test_/.test(text))
      this.#violate('I10', `the log says ${text}`);
  }

  /** All faults off, all clocks true, and people do what the status asks them to. */
  async #heal(): Promise<void> {
    const { machine, scheduler } = this;
    this.#healed = true;
    this.weather.clear();
    for (const { account } of this.sources) {
      if (!account.revoked) continue;
      account.renew(scheduler.now);
      if (account.rotating) machine.signIn(account);
    }
    for (const { account } of this.sources) account.spent = 0;
    this.#wallOffset = 0;
    if (machine.life !== null) {
      machine.life.armed = null;
      machine.life.clock.wallOffset = 0;
      for (const one of machine.life.connections) if (one.open) one.pragma('max_page_count = 1000000000');
    }
    if (machine.rival !== null) machine.stop(machine.rival);
    // What nobody could read is published once more; what was withdrawn in silence only a new listing shows.
    for (const [id] of this.platform.poisoned) {
      const latest = this.truth.latest(id, this.truth.head);
      if (latest?.version != null) this.platform.reach(this.truth.change(latest).seq);
    }
    scheduler.in(2 * minute, 'somebody looks after it', () => {
      if (machine.life === null && !this.#down) machine.start();
    });
    const untilRunning = scheduler.now + 6 * hour;
    await this.#until(
      untilRunning,
      () => this.#publishing === 0 && machine.life?.daemon != null && !this.#down,
    );
    if (machine.life?.daemon == null) this.#violate('L1', 'the daemon does not run six hours after healing');
  }

  /** L1: equality within three intervals, the spacing of listings and a rate window. */
  async #rest(): Promise<void> {
    const { scheduler, plan, platform, truth } = this;
    platform.reach(truth.head);
    const moved = new Set(
      this.sources
        .filter(
          ({ company, account }) =>
            this.#identityMoved.has(account.name) || truth.of(company).some((one) => one.silent),
        )
        .map(({ name }) => name),
    );
    const bound = scheduler.now + 3 * plan.intervalSeconds * 1000 * 1.3 + 7 * hour;
    const healedAt = scheduler.now;
    let difference: string | undefined = 'nothing was read yet';
    let asked = 0;
    while (scheduler.now < bound) {
      const look = this.#look();
      difference = this.judge.difference(look);
      const read = this.sources.every(({ account }) =>
        platform.readings.some((one) => one.account === account.name && one.at >= healedAt),
      );
      if (difference === undefined && moved.size === 0 && read) return;
      for (const source of this.sources) {
        const seen = look.sources.find(({ name }) => name === source.name);
        if (seen?.state === 'halted' && asked < 40) {
          this.#judgeHalt(seen.halted_code);
          this.#ask(source, seen.halted_code === 'filters_changed' ? { resync: true } : {});
          asked += 1;
        } else if (seen?.state === 'held' && asked < 40) {
          this.#ask(source, { acceptDeletions: true });
          asked += 1;
        } else if (moved.has(source.name) && seen?.state === 'following') {
          this.#ask(source, { resync: true });
          moved.delete(source.name);
        }
      }
      await this.#until(scheduler.now + Math.max(minute, plan.intervalSeconds * 250), () => false);
    }
    if (difference !== undefined) this.#violate('L1', `not equal in time: ${difference}`);
  }

  /** I9: only what the scenario did may demand a person. */
  #judgeHalt(code: string | null): void {
    const has = (kind: string) => this.plan.classes.includes(kind as never);
    const just: Readonly<Record<string, boolean>> = {
      reauthorize: has('revoke'),
      unauthorized: has('revoke') || has('unauthorized_once'),
      forbidden: has('forbidden'),
      refused: has('refused'),
      filters_changed: has('other_company'),
    };
    this.counters.add(`halted:${code}`);
    if (just[code ?? ''] !== true)
      this.#violate('I9', `halted by ${code}, which nothing in this world called for`);
  }

  #look(): ReturnType<Reader['look']> {
    const { life } = this.machine;
    if (life === null) throw new Error('nothing to look at: no daemon runs');
    return this.judge.readerOf(life.file).look();
  }

  /** In good weather a webhook is followed by its change long before the timer would look. */
  async #probe(): Promise<void> {
    const { scheduler, machine, truth, plan } = this;
    const source = this.sources[0];
    const { life } = machine;
    if (source === undefined || life?.port == null) return;
    await this.#until(scheduler.now + 2 * minute, () => false);
    const delay = plan.seed % 2 === 0 ? 0 : 25_000;
    const one = truth.create(source.company);
    const index = this.sources.indexOf(source);
    this.post.announce(one, this.post.eventId(), `inst_${index}`);
    scheduler.in(delay, 'the probe is published', () => this.platform.reach(one.seq));
    const from = scheduler.now;
    const shown = () =>
      this.#look()
        .rows.get(source.name)
        ?.some(({ id }) => id === one.id) === true;
    const bound = 90_000 + delay;
    await this.#until(from + bound, shown);
    if (!shown())
      this.#violate(
        'webhook',
        `a change announced ${bound} ms ago is not shown; the next timer would have been its only hope`,
      );
    this.counters.add('probe');
    await this.#until(scheduler.now + 3 * plan.intervalSeconds * 1000, () => false);
  }

  async #end(): Promise<void> {
    const { machine, scheduler } = this;
    const { life } = machine;
    if (life === null) throw new Error('the daemon is gone before the end');
    const look = this.#look();
    this.judge.look(look);
    const difference = this.judge.difference(look);
    if (difference !== undefined) this.#violate('I1', difference);
    for (const source of look.sources) {
      const health = healthOf(source as never);
      if (health !== 'ok')
        this.#violate('I13', `${source.name} is equal to the truth and reads as ${health}`);
    }
    const reader = this.judge.readerOf(life.file);
    this.judge.ledgers(reader);
    this.#judgeInbox(reader);
    this.#judgeRequests();
    const hours = (scheduler.now - this.plan.start) / hour;
    const talkative = 60 * hours + 40 * machine.lives.length * this.sources.length + 200;
    if (this.#loud > talkative) this.#violate('I14', `${this.#loud} warnings in ${hours.toFixed(1)} hours`);
    if (this.#violation !== null) return;
    const { folder } = life;
    this.#sendAnalystsHome();
    this.judge.close();
    let stopped = false;
    machine.stop(life, () => {
      stopped = true;
    });
    await this.#until(scheduler.now + 2 * minute, () => stopped);
    const file = openSqlite(join(folder, 'mirror.db'));
    const scrubbed = new SqliteErasures(file, life.clock).scrub();
    file.close();
    if (scrubbed.kind === 'blocked') this.#violate('I10', 'nobody reads, and the scrub says it is blocked');
    this.judge.bytes(folder);
  }

  /** I6: what was accepted is on disk, worked, and a reading of its source began later. */
  #judgeInbox(reader: Reader): void {
    const rows = new Map(
      reader.raw
        .prepare<[], { id: string; state: string; source: string | null }>(
          `SELECT event_id || ' ' || installation AS id, state, source FROM webhook_inbox`,
        )
        .all()
        .map((row) => [row.id, row]),
    );
    for (const { id, at } of this.post.accepted) {
      const row = rows.get(id);
      if (row === undefined) {
        if (
          this.scheduler.now - at < 90 * hour &&
          this.plan.wallOffset === 0 &&
          !this.plan.classes.includes('clock_jump')
        )
          this.#violate('I6', `${id} was answered 2xx and is nowhere`);
        continue;
      }
      if (row.state === 'pending') this.#violate('I6', `${id} was accepted and is still pending at rest`);
      const lane = (row.source ?? '').split(',');
      const accounts = this.sources
        .filter(({ name }) => lane.includes(name))
        .map(({ account }) => account.name);
      if (
        row.state !== 'ignored' &&
        !this.platform.readings.some((one) => accounts.includes(one.account) && one.at >= at)
      )
        this.#violate('I6', `nobody read the feed after ${id} was accepted`);
    }
    this.counters.add('webhooks accepted', this.post.accepted.length);
  }

  /** I8: nothing was sent into a wait the platform had asked for. */
  #judgeRequests(): void {
    if (this.plan.classes.includes('clock_jump') || this.#injured.size > 0) return;
    const { exchanges } = this.network;
    for (const quiet of exchanges) {
      if (quiet.quietMillis === 0 || quiet.deliveredAt === null) continue;
      const from = quiet.deliveredAt;
      const to = Math.min(from + quiet.quietMillis, from + hour) - 1_000;
      const bad = exchanges.find(
        (one) => one.token === quiet.token && one.life === quiet.life && one.sentAt > from && one.sentAt < to,
      );
      if (bad !== undefined)
        this.#violate(
          'I8',
          `a request ${bad.sentAt - from} ms after a 429 that asked for ${quiet.quietMillis} ms`,
        );
    }
  }
}
