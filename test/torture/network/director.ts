import { systemClock } from '../../../src/runtime/clock.js';
import type { Counters } from '../counters.js';
import { type Analyst, type Daemon, daemons, type Fault, type Host, hosts } from './plan.js';
import { calm } from './proxy.js';
import type { World } from './world.js';

const tokenMillis = 2 * 3_600_000 + 60_000;
/** How long a promotion waits for a replica that follows. */
const followMillisMax = 60_000;

/** Performs faults, each with its end. Faults of different things overlap; two of one thing do not. */
export class Director {
  readonly #busy = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  /** The first error of a fault: the torture itself failed. */
  #failed: unknown;

  constructor(
    private readonly world: World,
    private readonly counters: Counters,
  ) {}

  /** Starts a fault and does not wait for its end. */
  begin(fault: Fault): void {
    const thing = thingOf(fault);
    if (thing !== null && this.#busy.has(thing)) {
      this.counters.add('left out, because the same thing was hit already');
      return;
    }
    if (thing !== null) this.#busy.add(thing);
    const running = this.#perform(fault)
      .then(
        (isDone) => this.counters.add(isDone ? nameOf(fault) : `${fault.kind}: left out, no replica follows`),
        (error: unknown) => {
          this.#failed ??= error;
        },
      )
      .finally(() => {
        if (thing !== null) this.#busy.delete(thing);
        this.#running.delete(running);
      });
    this.#running.add(running);
  }

  /** Resolves when every fault is over. */
  async ended(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
    if (this.#failed !== undefined) throw this.#failed;
  }

  /** Starts what ended by itself: a daemon may give up while the database is away. */
  async reviveAll(): Promise<void> {
    for (const host of daemons) if (this.world.daemon(host)?.over !== false) this.world.startDaemon(host);
    for (const host of ['x', 'y'] as const)
      if (this.world.analyst(host)?.over !== false) this.world.startAnalyst(host);
  }

  async #perform(fault: Fault): Promise<boolean> {
    const { world } = this;
    switch (fault.kind) {
      case 'cut': {
        await world.cuts.cut(fault.from, fault.to, fault.ways, true);
        await systemClock.wait(fault.millis);
        await world.cuts.cut(fault.from, fault.to, fault.ways, false);
        return true;
      }
      case 'vanish': {
        await world.network.vanish(fault.host, fault.how, true);
        await systemClock.wait(fault.millis);
        await world.network.vanish(fault.host, fault.how, false);
        return true;
      }
      case 'weather': {
        world.wire(fault.host)?.tell({ op: 'weather', forward: null, weather: fault.weather });
        await systemClock.wait(fault.millis);
        world.wire(fault.host)?.tell({ op: 'weather', forward: null, weather: calm });
        return true;
      }
      case 'freeze': {
        const life = this.#lifeOf(fault.host);
        life?.kill('SIGSTOP');
        await systemClock.wait(fault.millis);
        life?.kill('SIGCONT');
        return true;
      }
      case 'kill': {
        const life = this.#lifeOf(fault.host);
        life?.kill('SIGKILL');
        await life?.ended;
        await systemClock.wait(fault.millis);
        this.#start(fault.host);
        return true;
      }
      case 'clock':
        world.order(fault.host, { offsetMillis: fault.offsetMillis });
        return true;
      case 'platform restarts':
        await world.killPlatform();
        await systemClock.wait(fault.millis);
        await world.startPlatform();
        return true;
      case 'deliveries':
        await world.call('POST', '/_sandbox/faults', [
          { path: 'webhook', times: fault.times, action: { [fault.action]: true } },
        ]);
        return true;
      case 'refresh':
        return await this.#diesDuring(fault, '/oauth/token', async () => {
          await world.advance(tokenMillis);
          for (const [index, { id }] of world.ready.companies.entries())
            if (world.isSignedIn(index)) await world.touch(id);
        });
      case 'rotation':
        return await this.#diesDuring(fault, '/rotate_secret', async () => {
          await world.dueRotation();
        });
      case 'database crashes':
        await world.pair.kill(world.pair.primary);
        await systemClock.wait(fault.millis);
        await world.pair.restart(world.pair.primary);
        return true;
      case 'replica lags': {
        const { primary, replica } = world.pair;
        await world.cuts.cut(primary, replica, 'both', true);
        await systemClock.wait(fault.millis);
        await world.cuts.cut(primary, replica, 'both', false);
        return true;
      }
      case 'promotion':
        return await this.#promote(fault.primary === 'cut off' && world.network.kind === 'namespaces');
    }
  }

  /** Whichever daemon makes the request dies at that step, or none does. */
  async #diesDuring(
    { dies, step }: Extract<Fault, { kind: 'refresh' | 'rotation' }>,
    path: string,
    cause: () => Promise<void>,
  ): Promise<boolean> {
    const { world } = this;
    const before = new Map(daemons.map((host) => [host, world.daemon(host)]));
    if (dies !== null)
      for (const host of daemons) world.order(host, { dies: { path, step, afterMillis: 30 } });
    // The daemons read their orders every 50 ms, on a machine that may be busy.
    await systemClock.wait(400);
    await cause();
    const begun = systemClock.monotonic();
    const isDead = () => daemons.filter((host) => before.get(host)?.over === true);
    while (dies !== null && isDead().length === 0 && systemClock.monotonic() - begun < 12_000)
      await systemClock.wait(50);
    for (const host of daemons) world.order(host, { dies: null });
    for (const host of isDead()) {
      if (world.daemon(host) !== before.get(host)) continue;
      this.counters.add(`died in the middle of a ${path.slice(1)} (${step})`);
      world.startDaemon(host);
    }
    return true;
  }

  /** Promotes only a replica that follows, as a cluster manager does. A busy machine interrupts the replication at times. */
  async #promote(cutOff: boolean): Promise<boolean> {
    const { world } = this;
    const { pair, cuts } = world;
    const begun = systemClock.monotonic();
    while (!(await pair.isFollowing())) {
      if (systemClock.monotonic() - begun > followMillisMax) return false;
      await systemClock.wait(200);
    }
    const old = pair.primary;
    const others = hosts.filter((host) => host !== old);
    const isolate = async (isCut: boolean) => {
      for (const other of others) await cuts.cut(old, other, 'both', isCut);
    };
    if (cutOff) await isolate(true);
    else await pair.kill(old);
    world.promotions.push(systemClock.now());
    await pair.promote();
    world.leadToPrimary();
    world.reconnectVault();
    if (cutOff) {
      // Both are primaries for a while; no host reaches the old one.
      await systemClock.wait(3_000);
      await pair.kill(old);
      await isolate(false);
    }
    await pair.makeReplica();
    return true;
  }

  #lifeOf(host: Daemon | Analyst) {
    return host === 'x' || host === 'y' ? this.world.analyst(host) : this.world.daemon(host);
  }

  #start(host: Daemon | Analyst): void {
    if (host === 'x' || host === 'y') this.world.startAnalyst(host);
    else this.world.startDaemon(host);
  }
}

