import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The open connections of an HTTP server, and which of them to close when there are too many. Node's own
 * `maxConnections` resets the newcomer, so a few idle strangers shut out every genuine sender. This table never
 * resets a newcomer as long as another connection is worth less:
 *
 *   waiting   no request was authenticated on it since it was opened: silent, slow, or a stranger's
 *   resting   its last request was authentic and answered; it is kept alive
 *   busy      an authentic request is being answered; never closed
 *
 * When the table is full, a newcomer takes the place of the connection that has waited longest: first of an address
 * with more than its share, then of any address that never proved itself, then of the others. Only then does the
 * resting one that is oldest go. Sending more bytes slowly does not make a connection younger, nor does a request that
 * is not authentic: such a request ends its connection, unless `keepsStrangers`.
 */
export interface ConnectionLimits {
  readonly connections: number;
  /** Waiting connections of one address that never proved itself; counts only while the table is full. */
  readonly perAddress: number;
  /** Bytes of bodies not yet answered, of all connections together. */
  readonly bytes: number;
  /** Keeps a connection alive after a request that was not authentic: for pages that anyone may see. It stays evictable. */
  readonly keepsStrangers?: boolean;
}

/** Why the server closed a connection before its sender did. */
export const closeReasons = [
  /** It had waited longest when a newcomer needed its place. */
  'evicted',
  /** It came while every place was busy. */
  'refused',
  /** All unfinished bodies together were too large. */
  'memory',
  /** It had more requests under way than any sender needs. */
  'pipelined',
  /** Its headers or its body took too long. */
  'timed_out',
  /** Its bytes were no HTTP request. */
  'unreadable',
] as const;
export type CloseReason = (typeof closeReasons)[number];

export interface ConnectionCounts {
  readonly waiting: number;
  readonly resting: number;
  readonly busy: number;
  /** Held of unfinished bodies. */
  readonly bytes: number;
  readonly closed: Readonly<Record<CloseReason, number>>;
}

/** Node hands on every request it finds in what it read; nobody who waits for answers sends more ahead than this. */
const pipelinedMax = 16;
/** Resting connections may fill this part of the table. Beyond, an answer says that its connection closes. */
const restingShare = 1 / 4;
/** Addresses remembered as proven; a platform sends from few. */
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
  /** The set it stands in: its order is that of the time it came there. */
  standing: Set<Connection>;
  /** Requests under way. */
  readonly visits: Set<Visit>;
  /** Requests begun since it was opened. */
  begun: number;
  bytes: number;
}

interface Visit {
  readonly connection: Connection;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** What the sender asked for, and nothing since spoke against. */
  keepsAlive: boolean;
  authentic: boolean;
}

