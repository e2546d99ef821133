import type { WireFetch, WireInit, WireResponse } from '../../src/client/fetch/fetch.js';
import type { Chance } from './chance.js';
import type { PlatformRequest, PlatformResponse } from './fake-platform.js';
import type { Scheduler } from './scheduler.js';
import type { Weather } from './weather.js';

/** Where requests end: the fake platform or the bundled server. May take real time, but no virtual time. */
export type Far = (request: PlatformRequest) => PlatformResponse | Promise<PlatformResponse>;

/** The process that sends the request; its death ends everything it waits for. */
export interface Asker {
  readonly name: string;
  readonly dead: boolean;
  readonly suspendedUntil: number;
  readonly life: number;
}

export interface Exchange {
  readonly life: number;
  readonly token: string;
  readonly path: string;
  readonly sentAt: number;
  deliveredAt: number | null;
  quietMillis: number;
}

const mebibyte = new Uint8Array(1024 * 1024);

/** The network between daemon and platform: latency always, and packet faults as the weather decides. */
export class Network {
  readonly exchanges: Exchange[] = [];
  #flying = 0;

  constructor(
    readonly scheduler: Scheduler,
    readonly weather: Weather,
    readonly chance: Chance,
    readonly far: Far,
    readonly latencyMax: number,
    /** Returns whether a request may arrive twice. */
    readonly mayDouble: (request: PlatformRequest) => boolean,
  ) {}

  get flying(): number {
    return this.#flying;
  }

  wireOf(asker: Asker): WireFetch {
    return (url, init) => this.#send(asker, url, init);
  }

  #send(asker: Asker, url: URL, init: WireInit): Promise<WireResponse> {
    const { weather } = this;
    const exchange: Exchange = {
      ...{
        life: asker.life,
        token: init.headers.authorization ?? `form:${url.pathname}`,
        path: url.pathname,
      },
      sentAt: this.scheduler.now,
      deliveredAt: null,
      quietMillis: 0,
    };
    this.exchanges.push(exchange);
    const request: PlatformRequest = {
      method: init.method,
      url,
      headers: init.headers,
      body: init.body ?? '',
    };
    return new Promise<WireResponse>((resolve, reject) => {
      let over = false;
      this.#flying += 1;
      const settle = (finish: () => void) => {
        if (over) return;
        over = true;
        this.#flying -= 1;
        init.signal.removeEventListener('abort', aborted);
        if (!asker.dead) finish();
      };
      const fail = (code: string) => settle(() => reject(Object.assign(new Error(code), { code })));
      const aborted = () => fail('ABORT_ERR');
      init.signal.addEventListener('abort', aborted, { once: true });
      const answer = (response: PlatformResponse) => {
        const hear = () => {
          const left = asker.suspendedUntil - this.scheduler.now;
          if (left > 0 && !asker.dead) this.scheduler.in(left, `${asker.name} goes on and hears`, hear);
          else settle(() => resolve(this.#response(response, init.signal, exchange)));
        };
        this.scheduler.in(this.#latency(), `${asker.name} hears ${response.status}`, hear);
      };
      if (weather.strikes('refuse')) {
        this.scheduler.in(1, `${asker.name} is refused`, () => fail('ECONNREFUSED'));
        return;
      }
      const slow = weather.strikes('slow') ? weather.chanceOf('slow').between(1_000, 40_000) : 0;
      // The response to the first copy counts; the response to the second is dropped.
      const twice = weather.strikes('twice') && this.mayDouble(request);
      const again = () =>
        Promise.resolve(this.far({ ...request, isCopy: true })).then(
          () => {},
          () => {},
        );
      const arrives = async () => {
        if (weather.strikes('reset_before')) return fail('ECONNRESET');
        if (weather.strikes('stall')) return;
        const response = await this.far(request);
        // By the platform's own rule, a refresh token used again after its successor ends the sign-in, and no daemon
        // can recover from a network that causes it. So the copy arrives before the response can be used.
        if (twice && request.method === 'POST') await again();
        if (weather.strikes('reset_after')) return fail('ECONNRESET');
        if (request.method === 'POST' && weather.strikes('refresh_lost')) return;
        answer(response);
      };
      this.scheduler.in(
        slow + this.#latency(),
        `${asker.name} asks ${request.method} ${url.pathname}`,
        () => {
          void arrives();
        },
      );
      if (twice && request.method !== 'POST')
        this.scheduler.in(slow + this.#latency() * 2, `${asker.name} asks again`, () => void again());
    });
  }

  #latency(): number {
    return this.chance.skewed(1, this.latencyMax);
  }

  /** The daemon can only obey a response that arrives whole. */
  #response(response: PlatformResponse, signal: AbortSignal, exchange: Exchange): WireResponse {
    const { weather } = this;
    const headers = new Map(Object.entries(response.headers));
    const read = { get: (name: string) => headers.get(name.toLowerCase()) ?? null };
    if (weather.strikes('redirect')) {
      headers.set('location', 'https://elsewhere.invalid/');
      return { status: 302, headers: read, body: null };
    }
    if (weather.strikes('bad_encoding')) headers.set('content-encoding', 'br');
    return { status: response.status, headers: read, body: this.#body(response, signal, exchange) };
  }

  async *#body(
    response: PlatformResponse,
    signal: AbortSignal,
    exchange: Exchange,
  ): AsyncGenerator<Uint8Array> {
    const { weather } = this;
    const bytes = Buffer.from(response.body);
    if (weather.strikes('oversized')) for (let sent = 0; sent < 64; sent += 1) yield mebibyte;
    if (weather.strikes('cut')) {
      yield bytes.subarray(0, weather.chanceOf('cut').between(0, Math.max(0, bytes.length - 1)));
      throw Object.assign(new Error('terminated'), { code: 'UND_ERR_SOCKET' });
    }
    if (weather.strikes('drip')) {
      const pieces = weather.chanceOf('drip').between(2, 12);
      const size = Math.ceil(bytes.length / pieces);
      for (let at = 0; at < bytes.length; at += size) {
        await this.#pause(weather.chanceOf('drip').between(50, 6_000), signal);
        yield bytes.subarray(at, at + size);
      }
      this.#obeyed(response, exchange);
      return;
    }
    this.#obeyed(response, exchange);
    yield bytes;
  }

  #obeyed(response: PlatformResponse, exchange: Exchange): void {
    exchange.deliveredAt = this.scheduler.now;
    exchange.quietMillis = response.quietMillis ?? 0;
  }

  #pause(millis: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const cut = () => reject(Object.assign(new Error('aborted'), { code: 'ABORT_ERR' }));
      if (signal.aborted) return cut();
      signal.addEventListener('abort', cut, { once: true });
      this.scheduler.in(millis, 'a piece arrives', () => {
        signal.removeEventListener('abort', cut);
        resolve();
      });
    });
  }
}