/** What a fault changes that only one fault may change at a time. */
function thingOf(fault: Fault): string | null {
  switch (fault.kind) {
    case 'freeze':
    case 'kill':
      return `process ${fault.host}`;
    case 'vanish':
    case 'weather':
      return `${fault.kind} ${fault.host}`;
    case 'refresh':
    case 'rotation':
      return 'orders';
    case 'database crashes':
    case 'replica lags':
    case 'promotion':
      return 'database';
    case 'platform restarts':
      return 'platform';
    default:
      return null;
  }
}

function nameOf(fault: Fault): string {
  switch (fault.kind) {
    case 'cut':
      return `cut, ${fault.ways === 'both' ? 'both ways' : 'one way'}`;
    case 'vanish':
      return `vanished, ${fault.how}`;
    case 'weather': {
      const [changed = ''] =
        Object.entries(fault.weather).find(([name, value]) => value !== calm[name as keyof typeof calm]) ??
        [];
      return `weather: ${changed.replace(/(Millis|Share)$/, '')}`;
    }
    case 'freeze':
    case 'kill':
      return `${fault.kind} of ${isAnalyst(fault.host) ? 'an analyst' : 'a daemon'}`;
    case 'promotion':
      return `promotion, primary ${fault.primary}`;
    case 'deliveries':
      return `deliveries: ${fault.action}`;
    default:
      return fault.kind;
  }
}

const isAnalyst = (host: Host): boolean => host === 'x' || host === 'y';