export class ConnectionTable {
  readonly #open = new Map<Socket, Connection>();
  readonly #visits = new WeakMap<IncomingMessage, Visit>();
  readonly #addresses = new Map<string, Address>();
  /** Least recently proven first. */
  readonly #proven = new Set<string>();
  /** Addresses that never proved themselves and have more waiting than their share. */
  readonly #crowded = new Set<Address>();
  /** Waiting, of addresses that never proved themselves; longest first, as in all of these. */
  readonly #strangers = new Set<Connection>();
  /** Waiting, of addresses that did. */
  readonly #known = new Set<Connection>();
  readonly #resting = new Set<Connection>();
  readonly #busy = new Set<Connection>();
  /** Those with bytes of a body, since when. */
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
   * Counts the connections of `server` and hands on its requests. Takes every way in which Node passes on a request,
   * since one that is answered behind the table's back would keep its connection.
   */
  serve(server: Server, handle: (request: IncomingMessage, response: ServerResponse) => void): void {
    const admit = (request: IncomingMessage, response: ServerResponse) => {
      if (this.#begin(request, response)) handle(request, response);
    };
    server.on('connection', (socket) => this.#arrived(socket));
    server.on('request', admit);
    // Node would tell such a sender to go on before anything looked at what it announces.
    server.on('checkContinue', admit);
    server.on('checkExpectation', (request, response) => {
      if (this.#begin(request, response)) response.writeHead(417, { 'content-length': '0' }).end();
    });
    server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
      if (error.code === timedOut) this.#late(socket as Socket);
      else this.#unreadable(error.code ?? '', socket as Socket);
    });
  }

  /** The sender of this request is who it should be: its connection is kept, and its address is known from now on. */
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

  /** Bytes of this request's body are kept in memory until it is answered. May close the connection, or others. */
  hold(request: IncomingMessage, bytes: number): void {
    const connection = this.#visits.get(request)?.connection;
    if (connection === undefined || !this.#open.has(connection.socket)) return;
    connection.bytes += bytes;
    this.#bytes += bytes;
    this.#holding.add(connection);
    while (this.#bytes > this.limits.bytes) {
      const victim = this.#largestPromise();
      if (victim === undefined) return;
      this.#close(victim, 'memory');
    }
  }

  /** Closes the connections on which no request has begun. A server that stops has nothing to say to them. */
  closeSilent(): void {
    for (const waiting of [this.#strangers, this.#known])
      for (const connection of waiting)
        if (connection.visits.size === 0) {
          this.#leave(connection);
          connection.socket.destroy();
        }
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
    const standing = this.#waitingOf(address);
    const connection: Connection = { socket, address, standing, visits: new Set(), begun: 0, bytes: 0 };
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

  /** Returns false when the request is not to be answered, because its connection was closed. */
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
    if (connection.standing === this.#resting) this.#move(connection, this.#waitingOf(connection.address));
    response.once('close', () => this.#end(visit));
    return true;
  }

  #end(visit: Visit): void {
    const { connection } = visit;
    connection.visits.delete(visit);
    if (!this.#open.has(connection.socket)) return;
    if (connection.visits.size === 0) this.#release(connection);
    if (connection.standing !== this.#busy || [...connection.visits].some(({ authentic }) => authentic))
      return;
    this.#move(connection, connection.visits.size === 0 ? this.#resting : this.#known);
  }

  /**
   * Node looks at the time before it looks at the sockets. After a turn of the event loop that took seconds, as a burst
   * makes them, whole requests may wait in the kernel: what can be read by now is read first.
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
    // A sender that ended in the middle closed its connection itself.
    else if (code !== 'HPE_INVALID_EOF_STATE') this.#count('unreadable');
    const unanswered = [...connection.visits].filter(({ response }) => !response.headersSent);
    // What came whole is answered, and the last answer closes: a 400 in its place would tell its sender to send it again.
    if (unanswered.length > 0 && unanswered.every(({ request }) => request.complete)) {
      for (const visit of unanswered) {
        visit.keepsAlive = false;
        visit.response.shouldKeepAlive = false;
      }
      return;
    }
    if (socket.writable && unanswered.length === connection.visits.size)
      socket.write(`HTTP/1.1 ${lineOf[code] ?? '400 Bad Request'}${ending}`);
    // The server's sockets stay open for half: only ending both sides ends them.
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
      connection.standing = this.#known;
    }
  }

  /** Of bodies under way the oldest of a stranger, else the oldest; never one whose request is authentic. */
  #largestPromise(): Connection | undefined {
    let known: Connection | undefined;
    for (const connection of this.#holding) {
      if (connection.standing === this.#strangers) return connection;
      if (connection.standing === this.#known) known ??= connection;
    }
    return known;
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

  #move(connection: Connection, standing: Set<Connection>): void {
    this.#exit(connection);
    connection.standing = standing;
    this.#enter(connection);
  }

  #enter(connection: Connection): void {
    const { standing, address } = connection;
    standing.add(connection);
    if (standing !== this.#strangers && standing !== this.#known) return;
    address.waiting.add(connection);
    if (!address.proven && address.waiting.size > this.limits.perAddress) this.#crowded.add(address);
  }

  #exit(connection: Connection): void {
    const { standing, address } = connection;
    standing.delete(connection);
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

/** What one subscriber is given as a whole: an IPv4 address, or the first 64 bits of an IPv6 address. */
export function networkOf(address: string): string {
  const plain = address.replace(/%.*$/, '').replace(/^::ffff:(?=\d+\.)/i, '');
  if (!plain.includes(':')) return plain;
  const [front = '', back] = plain.split('::');
  const groups = front === '' ? [] : front.split(':');
  const behind = back === undefined || back === '' ? [] : back.split(':');
  const zeros = back === undefined ? 0 : Math.max(0, 8 - groups.length - behind.length);
  return [...groups, ...Array<string>(zeros).fill('0'), ...behind].slice(0, 4).join(':').toLowerCase();
}
