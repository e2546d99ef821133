import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SqliteErasures } from '../../src/store/dialect/sqlite/erasures.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { healthOf } from '../../src/store/reads/judge-source.js';
import { Chaos } from './chaos.js';
import type { Counters } from './counters.js';
import type { FakeCatalog, RoundNow } from './fake-catalog.js';
import type { Life, SourcePlan } from './machine.js';
import type { Look, Reader } from './reader.js';
import { unlimitedPages, Violation } from './stage.js';
import type { Publication } from './truth.js';

export interface Verdict {
  readonly seed: number;
  readonly violation: string | null;
  readonly trace: number;
  readonly events: number;
  readonly virtualMillis: number;
  readonly counters: Counters;
  readonly lines: readonly string[];
}

/** How often people are asked for help while a world comes to rest. */
const asksMax = 40;
const minute = 60_000;
const hour = 60 * minute;

/** One run from its plan to its verdict: calm, chaos, healing, rest, judgement. */
export class SimulatedRun extends Chaos {
  async run(): Promise<Verdict> {
    const stray = (error: unknown) => {
      if (!(error instanceof Violation) && (error as Error)?.name !== 'Crash')
        this.violation ??= `stray rejection: ${(error as Error)?.stack ?? String(error)}`;
    };
    process.on('unhandledRejection', stray);
    try {
      await this.live();
    } catch (error) {
      if (!(error instanceof Violation)) this.violation ??= `the simulator failed: ${(error as Error).stack}`;
    } finally {
      process.off('unhandledRejection', stray);
      this.sendAnalystsHome();
      this.letLocksGo();
      this.judge.close();
      this.machine.close();
      rmSync(this.root, { recursive: true, force: true });
    }
    return {
      seed: this.plan.seed,
      violation: this.violation,
      trace: this.scheduler.trace,
      events: this.scheduler.events,
      virtualMillis: this.scheduler.now - this.plan.start,
      counters: this.counters,
      lines: this.scheduler.lines,
    };
  }

  protected async live(): Promise<void> {
    const { plan, scheduler } = this;
    for (let made = 0; made < plan.records; made += 1)
      this.platform.reach(this.truth.create(this.companies[made % 2] ?? 'co_0').seq);
    this.machine.start();
    for (const { at, no, act } of plan.acts) {
      const happen = () => {
        this.counters.add(`act:${act.kind}`);
        this.act(act, no);
      };
      // An act at the start reaches a daemon that has not opened its mirror yet.
      if (at <= plan.start) happen();
      else scheduler.at(at, `act ${no} ${act.kind}`, happen);
    }
    await this.until(plan.chaosUntil, () => false);
    if (this.quota.isOn)
      this.counters.add(
        'changes judged by the quota',
        this.quota.judge(this.platform.readings, this.platform.catalogReadings, plan.chaosUntil),
      );
    await this.heal();
    await this.rest();
    // A webhook may have to wait until the small quota allows its tick; that was judged before.
    if (this.violation === null && !this.quota.isOn) await this.probe();
    if (this.violation === null && !this.quota.isOn) await this.probeCatalog();
    if (this.violation === null) await this.end();
  }

  /** Ends all faults, corrects all clocks, and lets people do what the status asks of them. */
  protected async heal(): Promise<void> {
    const { machine, scheduler } = this;
    this.healed = true;
    this.weather.clear();
    for (const { account } of this.sources) {
      if (!account.revoked) continue;
      account.renew(scheduler.now);
      if (account.rotating) machine.signIn(account);
    }
    for (const { account } of this.sources) {
      account.spent = 0;
      account.spentByOthers = 0;
    }
    this.wallOffset = 0;
    this.ahead = 0;
    this.letLocksGo();
    if (machine.life !== null) {
      machine.life.armed = null;
      machine.life.clock.wallOffset = 0;
      machine.life.clock.suspendedUntil = 0;
      machine.life.pagesMax = null;
      for (const one of machine.life.connections)
        if (one.open) one.pragma(`max_page_count = ${unlimitedPages}`);
    }
    if (machine.rival !== null) machine.stop(machine.rival);
    // Publishes unreadable records once more. Records withdrawn silently only disappear with a new listing.
    for (const [id] of this.platform.poisoned) {
      const latest = this.truth.latest(id, this.truth.head);
      if (latest?.version != null) this.platform.reach(this.truth.change(latest).seq);
    }
    scheduler.in(2 * minute, 'an operator restarts the daemon', () => {
      if (machine.life === null && !this.down) machine.start();
    });
    const untilRunning = scheduler.now + 6 * hour;
    await this.until(untilRunning, () => this.publishing === 0 && machine.life?.daemon != null && !this.down);
    if (machine.life?.daemon == null) this.violate('L1', 'the daemon is not running six hours after healing');
  }

