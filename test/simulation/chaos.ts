import Sqlite from 'better-sqlite3';
import { Chance } from './chance.js';
import type { CatalogChange, RoundNow } from './fake-catalog.js';
import type { Life } from './machine.js';
import type { Act } from './plan.js';
import { Stage, unlimitedPages } from './stage.js';
import type { Publication } from './truth.js';

/** How often a daemon looks at a lock that another program holds. */
const lockLookMillis = 25;

/** The acts of people and machines during the chaos phase of a run. */
export class Chaos extends Stage {
  protected readonly locks = new Set<Sqlite.Database>();

  protected act(act: Act, no: number): void {
    const chance = new Chance(`act ${this.plan.seed}/${no}`);
    const { machine, scheduler, platform, truth } = this;
    const wake = (millis: number) => {
      this.down = true;
      scheduler.in(millis, 'the machine is switched on', () => {
        this.down = false;
        machine.start();
      });
    };
    switch (act.kind) {
      case 'publish':
        for (let count = act.times; count > 0; count -= 1) this.publish(act.what, chance);
        break;
      case 'restore': {
        const gone = truth.publications.filter((one) => one.version === null);
        if (gone.length > 0) this.restore(chance.pick(gone));
        break;
      }
      case 'catalog':
        this.changeCatalog(act.what, chance);
        break;
      case 'catalog_scope': {
        const { account } = chance.pick(this.sources);
        account.catalog = !account.catalog;
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
          this.reviveAfterArmed(life, act.downMillis);
        }
        break;
      case 'stop':
        if (this.down || machine.life?.daemon == null) break;
        if (machine.life.clock.suspendedUntil > scheduler.now) break;
        machine.stop(machine.rival);
        machine.stop(machine.life, () => wake(act.downMillis));
        break;
      case 'clock_jump':
        this.wallOffset += act.millis;
        if (machine.life !== null) machine.life.clock.wallOffset = this.wallOffset;
        if (machine.life === null || act.diesAfter === null) break;
        // Timestamps written meanwhile are in the future once the clock is correct again.
        this.ahead += act.millis;
        machine.life.armed = { step: 'statement', countdown: act.diesAfter, death: 'kill' };
        this.reviveAfterArmed(machine.life, 5_000);
        break;
      case 'disk_full':
        this.fillDisk(act.forMillis, act.slack);
        break;
      case 'locked':
        this.lock(act.forMillis);
        break;
      case 'expire':
        platform.horizon = platform.head + 1;
        truth.publish('co_nobody', `inv_nobody${truth.head}`, null);
        platform.reach(truth.head);
        break;
      case 'access_lost': {
        const company = chance.pick(this.sources).company;
        for (const [, one] of truth.visible(company)) if (chance.yes(act.share)) truth.withdraw(one, true);
        this.publishSoon(truth.publications.at(-1), chance, false);
        break;
      }
      case 'revoke':
        chance.pick(this.sources).account.revoked = true;
        break;
      case 'narrow': {
        const { account } = chance.pick(this.sources);
        account.identity = !account.identity;
        this.identityMoved.add(account.name);
        break;
      }
      case 'rotate_hook':
        this.post.secrets = [`whsec_${chance.text(16)}`, ...this.post.secrets].slice(0, 2);
        break;
      case 'rival': {
        machine.startRival();
        const { rival } = machine;
        if (rival !== null) rival.clock.wallOffset += act.clockAhead;
        if (rival !== null)
          scheduler.in(act.forMillis, 'the second daemon is stopped', () => machine.stop(rival));
        break;
      }
      case 'suspend':
        if (machine.life !== null) machine.life.clock.suspendedUntil = scheduler.now + act.forMillis;
        break;
      case 'resync':
        this.ask(chance.pick(this.sources), { resync: true });
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
        this.analyze(act.holdMillis);
        break;
    }
  }

