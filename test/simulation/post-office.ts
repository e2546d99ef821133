import { createHmac } from 'node:crypto';
import type { Server } from 'node:http';
import type { Chance } from './chance.js';
import type { Counters } from './counters.js';
import type { RoundNow } from './fake-catalog.js';
import type { Machine } from './machine.js';
import type { Scheduler } from './scheduler.js';
import { Connection, requestBytes } from './sockets.js';
import type { Publication } from './truth.js';
import type { Weather } from './weather.js';

export interface Letter {
  readonly id: string;
  readonly event: string;
  readonly installation: string;
  readonly body: string;
  /** The publication it announces, if any. */
  readonly seq: number | null;
  /** Signed with a wrong secret, unsigned, or signed too long ago. */
  readonly fake?: 'forged' | 'unsigned' | 'stale' | 'malformed' | 'wrong_type' | 'too_large' | 'altered';
}

export interface Accepted {
  readonly id: string;
  readonly at: number;
  readonly seq: number | null;
}

/** Statuses that a correctly signed and complete request must never get. */
const refusals: readonly number[] = [400, 404, 405, 413, 415, 500];

const retryMillis = [5_000, 60_000, 300_000, 1_800_000, 7_200_000];

/** Sends webhooks as the platform does: signs each attempt anew and retries after anything but a 2xx. */
export class PostOffice {
  readonly accepted: Accepted[] = [];
  /** The newest secret signs; during a rotation both do. */
  secrets: string[];
  #letters = 0;

  constructor(
    readonly scheduler: Scheduler,
    readonly weather: Weather,
    readonly chance: Chance,
    readonly counters: Counters,
    readonly servers: ReadonlyMap<number, Server>,
    readonly machine: () => Machine,
    readonly violate: (invariant: string, what: string) => void,
    /** Called when an event that announces a change was accepted. */
    readonly onAccepted: (installation: string, seq: number) => void,
  ) {
    this.secrets = [`whsec_${chance.text(16)}`];
  }

  /** One event is sent to every installation it concerns, under one id. */
  eventId(): string {
    this.#letters += 1;
    return `evt_${this.chance.text(10)}${this.#letters}`;
  }

  announce(one: Publication, id: string, installation: string): void {
    const data = { id: one.id, company: one.company, observed_at: new Date(one.at).toISOString() };
    const letter = this.#letter(id, 'investment.changed', installation, data, one.seq);
    if (this.weather.strikes('hook_lost')) return;
    const late = this.weather.strikes('hook_late') ? this.chance.between(10_000, 3_600_000) : 0;
    this.send(letter, late + this.chance.skewed(5, 2_000));
    if (this.weather.strikes('hook_twice')) this.send(letter, this.chance.skewed(5, 60_000));
  }

  /** Announces a change of a round, as the platform describes it: the company has no id. */
  announceRound({ id, status }: RoundNow, company: string, event: string, to: string, eventId: string): void {
    const data = { offering: id, status, company: { name: company, url: company } };
    const letter = this.#letter(eventId, event, to, data);
    this.counters.add(`letter:${event}`);
    if (this.weather.strikes('hook_lost')) return;
    const late = this.weather.strikes('hook_late') ? this.chance.between(10_000, 3_600_000) : 0;
    this.send(letter, late + this.chance.skewed(5, 2_000));
    if (this.weather.strikes('hook_twice')) this.send(letter, this.chance.skewed(5, 60_000));
  }

