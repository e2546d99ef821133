import { Fault, isFault } from '../domain/fault.js';
import { Lifecycle } from '../runtime/lifecycle.js';
import { watchClock } from './clock-watch.js';
import type { Engine, EngineParts } from './engine.js';
import { obeyOperators } from './obey-operators.js';
import type { Background } from './start-background.js';
import { startDrainAlone } from './start-drain.js';
import { startReceiver } from './start-receiver.js';
import { membershipOf, startWork } from './start-work.js';
import { watchAndFollow } from './watch-and-follow.js';

/** The start of a mirror in another program. It happens at most once, and a stop interrupts it. */
export class MirrorStart {
  /** A stop during the start closes these first: a start waits for the database as long as it is away. */
  readonly #followingParts = new Lifecycle();
  #started: Promise<void> | undefined;
  #isStarting = false;
  #isStopped = false;
  #failure: { readonly error: unknown } | null = null;
  #receiverUrl: string | null = null;

  constructor(
    private readonly engine: Engine,
    private readonly parts: EngineParts,
    private readonly lifecycle: Lifecycle,
  ) {
    lifecycle.add('following', () => this.#followingParts.close());
  }

  /** Whether `run` was called, also when the start failed. */
  get hasBegun(): boolean {
    return this.#started !== undefined;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Null before the start, after a stop and without a receiver. */
  get receiverUrl(): string | null {
    return this.#receiverUrl;
  }

  /** Throws `usage` after a start that failed: some of its parts run, and others that a tick counts on never will. */
  throwIfFailed(): void {
    if (this.#failure === null || this.#isStopped) return;
    const { error } = this.#failure;
    const why = isFault(error) ? `: ${error.message}` : '';
    throw new Fault('usage', `the start of this mirror failed${why}`, {
      hint: 'stop this mirror and create another one',
      cause: error,
    });
  }

  /** Starts, or waits for the start that another call began. Throws its fault, and `stopped` after a stop. */
  async run(): Promise<void> {
    this.#throwIfStopped();
    this.#started ??= this.#start().catch((error: unknown) => {
      this.#failure = { error };
      throw error;
    });
    this.#isStarting = true;
    await this.#started.finally(() => {
      this.#isStarting = false;
    });
  }

  /** Prevents a start or interrupts it. Resolves when it has ended: what it opens later would stay open. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#isStarting) await this.#followingParts.close();
    await this.#started?.catch(() => {});
    this.#receiverUrl = null;
  }

  async #start(): Promise<void> {
    const { engine, parts, lifecycle } = this;
    const membership = membershipOf(engine);
    const clockWatch = watchClock(engine, parts, lifecycle);
    const { watch, following } = await watchAndFollow(
      engine,
      parts,
      membership,
      lifecycle,
      this.#followingParts,
    );
    this.#throwIfStopped();
    const receiver = await startReceiver({ engine, parts, membership, clockWatch, following }, lifecycle);
    this.#receiverUrl = receiver?.url ?? null;
    this.#throwIfStopped();
    const drain = receiver?.drain ?? (await startDrainAlone(engine, parts, membership, lifecycle));
    let background: Background | null = null;
    const onLead = () => {
      background?.onLead();
      following?.look();
    };
    await obeyOperators(engine, parts, membership, lifecycle, { hasConsole: false, onLead });
    this.#throwIfStopped();
    const { startBackground } = await import('./start-background.js');
    background = await startBackground(engine, parts, membership, lifecycle);
    this.#throwIfStopped();
    await startWork({ engine, parts, membership, drain, onLead, following }, lifecycle);
    watch.start();
  }

  #throwIfStopped(): void {
    if (this.#isStopped) throw new Fault('stopped', 'the mirror was stopped');
  }
}