  /** An armed crash strikes at a later step; the machine starts again some time after it. */
  protected reviveAfterArmed(life: Life, millis: number): void {
    const look = () => {
      if (life.armed === null && !life.dead) return;
      if (!life.dead) {
        if (this.healed) life.armed = null;
        else this.scheduler.in(10_000 + millis, 'the supervisor looks', look);
      } else if (this.machine.life === null && !this.down) this.machine.start();
    };
    this.scheduler.in(millis, 'the supervisor looks', look);
  }

  protected publish(what: Extract<Act, { kind: 'publish' }>['what'], chance: Chance): void {
    const company = chance.pick(this.companies);
    const visible = [...this.truth.visible(company).values()];
    const one =
      what === 'create' || visible.length === 0
        ? this.truth.create(company)
        : this.truth[what](chance.pick(visible));
    this.publishSoon(one, chance, true);
  }

  protected changeCatalog(what: CatalogChange, chance: Chance): void {
    const company = chance.pick(this.companies);
    const changed = this.platform.catalog.change(what, company, chance);
    this.counters.add(`catalog change:${what}`);
    if (changed !== null) this.announceRound(changed.round, changed.event);
  }

  protected announceRound(round: RoundNow, event: string): void {
    const id = this.post.eventId();
    const name = this.platform.catalog.company(round.company)?.name ?? '';
    for (const [index, source] of this.sources.entries())
      if (source.company === round.company) this.post.announceRound(round, name, event, `inst_${index}`, id);
  }

  protected restore(gone: Publication): void {
    const last = this.truth.story(gone.id).findLast((one) => one.version !== null);
    if (last?.version == null || this.truth.latest(gone.id, this.truth.head)?.version !== null) return;
    const again = this.truth.change(last);
    this.publishSoon(again, new Chance(`restore ${again.seq}`), true);
  }

  /**
   * Announces the event at once and publishes to the feed after the delay: events arrive before the change they
   * announce.
   */
  protected publishSoon(one: Publication | undefined, chance: Chance, announced: boolean): void {
    if (one === undefined) return;
    const delay = chance.skewed(0, this.plan.freedom.publishDelayMax);
    this.publishing += 1;
    this.scheduler.in(delay, `publication ${one.seq} is in the feed`, () => {
      this.publishing -= 1;
      this.platform.reach(one.seq);
    });
    if (!announced) return;
    const id = this.post.eventId();
    for (const [index, source] of this.sources.entries())
      if (source.company === one.company) this.post.announce(one, id, `inst_${index}`);
  }

  protected fillDisk(millis: number, slack: number): void {
    const { life } = this.machine;
    if (life === null || life.daemon === null) return;
    const open = [...life.connections].find((one) => one.open);
    if (open === undefined) return;
    const [row] = open.pragma('page_count') as readonly { readonly page_count: number }[];
    const pages = row?.page_count ?? 0;
    const limit = (most: number | null) => {
      life.pagesMax = most;
      for (const one of life.connections)
        if (one.open) one.pragma(`max_page_count = ${most ?? unlimitedPages}`);
    };
    this.injured.add('disk_full');
    limit(pages + slack);
    this.scheduler.in(millis, 'there is room on the disk again', () => {
      if (!life.dead) limit(null);
    });
  }

  protected lock(millis: number): void {
    if (this.machine.life?.daemon == null) return;
    // Opened by another path, so that the watch does not count it as a connection of the daemon.
    const other = new Sqlite(`${this.machine.life.folder}/./mirror.db`, { timeout: 0 });
    try {
      other.exec('BEGIN IMMEDIATE');
    } catch {
      other.close();
      return;
    }
    this.injured.add('locked');
    this.locks.add(other);
    this.looksMax += Math.ceil(millis / lockLookMillis);
    this.scheduler.in(millis, 'the stray lock is let go', () => this.#letGo(other));
  }

  protected letLocksGo(): void {
    for (const lock of this.locks) this.#letGo(lock);
  }

  #letGo(lock: Sqlite.Database): void {
    if (!this.locks.delete(lock)) return;
    lock.exec('ROLLBACK');
    lock.close();
  }
}
