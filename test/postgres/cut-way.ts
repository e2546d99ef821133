import type { Socket } from 'node:net';
import { proxyTo } from './proxy.js';

export interface Cut {
  /**
   * The message to the server at which every connection breaks: its number, from 1, among simple queries, syncs of the
   * extended protocol and ends of COPY data; or the last of these patterns of statements, which have to come in this order.
   */
  readonly at: number | readonly [RegExp, ...RegExp[]];
  /** `before` the message reaches the server, or `after` the server has answered it: the answer is lost. */
  readonly when: 'before' | 'after';
  /** Whether the server accepts new connections afterwards. */
  readonly back: boolean;
}

export interface CutWay {
  readonly url: string;
  /** The number of messages so far. */
  messages(): number;
  /** The statement at which the connections broke; empty while they did not, or it was one of the extended protocol. */
  statement(): string;
}

/** A proxy to a database that breaks all connections at one message. */
export async function cutWay(url: string, { at, when, back }: Cut): Promise<CutWay> {
  let messages = 0;
  let cutAt: string | null = null;
  const patterns = typeof at === 'number' ? [] : [...at];
  /** Whether this message is the one, which for the extended protocol is the sync after the statement. */
  const isCutHere = (statement: string): boolean => {
    messages += 1;
    if (typeof at === 'number') return messages === at;
    if (patterns[0]?.test(statement) !== true) return false;
    patterns.shift();
    return patterns.length === 0;
  };
  const open = new Set<() => void>();
  const cut = (statement: string) => {
    cutAt = statement;
    for (const destroy of [...open]) destroy();
  };
  const proxy = await proxyTo(url, (near, far) => {
    const destroy = () => {
      open.delete(destroy);
      near.destroy();
      far.destroy();
    };
    if (cutAt !== null && !back) return destroy();
    open.add(destroy);
    near.on('close', destroy);
    far.on('close', destroy);
    const answers = new Answers();
    let parsed = '';
    let swallowed: string | null = null;
    far.on('data', (chunk: Buffer) => {
      answers.read(chunk);
      if (swallowed === null) near.write(chunk);
      else if (answers.areComplete) cut(swallowed);
    });
    onMessage(near, (type, bytes) => {
      if (swallowed !== null || far.destroyed) return;
      answers.expect(type);
      if (type === 'P') parsed += ` ${bytes.toString('utf8', 5)}`;
      if (type !== 'Q' && type !== 'S' && type !== 'c') return void far.write(bytes);
      const statement = type === 'Q' ? bytes.toString('utf8', 5) : parsed;
      if (type === 'S') parsed = '';
      if (cutAt !== null || !isCutHere(statement)) return void far.write(bytes);
      if (when === 'before') return cut(statement);
      swallowed = statement;
      far.write(bytes);
    });
  });
  return { url: proxy.url, messages: () => messages, statement: () => cutAt ?? '' };
}

/** Calls `take` with each message of a client. The first has no type. */
function onMessage(near: Socket, take: (type: string, bytes: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  let begun = false;
  near.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const from = begun ? 1 : 0;
      if (rest.length < from + 4) return;
      const length = from + rest.readUInt32BE(from);
      if (rest.length < length) return;
      const type = begun ? String.fromCharCode(rest[0] ?? 0) : '';
      begun = true;
      const bytes = rest.subarray(0, length);
      rest = rest.subarray(length);
      take(type, bytes);
    }
  });
}

/** What the server still owes: one ReadyForQuery for its start and for each query and sync, or the start of a COPY. */
class Answers {
  #owed = 1;
  #last = '';
  #rest: Buffer = Buffer.alloc(0);

  expect(type: string): void {
    if (type === 'Q' || type === 'S') this.#owed += 1;
  }

  read(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 5) {
      const length = 1 + this.#rest.readUInt32BE(1);
      if (this.#rest.length < length) return;
      this.#last = String.fromCharCode(this.#rest[0] ?? 0);
      if (this.#last === 'Z') this.#owed -= 1;
      this.#rest = this.#rest.subarray(length);
    }
  }

  get areComplete(): boolean {
    return this.#owed === 0 || this.#last === 'G';
  }
}