  /** L1: the mirror equals the truth within three intervals, the spacing of listings and a rate window. */
  protected async rest(): Promise<void> {
    const { scheduler, plan, platform, truth } = this;
    platform.reach(truth.head);
    const moved = new Set(
      this.sources
        .filter(
          ({ company, account }) =>
            // Identities that become readable again arrive by themselves, where a read of the platform reveals the
            // grant.
            (this.identityMoved.has(account.name) && !(account.identity && platform.tellsGrant(company))) ||
            truth.of(company).some((one) => one.silent),
        )
        .map(({ name }) => name),
    );
    const bound = scheduler.now + 3 * plan.intervalSeconds * 1000 * 1.3 + 7 * hour;
    const healedAt = scheduler.now;
    let difference: string | undefined = 'no source was read yet';
    let asked = 0;
    const generations = new Map<string, number>();
    while (scheduler.now < bound) {
      const look = this.look();
      const unread = this.sources.find(
        ({ account }) => !platform.readings.some((one) => one.account === account.name && one.at >= healedAt),
      );
      difference =
        this.judge.difference(look) ??
        (unread === undefined ? undefined : `${unread.name} was not read since the faults ended`) ??
        this.#catalogDifference(healedAt);
      if (difference === undefined && moved.size === 0) return;
      for (const source of this.sources) {
        if (asked >= asksMax) break;
        const helped = this.#help(source, look, moved, generations);
        if (helped === 'asked') asked += 1;
        if (helped === 'keeps names')
          difference ??= `${source.name} shows identities its token may no longer read`;
      }
      await this.until(scheduler.now + Math.max(minute, plan.intervalSeconds * 250), () => false);
    }
    if (difference !== undefined) this.violate('L1', `not equal in time: ${difference}`);
  }

