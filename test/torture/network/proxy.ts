import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type Random, seededRandom } from '../../../src/runtime/random.js';

/*
 * A TCP proxy that behaves like a bad network. What happens to a connection follows from the seed, its number and the
 * weather: `effectOn` is pure.
 */

export interface Weather {
  /** Added to every piece of a stream. */
  readonly delayMillis: number;
  /** Share of the pieces whose packet is lost: TCP sends it again later, and all that follows waits. */
  readonly lossShare: number;
  /** Each connection is as much slower as chance wants, so that requests overtake one another. */
  readonly reorderMillis: number;
  readonly bytesPerSecond: number;
  /** Share of the pieces in the middle of which the connection ends, in order or with a reset. */
  readonly truncateShare: number;
  readonly resetShare: number;
}

export const calm: Weather = {
  delayMillis: 0,
  lossShare: 0,
  reorderMillis: 0,
  bytesPerSecond: Number.POSITIVE_INFINITY,
  truncateShare: 0,
  resetShare: 0,
};

export interface Effect {
  readonly holdMillis: number;
  /** How many bytes still pass before the connection ends; null when it goes on. */
  readonly endsAfter: number | null;
  readonly how: 'fin' | 'reset';
}

/** The shortest time after which TCP repeats a lost packet. */
const repeatMillis = 200;

/** Returns what happens to a piece of a stream. `slowness` is the share of its connection, from 0 to 1. */
export function effectOn(weather: Weather, bytes: number, slowness: number, random: Random): Effect {
  const [lost, cut, where, times] = [0, 0, 0, 0].map(() => random.fraction()) as [
    number,
    number,
    number,
    number,
  ];
  const repeated = lost < weather.lossShare ? repeatMillis * 2 ** Math.floor(times * 3) : 0;
  const holdMillis =
    weather.delayMillis +
    weather.reorderMillis * slowness +
    repeated +
    (bytes / weather.bytesPerSecond) * 1_000;
  const isReset = cut < weather.resetShare;
  const ends = isReset || cut < weather.resetShare + weather.truncateShare;
  return { holdMillis, endsAfter: ends ? Math.floor(where * bytes) : null, how: isReset ? 'reset' : 'fin' };
}

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** One direction of a forward: `there` is from the client to the server. */
export type Direction = 'there' | 'back';

/** Listens on one address and passes every connection on to another one. */
export class Forward {
  weather: Weather = calm;
  /** Like a network that drops packets without a word: bytes and ends of connections wait until it is whole again. */
  readonly #dropped: Record<Direction, boolean> = { there: false, back: false };
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #whole: (() => void)[] = [];
  #connections = 0;

  constructor(
    readonly from: Address,
    public to: Address,
    readonly seed: number,
    /**
     * Discards what a client sent that went away meanwhile. Otherwise a token refresh that timed out in a cut arrives after
     * its retry, and the platform takes the used refresh token for a stolen one.
     */
    readonly abandons = false,
  ) {
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => this.#join(near));
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject).listen(this.from.port, this.from.host, resolve);
    });
  }

  drop(direction: Direction, dropped: boolean): void {
    this.#dropped[direction] = dropped;
    if (this.#isCut) return;
    for (const go of this.#whole.splice(0)) go();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** A client gets no acknowledgement when answers are dropped, so soon nothing moves in either direction. */
  get #isCut(): boolean {
    return this.#dropped.there || this.#dropped.back;
  }

  async #passable(): Promise<void> {
    while (this.#isCut) await new Promise<void>((resolve) => this.#whole.push(resolve));
  }

  async #join(near: Socket): Promise<void> {
    this.#connections += 1;
    const random = seededRandom((this.seed * 7_919 + this.#connections) >>> 0);
    const slowness = random.fraction();
    this.#keep(near);
    await this.#passable();
    const far = connect({ ...this.to, allowHalfOpen: true, noDelay: true });
    this.#keep(far);
    const both = [
      this.#pump(near, far, true, slowness, random),
      this.#pump(far, near, false, slowness, random),
    ];
    await Promise.all(both);
    near.destroy();
    far.destroy();
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
  }

  async #pump(
    source: Socket,
    sink: Socket,
    isRequest: boolean,
    slowness: number,
    random: Random,
  ): Promise<void> {
    try {
      for await (const piece of source as AsyncIterable<Buffer>) {
        const { holdMillis, endsAfter, how } = effectOn(this.weather, piece.length, slowness, random);
        if (holdMillis >= 1) await pause(holdMillis);
        await this.#passable();
        // What is read of a closed connection after this must not be sent either.
        if (isRequest && this.abandons && source.destroyed) break;
        if (endsAfter !== null) {
          if (endsAfter > 0) sink.write(piece.subarray(0, endsAfter));
          for (const socket of [source, sink])
            how === 'reset' ? socket.resetAndDestroy() : socket.destroySoon();
          return;
        }
        if (!sink.write(piece) && !sink.destroyed)
          await new Promise<void>((resolve) => {
            sink.once('drain', resolve).once('close', resolve);
          });
      }
      await this.#passable();
      if (isRequest && this.abandons) cut(sink);
      else sink.end();
    } catch {
      await this.#passable();
      cut(sink);
    }
  }
}

/** Ends a connection without sending more. A reset of one that is not connected yet would first connect and send. */
function cut(socket: Socket): void {
  if (socket.connecting) socket.destroy();
  else socket.resetAndDestroy();
}
