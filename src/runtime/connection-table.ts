import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Tracks the open connections of an HTTP server and chooses which to close when there are too many. Node's own
 * `maxConnections` resets new connections, so a few idle clients would lock out every genuine sender. This table
 * never resets a new connection while an open one has a lower priority:
 *
 *   waiting   no authenticated request since it was opened: silent, slow, or from an unknown client
 *   resting   its last request was authenticated and answered; it is kept alive
 *   busy      an authenticated request is being answered; never closed
 *
 * When the table is full, a new connection replaces the one that has waited longest: first one of an address above its
 * share, then one of any unproven address (without an authenticated request so far), then one of a proven address. Only
 * then is the oldest resting connection closed. Slow bytes and unauthenticated requests do not reset the waiting time.
 * An unauthenticated request ends its connection, unless `keepsStrangers` is set.
 */
export interface ConnectionLimits {
  readonly connections: number;
  /** Maximum number of waiting connections of one unproven address; applies only while the table is full. */
  readonly perAddress: number;
  /** Maximum size of all unanswered request bodies together. */
  readonly bytes: number;
  /** Keeps connections alive after unauthenticated requests, for public pages. They remain evictable. */
  readonly keepsStrangers?: boolean;
}

/** Why the server closed a connection before its sender did. */
export const closeReasons = [
  /** It had waited longest when a new connection arrived. */
  'evicted',
  /** It arrived while all connections were busy. */
  'refused',
  /** All unanswered bodies together were too large. */
  'memory',
  /** It had too many unanswered requests. */
  'pipelined',
  /** Its headers or body took too long. */
  'timed_out',
  /** It sent bytes that are not an HTTP request. */
  'unreadable',
] as const;
export type CloseReason = (typeof closeReasons)[number];

export interface ConnectionCounts {
  readonly waiting: number;
  readonly resting: number;
  readonly busy: number;
  /** Size of the unanswered bodies in memory. */
  readonly bytes: number;
  readonly closed: Readonly<Record<CloseReason, number>>;
}

/** Node passes on every pipelined request that it has read; genuine clients do not pipeline more than this. */
const pipelinedMax = 16;
/** The share of the table for resting connections. Above it, responses close their connections. */
const restingShare = 1 / 4;
/** Number of proven addresses to remember; a platform sends from few. */
const provenMax = 1024;

interface Address {
  readonly key: string;
  proven: boolean;
  connections: number;
  readonly waiting: Set<Connection>;
}

interface Connection {
  readonly socket: Socket;
  readonly address: Address;
  /** The set the connection is in; sets are ordered by the time of entry. */
  group: Set<Connection>;
  /** Requests that are not answered yet. */
  readonly visits: Set<Visit>;
  /** Number of requests since it was opened. */
  begun: number;
  bytes: number;
}

interface Visit {
  readonly connection: Connection;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The client asked for keep-alive, and nothing since has ruled it out. */
  keepsAlive: boolean;
  authentic: boolean;
}

export class ConnectionTable {
  readonly #open = new Map<Socket, Connection>();
  readonly #visits = new WeakMap<IncomingMessage, Visit>();
  readonly #addresses = new Map<string, Address>();
  /** Least recently proven first. */
  readonly #proven = new Set<string>();
  /** Unproven addresses with more waiting connections than their share. */
  readonly #crowded = new Set<Address>();
  /** Waiting connections of unproven addresses; longest waiting first, as in all these sets. */
  readonly #strangers = new Set<Connection>();
  /** Waiting connections of proven addresses. */
  readonly #known = new Set<Connection>();
  readonly #resting = new Set<Connection>();
  readonly #busy = new Set<Connection>();
  /** Connections with bytes of a body, oldest first. */
  readonly #holding = new Set<Connection>();
  #bytes = 0;
  readonly #closed = Object.fromEntries(closeReasons.map((reason) => [reason, 0])) as Record<
    CloseReason,
    number
  >;

  constructor(
    readonly limits: ConnectionLimits,
    private readonly onClosed: (reason: CloseReason) => void = () => {},
  ) {}