  /**
   * A person does what the status asks for, unless the tick that they asked for waits. A source in `moved` is listed again
   * once its names are gone, and leaves that set when the listing is complete: `generations` has what it had when it was
   * asked for.
   */
  #help(
    source: SourcePlan,
    look: Look,
    moved: Set<string>,
    generations: Map<string, number>,
  ): 'asked' | 'keeps names' | 'nothing' {
    const { name } = source;
    if ((this.waits.get(name) ?? 0) > this.scheduler.now) return 'nothing';
    const seen = look.sources.find((one) => one.name === name);
    if (seen?.state === 'halted') {
      this.judgeHalt(seen.halted_code);
      this.ask(source, seen.halted_code === 'filters_changed' ? { resync: true } : {});
      return 'asked';
    }
    if (seen !== undefined && seen.awaiting_deletion > 0) {
      this.ask(source, { acceptDeletions: true });
      return 'asked';
    }
    if (!moved.has(name) || seen?.state !== 'following') return 'nothing';
    if (this.judge.keepsNames(source, look)) return 'keeps names';
    // After an error the person asks again, until a new listing is complete.
    const before = generations.get(name);
    if (before !== undefined && seen.generation > before) {
      moved.delete(name);
      return 'nothing';
    }
    this.ask(source, { resync: true });
    generations.set(name, seen.generation);
    return 'asked';
  }

  /** Companies and rounds are listed at least once after the faults, and then equal to those of the platform. */
  #catalogDifference(healedAt: number): string | undefined {
    const { life } = this.machine;
    if (life === null) return 'no daemon runs';
    const reader = this.judge.readerOf(life);
    const withStats = !this.quota.isOn;
    if (withStats) {
      const [unlisted] = reader.rows<{ source: string; collection: string; problem: string | null }>(
        'SELECT source, collection, problem FROM collections WHERE listed_at IS NULL OR listed_at < asked_at LIMIT 1',
      );
      if (unlisted !== undefined)
        return `the ${unlisted.collection} of ${unlisted.source} are not listed: ${unlisted.problem}`;
      const unread = this.sources.find(
        ({ account }) =>
          !this.platform.catalogReadings.some((one) => one.account === account.name && one.at >= healedAt),
      );
      if (unread !== undefined) return `the companies of ${unread.name} were not read since the faults ended`;
    }
    return this.catalogJudge.difference(reader, { withStats });
  }

  /** I9: a source may only halt for a reason that this run contains. */
  protected judgeHalt(code: string | null): void {
    const has = (kind: string) => this.plan.classes.includes(kind as never);
    const just: Readonly<Record<string, boolean>> = {
      reauthorize: has('revoke'),
      // A doubled refresh voids the pair it returned; twice in a row, and a fresh token is refused.
      unauthorized: has('revoke') || has('unauthorized_once') || has('twice'),
      forbidden: has('forbidden'),
      refused: has('refused'),
      // A position refused with 400 is taken for another account's.
      filters_changed: has('other_company') || has('refused'),
    };
    this.counters.add(`halted:${code}`);
    if (just[code ?? ''] !== true) this.violate('I9', `halted by ${code}, for which this run has no cause`);
  }

  /** In good weather a change follows its webhook long before the next scheduled tick. */
  protected async probe(): Promise<void> {
    const { scheduler, machine, truth, plan } = this;
    const source = this.sources[0];
    const { life } = machine;
    if (source === undefined || life?.port == null) return;
    await this.until(scheduler.now + 2 * minute, () => false);
    const delay = plan.seed % 2 === 0 ? 0 : 25_000;
    const one = truth.create(source.company);
    const id = this.post.eventId();
    const announce = (what: Publication, event: string) => {
      for (const [no, { company }] of this.sources.entries())
        if (company === source.company) this.post.announce(what, event, `inst_${no}`);
    };
    announce(one, id);
    scheduler.in(delay, 'the probe is published', () => this.platform.reach(one.seq));
    const from = scheduler.now;
    const shown = (id: string) =>
      this.look()
        .rows.get(source.name)
        ?.some((row) => row.id === id) === true;
    const bound = 90_000 + delay;
    let another: Publication | undefined;
    await this.until(from + bound, () => {
      // Accepted during a tick that may already have read past it.
      if (another === undefined && this.network.flying > 0 && scheduler.now >= from + delay) {
        another = truth.create(source.company);
        this.platform.reach(another.seq);
        announce(another, this.post.eventId());
      }
      return shown(one.id);
    });
    const late = () => (another !== undefined && !shown(another.id)) || !shown(one.id);
    if (another !== undefined) await this.until(scheduler.now + 90_000, () => !late());
    // A source whose tokens rotate faster than the hourly limit waits, and its status says so.
    const waits = this.look().sources.find(({ name }) => name === source.name)?.last_outcome === 'waiting';
    if (waits) this.counters.add('probe: waits for its hour');
    else if (late())
      this.violate(
        'webhook',
        `a change announced ${bound} ms ago is not shown; the next timer would have been its only hope`,
      );
    this.counters.add('probe');
    await this.until(scheduler.now + 3 * plan.intervalSeconds * 1000, () => false);
  }

  /**
   * C5: a round that changed is listed soon after its event, also when the process dies right after it accepted that,
   * and an unknown one after its first investment.
   */
  protected async probeCatalog(): Promise<void> {
    const { scheduler, plan, platform } = this;
    const source = this.sources.find(({ account }) => account.catalog);
    if (source === undefined || this.machine.life?.port == null) return;
    // A quarter of the quota is left to investments: then companies and rounds wait for the next hour.
    if (source.account.spent > plan.freedom.requestsPerHour * 0.4 || source.account.rotating) return;
    const kind = this.chanceOf('catalog probe').pick([
      'event',
      'unknown round',
      'event before a crash',
    ] as const);
    if (kind === 'event before a crash' && !(await this.#freshlyListed())) return;
    const round =
      kind === 'unknown round' ? this.#firstInvestment(source) : this.#closing(source, platform.catalog);
    const accepted = this.post.accepted.length;
    if (kind !== 'unknown round') this.announceRound(round, 'offering.closed');
    if (kind === 'event before a crash') {
      await this.until(scheduler.now + minute, () => this.post.accepted.length > accepted);
      this.machine.die('kill');
      this.machine.start();
    }
    const shown = () => {
      const { life } = this.machine;
      return life !== null && this.catalogJudge.shows(this.judge.readerOf(life), source, round);
    };
    const bound = 5 * minute;
    await this.until(scheduler.now + bound, shown);
    this.counters.add(`catalog probe:${kind}`);
    if (!shown()) this.violate('C5', `${source.name} does not show ${round.id} ${bound} ms after: ${kind}`);
  }

  /** Waits for a listing of everything, which a process that starts right after it does not repeat. */
  async #freshlyListed(): Promise<boolean> {
    const { scheduler, plan } = this;
    const isFresh = () => {
      const { life } = this.machine;
      if (life === null) return false;
      const [row] = this.judge
        .readerOf(life)
        .rows<{ oldest: string | null }>('SELECT min(listed_at) AS oldest FROM collections');
      return row?.oldest != null && scheduler.now - Date.parse(row.oldest) < minute;
    };
    await this.until(scheduler.now + 2_000 * plan.catalogSeconds, isFresh);
    return isFresh();
  }

  /** Publishes the first investment of a round that the mirror does not know. */
  #firstInvestment({ company }: SourcePlan): RoundNow {
    const { truth, platform } = this;
    const round = platform.catalog.publish(platform.catalog.open(company));
    const one = truth.create(company);
    platform.catalog.assign(one, round);
    platform.reach(one.seq);
    const id = this.post.eventId();
    for (const [no, source] of this.sources.entries())
      if (source.company === company) this.post.announce(one, id, `inst_${no}`);
    return round;
  }

  #closing({ company }: SourcePlan, catalog: FakeCatalog): RoundNow {
    return catalog.move(catalog.publicRoundOf(company), 'closed').round;
  }

  protected async end(): Promise<void> {
    const { machine, scheduler } = this;
    const { life } = machine;
    if (life === null) throw new Error('the daemon is gone before the end');
    // A late webhook may just have arrived: it is processed with the next page.
    const reader = this.judge.readerOf(life);
    const pending = `SELECT 1 FROM webhook_inbox WHERE state = 'pending'`;
    const isSettled = () => reader.rows(pending).length === 0;
    await this.until(scheduler.now + 5 * minute, isSettled);
    // A source that used up its hourly limit, usually of refreshes, is equal only after the next window.
    const bound = scheduler.now + 1.2 * hour;
    let look = this.look();
    const differs = () =>
      this.judge.difference(look) ?? this.catalogJudge.difference(reader, { withStats: false });
    // Without a person there is no difference, and the re-listing that completes the names still follows.
    const incomplete = () => look.sources.some(({ names_incomplete }) => names_incomplete === 1);
    let difference = differs();
    while ((difference !== undefined || incomplete()) && scheduler.now < bound) {
      await this.until(scheduler.now + minute, () => false);
      look = this.look();
      difference = differs();
    }
    // So may one in that time.
    await this.until(scheduler.now + 5 * minute, isSettled);
    this.judge.look(look);
    if (difference !== undefined) this.violate('I1', difference);
    for (const source of look.sources) {
      const health = healthOf(source as never);
      const { state, last_outcome, names_incomplete } = source;
      const why = `${state}, last tick ${last_outcome}, names incomplete ${names_incomplete}`;
      if (health !== 'ok')
        this.violate('I13', `${source.name} equals the truth but reports ${health} (${why})`);
    }
    this.judge.ledgers(reader);
    this.catalogJudge.ledgers(reader);
    this.judgeInbox(reader);
    this.judgeRequests();
    const hours = (scheduler.now - this.plan.start) / hour;
    // An event the receiver refused is logged each time; the sender's retries bound their number.
    const refused = this.counters.of('receiver:503');
    const talkative = 60 * hours + 40 * machine.lives.length * this.sources.length + 200 + refused;
    if (this.loud > talkative) this.violate('I14', `${this.loud} warnings in ${hours.toFixed(1)} hours`);
    if (this.violation !== null) return;
    const { folder } = life;
    this.sendAnalystsHome();
    this.judge.close();
    let stopped = false;
    machine.stop(life, () => {
      stopped = true;
    });
    await this.until(scheduler.now + 2 * minute, () => stopped);
    await this.scrubAtRest(life);
    this.judge.bytes(this.#filesIn(folder));
  }

  *#filesIn(folder: string): Generator<readonly [string, string]> {
    for (const name of readdirSync(folder)) yield [name, readFileSync(join(folder, name), 'latin1')];
  }

  /** All readers and writers are closed: after the scrub no byte of an erased identity may be left. */
  protected async scrubAtRest({ folder, clock }: Life): Promise<void> {
    const file = openSqlite(join(folder, 'mirror.db'));
    const scrubbed = new SqliteErasures(file, clock).scrub();
    const free = Number(file.raw.pragma('freelist_count', { simple: true }));
    file.close();
    if (scrubbed.kind === 'scrubbed' && free > 0)
      this.violate('I10', `${free} free pages may still contain data from before the scrub`);
    if (scrubbed.kind === 'blocked')
      this.violate('I10', 'no reader is open, but the scrub reports that it is blocked');
  }

  /** I6: each accepted event is on disk and processed, and a read of its source began after it. */
  protected judgeInbox(reader: Reader): void {
    const rows = new Map(
      reader
        .rows<{ id: string; state: string; source: string | null }>(
          `SELECT event_id || ' ' || installation AS id, state, source FROM webhook_inbox`,
        )
        .map((row) => [row.id, row]),
    );
    for (const { id, at, seq } of this.post.accepted) {
      const row = rows.get(id);
      if (row === undefined) {
        if (
          this.scheduler.now - at < 90 * hour &&
          this.plan.wallOffset === 0 &&
          !this.plan.classes.includes('clock_jump')
        )
          this.violate('I6', `${id} was answered 2xx but is not stored`);
        continue;
      }
      if (row.state === 'pending') this.violate('I6', `${id} was accepted and is still pending at rest`);
      const lane = (row.source ?? '').split(',');
      const accounts = this.sources
        .filter(({ name }) => lane.includes(name))
        .map(({ account }) => account.name);
      if (
        row.state !== 'ignored' &&
        !this.platform.readings.some(
          (one) =>
            accounts.includes(one.account) &&
            // A late event may announce a change that a page in flight already contains.
            (one.at >= at || (seq !== null && one.status === 200 && one.head >= seq)),
        )
      )
        this.violate('I6', `no read of the feed followed the acceptance of ${id}`);
    }
    this.counters.add('webhooks accepted', this.post.accepted.length);
  }

  /** I8: the daemon sent no request during a wait that the platform had asked for. */
  protected judgeRequests(): void {
    if (this.plan.classes.includes('clock_jump') || this.injured.size > 0) return;
    const { exchanges } = this.network;
    for (const quiet of exchanges) {
      if (quiet.quietMillis === 0 || quiet.deliveredAt === null) continue;
      const from = quiet.deliveredAt;
      // Some responses name an absolute time, and a response may be in flight for long.
      const to = Math.min(quiet.sentAt + quiet.quietMillis, from + hour) - 1_000;
      const bad = exchanges.find(
        (one) => one.token === quiet.token && one.life === quiet.life && one.sentAt > from && one.sentAt < to,
      );
      if (bad !== undefined)
        this.violate(
          'I8',
          `a request ${bad.sentAt - from} ms after a 429 that asked for ${quiet.quietMillis} ms`,
        );
    }
  }
}
