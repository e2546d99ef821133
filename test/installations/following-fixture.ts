import { Fault } from '../../src/domain/fault.js';
import type { InstallationId, SourceName } from '../../src/domain/ids.js';
import { type FollowingParts, InstallationFollower } from '../../src/installations/installation-follower.js';
import type { FollowedSource } from '../../src/installations/ports.js';
import type { FollowedRule } from '../../src/installations/rule-follower.js';
import type { Logger } from '../../src/runtime/logger.js';
import { silentLogger } from '../../src/runtime/logger.js';
import type { Random } from '../../src/runtime/random.js';
import { FakeClock } from '../client/fake-clock.js';
import { testRandom } from '../support/chance.js';
import { FakeApplication, MemoryFollowedSources } from './fake-application.js';

/** Everything around a follower that survives the death of its process. */
export class FollowingWorld {
  readonly clock = new FakeClock(Date.parse('2026-11-01T00:00:00Z'));
  /** How far the local clock is behind that of the platform. */
  behindMillis = 0;
  readonly application = new FakeApplication(() => this.clock.now() + this.behindMillis);
  readonly store = new MemoryFollowedSources();
  readonly tokens = new Map<string, string>();
  /** Entries of the vault that do not decrypt. */
  readonly unreadable = new Set<string>();
  /** Entries of the vault that were read, in order. */
  readonly read: string[] = [];
  /** How often the vault was searched for left tokens. */
  sweeps = 0;
  readonly taken = new Set<string>();
  readonly erasures: string[] = [];
  readonly errors: unknown[] = [];
  /** What each turn reported: null, or why the stored sources could not be read or written. */
  turns: unknown[] = [];
  /** What the daemon syncs now. */
  synced: readonly FollowedSource[] = [];
  leads = true;
  /** Whether another daemon is known to lead. */
  isLed = false;
  readonly passedOn: string[] = [];
  isTimeKnown = true;
  /** How long other daemons may need to notice a change. */
  noticeMillis = 0;
  readonly unfinished = new Set<string>();
  readonly accepted: string[] = [];
  logger: Logger = silentLogger;
  random: Random = testRandom();
  /** Called before and after each step that lasts; throws to let the process die there. */
  fault: (call: string, after: boolean) => void = () => {};
  eraseFault: () => void = () => {};
  /** Throws while the vault cannot be written. */
  vaultFault: () => void = () => {};
  rules: readonly Partial<FollowedRule>[] = [{}];

  #step<Result>(call: string, act: () => Result): Result {
    this.fault(call, false);
    const result = act();
    this.fault(call, true);
    return result;
  }

  start(beforeAnnouncement?: () => void): InstallationFollower {
    return new InstallationFollower(this.parts(beforeAnnouncement));
  }

  parts(beforeAnnouncement: () => void = () => {}): FollowingParts {
    this.application.fault = (call, after) => this.fault(call, after);
    this.store.fault = (call, after) => this.fault(call, after);
    return {
      rules: this.rules.map((rule) => ({
        rule: 'installations',
        target: 'company',
        name: '{slug}',
        keepDays: 30,
        except: [],
        overrides: new Map(),
        scopes: ['read:investments'],
        api: this.application,
        ...rule,
      })),
      store: this.store,
      vault: {
        read: async (key) => {
          this.read.push(key);
          if (this.unreadable.has(key)) throw new Fault('database_unusable', `${key} does not decrypt`);
          return this.tokens.get(key) ?? null;
        },
        requireWritable: async () => this.vaultFault(),
        write: async (key, secret) => this.#step(`write ${key}`, () => void this.tokens.set(key, secret)),
        remove: async (key) => this.#step(`remove ${key}`, () => void this.tokens.delete(key)),
        keys: async (prefix) => {
          this.sweeps += 1;
          return [...this.tokens.keys()].filter((key) => key.startsWith(prefix));
        },
      },
      eraser: {
        unfinished: async () => [...this.unfinished] as SourceName[],
        erase: async (source) =>
          this.#step(`erase ${source}`, () => {
            this.eraseFault();
            this.erasures.push(source);
            return { rows: 7 };
          }),
      },
      onConnected: async (connected) => {
        beforeAnnouncement();
        this.synced = connected;
      },
      takenNames: async () => this.taken,
      leads: () => this.leads,
      isLed: () => this.isLed,
      passOn: (installations) => void this.passedOn.push(...installations),
      noticeMillis: this.noticeMillis,
      trustedNow: () => (this.isTimeKnown ? this.clock.now() + Math.min(0, this.behindMillis) : null),
      platformNow: () => (this.isTimeKnown ? this.clock.now() + this.behindMillis : null),
      onAccepted: (name) => void this.accepted.push(name),
      onTurn: (error) => void this.turns.push(error),
      onAsked: (_, error) => void this.errors.push(error),
      clock: this.clock,
      random: this.random,
      logger: this.logger,
    };
  }

  /** Runs turns until nothing is due for `quietMillis`. */
  async settle(follower: InstallationFollower, quietMillis = 30_000): Promise<void> {
    const { signal } = new AbortController();
    for (let turns = 0; turns < 1_000; turns += 1) if ((await follower.turn(signal)) >= quietMillis) return;
    throw new Error('the follower finds no rest');
  }

  /** Lets time pass, with a turn whenever one is due. */
  async pass(follower: InstallationFollower, millis: number): Promise<void> {
    const { signal } = new AbortController();
    const until = this.clock.monotonic() + millis;
    while (this.clock.monotonic() < until) {
      const wait = await follower.turn(signal);
      this.clock.advance(Math.min(Math.max(wait, 1), until - this.clock.monotonic()));
    }
    await follower.turn(signal);
  }

  row(source: string): FollowedSource | undefined {
    return this.store.rows.get(source);
  }

  names(): readonly string[] {
    return this.synced.map(({ source }) => source).sort();
  }

  tokenOf(installation: string): string | null {
    return this.tokens.get(`installation/${installation}`) ?? null;
  }
}

/** A world whose companies have installed the application and are followed. */
export async function worldWith(...companies: readonly string[]) {
  const world = new FollowingWorld();
  const ids = companies.map((company) => world.application.install(`co_${company}`, company));
  const follower = world.start();
  await world.settle(follower);
  return { world, follower, ids: ids as readonly string[], first: ids[0] as string };
}

export const installation = (id: string) => id as InstallationId;
export const source = (name: string) => name as SourceName;
export const hours = 3_600_000;
export const days = 24 * hours;