  /**
   * Tracks the connections of `server` and passes on its requests. Listens to every event with which Node emits a
   * request: one answered without the table would keep its connection alive.
   */
  serve(server: Server, handle: (request: IncomingMessage, response: ServerResponse) => void): void {
    const admit = (request: IncomingMessage, response: ServerResponse) => {
      if (this.#begin(request, response)) handle(request, response);
    };
    server.on('connection', (socket) => this.#arrived(socket));
    server.on('request', admit);
    // Node would send `100 Continue` before the handler has checked the announced body.
    server.on('checkContinue', admit);
    server.on('checkExpectation', (request, response) => {
      if (this.#begin(request, response)) response.writeHead(417, { 'content-length': '0' }).end();
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (error.code === timedOut) this.#late(socket as Socket);
      else this.#unreadable(error.code ?? '', socket as Socket);
    });
  }

  /** Marks the request as authenticated: its connection is kept alive and its address is proven from now on. */
  prove(request: IncomingMessage): void {
    const visit = this.#visits.get(request);
    if (visit === undefined || visit.authentic || !this.#open.has(visit.connection.socket)) return;
    const { connection, response } = visit;
    visit.authentic = true;
    this.#trust(connection.address);
    this.#move(connection, this.#busy);
    if (!response.headersSent)
      response.shouldKeepAlive =
        visit.keepsAlive && this.#resting.size < this.limits.connections * restingShare;
  }

  /** Counts bytes of this request's body, in memory until it is answered. May close this connection or others. */
  hold(request: IncomingMessage, bytes: number): void {
    const connection = this.#visits.get(request)?.connection;
    if (connection === undefined || !this.#open.has(connection.socket)) return;
    connection.bytes += bytes;
    this.#bytes += bytes;
    this.#holding.add(connection);
    while (this.#bytes > this.limits.bytes) {
      const victim = this.#oldestUnanswered();
      if (victim === undefined) return;
      this.#close(victim, 'memory');
    }
  }

  /** Closes the connections without an unanswered request, when the server stops. */
  closeSilent(): void {
    this.#closeWaiting(({ visits }) => visits.size === 0);
  }

  /** Closes the connections none of whose unanswered requests has arrived completely. */
  closeUnfinished(): void {
    this.#closeWaiting(({ visits }) => [...visits].every(({ request }) => !request.complete));
  }

  counts(): ConnectionCounts {
    return {
      waiting: this.#strangers.size + this.#known.size,
      resting: this.#resting.size,
      busy: this.#busy.size,
      bytes: this.#bytes,
      closed: { ...this.#closed },
    };
  }

  #arrived(socket: Socket): void {
    const address = this.#addressOf(socket.remoteAddress ?? '');
    if (this.#open.size >= this.limits.connections && !this.#makeRoomFor(address)) {
      if (address.connections === 0) this.#addresses.delete(address.key);
      this.#count('refused');
      socket.destroy();
      return;
    }
    const group = this.#waitingOf(address);
    const connection: Connection = { socket, address, group, visits: new Set(), begun: 0, bytes: 0 };
    this.#open.set(socket, connection);
    address.connections += 1;
    this.#enter(connection);
    socket.once('close', () => this.#leave(connection));
  }

  #makeRoomFor(newcomer: Address): boolean {
    const crowded =
      !newcomer.proven && newcomer.waiting.size >= this.limits.perAddress ? newcomer : first(this.#crowded);
    const victim =
      first(crowded?.waiting) ?? first(this.#strangers) ?? first(this.#known) ?? first(this.#resting);
    if (victim !== undefined) this.#close(victim, 'evicted');
    return victim !== undefined;
  }

  /** Returns false when the connection was closed, so that the request must not be answered. */
  #begin(request: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.#open.get(request.socket);
    if (connection === undefined) return false;
    if (connection.visits.size >= pipelinedMax) {
      this.#close(connection, 'pipelined');
      return false;
    }
    const keepsAlive = response.shouldKeepAlive;
    const visit = { connection, request, response, keepsAlive, authentic: false };
    if (this.limits.keepsStrangers !== true) response.shouldKeepAlive = false;
    connection.visits.add(visit);
    connection.begun += 1;
    this.#visits.set(request, visit);
    if (connection.group === this.#resting) this.#move(connection, this.#waitingOf(connection.address));
    response.once('close', () => this.#end(visit));
    return true;
  }

  #end(visit: Visit): void {
    const { connection } = visit;
    connection.visits.delete(visit);
    if (!this.#open.has(connection.socket)) return;
    if (connection.visits.size === 0) this.#release(connection);
    if (connection.group !== this.#busy || [...connection.visits].some(({ authentic }) => authentic)) return;
    this.#move(connection, connection.visits.size === 0 ? this.#resting : this.#known);
  }

  /**
   * Node checks its timeouts before it reads the sockets. After a long turn of the event loop, as in a burst, complete
   * requests may wait in the kernel, so this reads what is there before it closes the connection.
   */
  #late(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) {
      socket.destroy();
      return;
    }
    const { begun, visits } = connection;
    const unfinished = [...visits].filter(({ request }) => !request.complete);
    setImmediate(() => {
      if (socket.destroyed) return;
      const cameMeanwhile = connection.begun > begun || unfinished.length > 0;
      if (!cameMeanwhile || [...visits].some(({ request }) => !request.complete))
        this.#unreadable(timedOut, socket);
    });
  }

  #unreadable(code: string, socket: Socket): void {
    const connection = this.#open.get(socket);
    if (code === 'ECONNRESET' || connection === undefined) {
      socket.destroy();
      return;
    }
    if (code === timedOut) this.#count('timed_out');
    // With this code the client closed the connection itself.
    else if (code !== 'HPE_INVALID_EOF_STATE') this.#count('unreadable');
    const unanswered = [...connection.visits].filter(({ response }) => !response.headersSent);
    // Complete requests are answered, and the last response closes the connection. A 400 instead would make the sender
    // send them again.
    if (unanswered.length > 0 && unanswered.every(({ request }) => request.complete)) {
      for (const visit of unanswered) {
        visit.keepsAlive = false;
        visit.response.shouldKeepAlive = false;
      }
      return;
    }
    if (socket.writable && unanswered.length === connection.visits.size)
      socket.write(`HTTP/1.1 ${lineOf[code] ?? '400 Bad Request'}${ending}`);
    // The server allows half-open sockets, so both sides must be ended.
    socket.destroySoon();
  }

  #trust(address: Address): void {
    this.#proven.delete(address.key);
    this.#proven.add(address.key);
    if (this.#proven.size > provenMax) this.#proven.delete(first(this.#proven) ?? '');
    if (address.proven) return;
    address.proven = true;
    this.#crowded.delete(address);
    for (const connection of address.waiting) {
      this.#strangers.delete(connection);
      this.#known.add(connection);
      connection.group = this.#known;
    }
  }

  /** Returns the connection with the oldest unanswered body, unproven ones first, and never one that is busy. */
  #oldestUnanswered(): Connection | undefined {
    let known: Connection | undefined;
    for (const connection of this.#holding) {
      if (connection.group === this.#strangers) return connection;
      if (connection.group === this.#known) known ??= connection;
    }
    return known;
  }

  #closeWaiting(isClosed: (connection: Connection) => boolean): void {
    for (const waiting of [this.#strangers, this.#known])
      for (const connection of waiting)
        if (isClosed(connection)) {
          this.#leave(connection);
          connection.socket.destroy();
        }
  }

  #close(connection: Connection, reason: CloseReason): void {
    this.#count(reason);
    this.#leave(connection);
    connection.socket.destroy();
  }

  #count(reason: CloseReason): void {
    this.#closed[reason] += 1;
    this.onClosed(reason);
  }

  #leave(connection: Connection): void {
    if (!this.#open.delete(connection.socket)) return;
    this.#exit(connection);
    this.#release(connection);
    connection.address.connections -= 1;
    if (connection.address.connections === 0) this.#addresses.delete(connection.address.key);
  }

  #move(connection: Connection, group: Set<Connection>): void {
    this.#exit(connection);
    connection.group = group;
    this.#enter(connection);
  }

  #enter(connection: Connection): void {
    const { group, address } = connection;
    group.add(connection);
    if (group !== this.#strangers && group !== this.#known) return;
    address.waiting.add(connection);
    if (!address.proven && address.waiting.size > this.limits.perAddress) this.#crowded.add(address);
  }

  #exit(connection: Connection): void {
    const { group, address } = connection;
    group.delete(connection);
    address.waiting.delete(connection);
    if (address.waiting.size <= this.limits.perAddress) this.#crowded.delete(address);
  }

  #release(connection: Connection): void {
    this.#bytes -= connection.bytes;
    connection.bytes = 0;
    this.#holding.delete(connection);
  }

  #waitingOf(address: Address): Set<Connection> {
    return address.proven ? this.#known : this.#strangers;
  }

  #addressOf(remote: string): Address {
    const key = networkOf(remote);
    const found = this.#addresses.get(key);
    if (found !== undefined) return found;
    const made = { key, proven: this.#proven.has(key), connections: 0, waiting: new Set<Connection>() };
    this.#addresses.set(key, made);
    return made;
  }
}

const timedOut = 'ERR_HTTP_REQUEST_TIMEOUT';

const lineOf: Readonly<Record<string, string>> = {
  [timedOut]: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
};
const ending = '\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

function first<Value>(values: Iterable<Value> | undefined): Value | undefined {
  for (const value of values ?? []) return value;
  return undefined;
}

/** Returns the network of one subscriber: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function networkOf(address: string): string {
  const plain = address.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/i, '');
  if (!plain.includes(':')) return plain;
  const [front = '', back] = plain.split('::');
  const groups = front === '' ? [] : front.split(':');
  const behind = back === undefined || back === '' ? [] : back.split(':');
  const zeros = back === undefined ? 0 : Math.max(0, 8 - groups.length - behind.length);
  return [...groups, ...Array<string>(zeros).fill('0'), ...behind].slice(0, 4).join(':').toLowerCase();
}