  /** Sends events the mirror does not use, and invalid requests. */
  other(
    kind: NonNullable<Letter['fake']> | 'test' | 'unknown_event' | 'unknown_installation',
    installation: string,
  ): void {
    this.#letters += 1;
    this.counters.add(`letter:${kind}`);
    const id = `evt_${kind === 'test' ? 'test_' : ''}${this.chance.text(10)}${this.#letters}`;
    const event = kind === 'unknown_event' ? 'comet.sighted' : 'investment.changed';
    const to = kind === 'unknown_installation' ? 'inst_of_somebody_else' : installation;
    const letter = this.#letter(id, event, to, {
      id: 'inv_1',
      company: 'co_unknown',
      observed_at: new Date(this.scheduler.now).toISOString(),
    });
    const genuine = kind === 'test' || kind === 'unknown_event' || kind === 'unknown_installation';
    this.send(genuine ? letter : { ...letter, fake: kind }, this.chance.skewed(1, 1000));
  }

  #letter(id: string, event: string, installation: string, data: object, seq: number | null = null): Letter {
    const body = JSON.stringify({ id, event, installation: { id: installation }, data });
    return { id, event, installation, body, seq };
  }

  send(letter: Letter, after: number, attempt = 0): void {
    this.scheduler.in(after, `letter ${letter.id} goes out`, () => this.#deliver(letter, attempt));
  }

  #deliver(letter: Letter, attempt: number): void {
    const { life } = this.machine();
    const server = life?.port == null ? undefined : this.servers.get(life.port);
    const hears = life !== null && life.clock.suspendedUntil <= this.scheduler.now;
    if (life === null || server === undefined || !hears) {
      this.#again(letter, attempt);
      return;
    }
    const connection = new Connection(server);
    const bytes = this.#bytes(letter);
    const cut = letter.fake === undefined && this.weather.strikes('hook_cut');
    const pieces = this.chance.yes(0.2) ? this.chance.between(2, 4) : 1;
    const size = Math.ceil(bytes.length / pieces);
    let after = 0;
    for (let piece = 0; piece < pieces; piece += 1) {
      this.scheduler.in(after, 'a piece of a letter', () => {
        if (life.dead) return;
        if (cut && piece === pieces - 1) connection.cut();
        else connection.send(bytes.subarray(piece * size, (piece + 1) * size));
      });
      after += this.chance.between(1, 500);
    }
    let over = false;
    const timeout = this.scheduler.in(15_000, 'the sender times out', () => {
      if (over) return;
      over = true;
      connection.cut();
      this.#again(letter, attempt);
    });
    void connection.answered.then((answer) => {
      if (over) return;
      over = true;
      timeout.cancel();
      // A dead machine sends no response, and a sent one may be lost on its way.
      const status = life.dead || answer === null ? null : answer.status;
      this.scheduler.note(`letter ${letter.id} answered ${status}`);
      if (answer !== null && !life.dead) this.counters.add(`receiver:${answer.status}`);
      if (status !== null && status >= 200 && status < 300) this.#taken(letter);
      else {
        if (status !== null && !cut && letter.fake === undefined && refusals.includes(status))
          this.violate('E9', `a genuine ${letter.event} was answered ${status}`);
        this.#again(letter, attempt);
      }
    });
  }

  #taken(letter: Letter): void {
    if (letter.fake !== undefined) {
      this.violate('I7', `a ${letter.fake} webhook was answered 2xx`);
      return;
    }
    this.accepted.push({
      id: `${letter.id} ${letter.installation}`,
      at: this.scheduler.now,
      seq: letter.seq,
    });
    if (letter.seq !== null) this.onAccepted(letter.installation, letter.seq);
  }

  #again(letter: Letter, attempt: number): void {
    if (letter.fake !== undefined) return;
    const wait = retryMillis[attempt];
    if (wait === undefined) this.counters.add('letter:given up');
    else this.send(letter, wait, attempt + 1);
  }

  #bytes(letter: Letter): Buffer {
    const { fake } = letter;
    const seconds = Math.floor(this.scheduler.now / 1000) - (fake === 'stale' ? 4_000_000 : 0);
    const body =
      fake === 'malformed' ? '{"id":' : fake === 'too_large' ? `"${'x'.repeat(70_000)}"` : letter.body;
    const keys = fake === 'forged' ? ['whsec_a_guess'] : this.secrets;
    const values = keys.map(
      (key) => `v1=${createHmac('sha256', key).update(`${seconds}.`).update(body).digest('hex')}`,
    );
    const sent = fake === 'altered' ? body.replace('investment', 'Investment') : body;
    const headers: Record<string, string> = {
      'content-type': fake === 'wrong_type' ? 'text/plain' : 'application/json',
      connection: 'close',
    };
    if (fake !== 'unsigned') headers['service-signature'] = `t=${seconds},${values.join(',')}`;
    return requestBytes('POST', '/webhooks', headers, sent);
  }
}
