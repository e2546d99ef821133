import dns from 'node:dns';
import { Server, Socket } from 'node:net';
import { orderOf } from './in-order.js';
import type { Slowness } from './slowness.js';

const { setTimeout } = globalThis;

type Call = (this: unknown, ...args: never[]) => unknown;

interface ConnectRequest {
  oncomplete: (...results: unknown[]) => void;
}

/** What node:net keeps of a socket of the system. */
interface Handle {
  reading?: boolean;
  /** The HTTP server reads a socket that was never consumed without JavaScript. */
  _consumed?: boolean;
  onconnection?: (error: number, client: Handle | undefined) => void;
  readStop?(): number;
  close(): void;
}

interface Internals {
  _handle: Handle | null;
}

/** Delays the data that arrives at a socket or pipe, and its end. */
function slowData(slowness: Slowness): void {
  const { push } = Socket.prototype;
  Socket.prototype.push = function (this: Socket & Internals, chunk: unknown, encoding?: BufferEncoding) {
    let now = true;
    let wantsMore = true;
    orderOf(this)(slowness.late(chunk === null ? 'end' : 'data'), () => {
      if (this.destroyed && !now) return;
      wantsMore = push.call(this, chunk, encoding);
      if (now) return;
      if (chunk === null) return void this.read(0);
      if (wantsMore || this._handle?.reading !== true) return;
      this._handle.reading = false;
      this._handle.readStop?.();
    });
    now = false;
    return wantsMore;
  };
}

/** Delays the end of a connection attempt. */
function slowConnects(slowness: Slowness): void {
  const known = new WeakSet<object>();
  const patch = (prototype: Record<string, Call | undefined>) => {
    if (known.has(prototype)) return;
    known.add(prototype);
    for (const name of ['connect', 'connect6']) {
      const original = prototype[name] as
        | ((request: ConnectRequest, ...args: unknown[]) => number)
        | undefined;
      if (original === undefined) continue;
      prototype[name] = function (this: unknown, request: ConnectRequest, ...args: unknown[]) {
        const millis = slowness.late('connect');
        const { oncomplete } = request;
        if (millis > 0)
          request.oncomplete = (...results) =>
            void setTimeout(() => oncomplete.apply(request, results), millis);
        return original.call(this, request, ...args);
      } as Call;
    }
  };
  const { connect } = Socket.prototype;
  Socket.prototype.connect = function (this: Socket & Internals, ...args: never[]) {
    const socket = (connect as (...args: never[]) => Socket).apply(this, args);
    // The attempt begins in the next turn, once the address is known.
    if (this._handle !== null) patch(Object.getPrototypeOf(this._handle));
    return socket;
  } as typeof connect;
  const { lookup } = dns;
  dns.lookup = Object.assign((...args: unknown[]) => {
    const millis = slowness.late('lookup');
    const done = args.at(-1) as (...results: unknown[]) => void;
    const late = (...results: unknown[]) => void setTimeout(() => done(...results), millis);
    return (lookup as (...args: unknown[]) => void)(...args.slice(0, -1), millis > 0 ? late : done);
  }, lookup) as typeof lookup;
}

/** Delays the moment at which a server learns of a connection. */
function slowAccepts(slowness: Slowness): void {
  const prototype = Server.prototype as unknown as { _listen2: (this: Internals, ...args: never[]) => void };
  const { _listen2: listen } = prototype;
  prototype._listen2 = function (...args) {
    listen.apply(this, args);
    const handle = this._handle;
    const accept = handle?.onconnection;
    if (handle === null || accept === undefined) return;
    handle.onconnection = (error, client) => {
      // So that JavaScript sees what arrives.
      if (client !== undefined) client._consumed = true;
      orderOf(handle)(slowness.late('accept'), () => {
        // A server that was closed has not accepted it.
        if (this._handle !== handle) client?.close();
        else accept.call(handle, error, client);
      });
    };
  };
}

/** Delays what arrives at sockets and pipes. What comes through one of them keeps its order. */
export function slowSockets(slowness: Slowness): void {
  slowData(slowness);
  slowConnects(slowness);
  slowAccepts(slowness);
}
