import { mintToken } from '../../src/platform/oauth/mint.js';
import { churn } from '../../src/platform/sandbox/control/churn.js';
import { type Sandbox, startSandbox } from '../../src/platform/sandbox/sandbox.js';
import { digestOf, type Realm } from '../../src/platform/state/secrets.js';
import { all } from '../../src/platform/state/statements.js';
import { rotateSecret } from '../../src/platform/webhooks/endpoint-secrets.js';
import { Chance } from './chance.js';
import type { PlatformRequest, PlatformResponse } from './fake-platform.js';
import type { Account } from './fake-tokens.js';
import { MachineClock } from './machine-clock.js';
import type { Act } from './plan.js';
import type { Look } from './reader.js';
import { SimulatedRun } from './simulated-run.js';
import { Connection, type Reached, requestBytes, routeRequests } from './sockets.js';

interface Listed {
  readonly id: string;
  readonly company: string;
  readonly group: string | null;
  readonly status: string;
  readonly amounts: { readonly committed_cents: number; readonly raised_cents: number | null };
  readonly investor: {
    readonly id: string | null;
    readonly deactivated: boolean;
    readonly name?: string | null;
    readonly email?: string | null;
  };
  readonly message?: string | null;
}

interface ListingPage {
  readonly data: readonly Listed[];
  readonly meta: { readonly has_more: boolean; readonly next_cursor: string };
}

interface TokenRow {
  readonly realm: Realm;
  readonly applicationNo: number;
  readonly installationNo: number | null;
  readonly userNo: number | null;
  readonly scopes: string;
}

const minute = 60_000;

/** Acts that the fake platform supports and the bundled one does not. */
const notHere: readonly Act['kind'][] = [
  'restore',
  'access_lost',
  'other_company',
  'catalog',
  'catalog_scope',
];

/** Longer than the feed's retention. */
const expiryMillis = 100 * 24 * 60 * minute;
const receiverPort = 8_787;
/** The lifetime of an access token of a sign-in on the bundled server. */
const accessMillis = 120 * minute;

/**
 * The same simulation with the bundled server as the platform: in this process, on the same clock, behind the same
 * network, sending its own webhooks and rotating its own tokens. The truth is read from it page by page after each
 * event.
 */
export class SandboxRun extends SimulatedRun {
  #sandbox: Sandbox | undefined;
  readonly #versions = new Map<string, Set<string>>();
  /** Tokens that were replaced by another. */
  readonly #replaced = new Set<string>();
  /** The new tokens of revoked accounts when they are connected again. */
  readonly #renewals = new Map<string, Account['current']>();
  /** Tokens for reading the truth: for each company one with identity and one without. */
  readonly #tokens = new Map<string, { readonly full: string; readonly narrow: string }>();

  protected override async far(request: PlatformRequest): Promise<PlatformResponse> {
    const response = this.#beforeTheServer(request) ?? (await this.#ask(request));
    const company = request.url.searchParams.get('company_id') ?? '';
    for (const source of this.sources)
      if (source.company === company)
        this.platform.readings.push({
          at: this.scheduler.now,
          account: source.account.name,
          company,
          kind: 'cursor',
          status: response.status,
          head: 0,
        });
    return response;
  }

  /** The bundled server treats a refresh token used again after its pair as stolen and ends the sign-in. */
  protected override mayDouble({ url }: PlatformRequest): boolean {
    return url.pathname !== '/oauth/token';
  }

  #beforeTheServer(request: PlatformRequest): PlatformResponse | undefined {
    if (request.url.pathname !== '/investments') return undefined;
    const [, token = ''] = request.headers.authorization?.split(' ') ?? [];
    return this.#replaced.has(token) ? this.platform.unauthorized() : this.platform.edge(request);
  }

  async #ask(request: PlatformRequest): Promise<PlatformResponse> {
    const port = Number(new URL(this.#server().url).port);
    const server = this.around.servers.get(port);
    if (server === undefined) throw new Error('the bundled server does not listen');
    const connection = new Connection(server);
    const target = `${request.url.pathname}${request.url.search}`;
    connection.send(
      requestBytes(request.method, target, { ...request.headers, connection: 'close' }, request.body),
    );
    const answer = await connection.answered;
    if (answer === null) throw new Error(`the bundled server did not answer ${request.method} ${target}`);
    this.counters.add(`platform answered:${answer.status}`);
    if (request.url.pathname === '/oauth/token' && answer.status === 200)
      this.counters.add('platform:refresh');
    if (answer.status >= 500)
      this.violate('server', `${request.method} ${target} was answered ${answer.status}`);
    return answer;
  }

  protected override async live(): Promise<void> {
    const { plan, scheduler, machine } = this;
    const random = new Chance(`bundled server ${plan.seed}`).asRandom();
    const undo = routeRequests((port) => this.#receiver(port));
    try {
      this.#sandbox = await startSandbox({
        seed: plan.seed,
        companies: 2,
        records: Math.min(plan.records, 30),
        random,
        clock: new MachineClock(scheduler, 'the platform', 0),
      });
      this.#settle(this.#sandbox);
      await this.#subscribe();
      await this.#remember();
      machine.start();
      for (const { at, no, act } of plan.acts)
        scheduler.at(at, `act ${no} ${act.kind}`, () => {
          this.counters.add(`act:${act.kind}`);
          this.act(act, no);
        });
      await this.until(plan.chaosUntil, () => false);
      await this.heal();
      await this.rest();
      await this.end();
    } finally {
      await this.#sandbox?.close();
      undo();
    }
  }

  /**
   * Each source gets a company. The first source of a company may sign in as its founder, whose tokens rotate.
   */
  #settle(sandbox: Sandbox): void {
    const { apps, companies, users } = sandbox.ready;
    for (const [index, source] of this.sources.entries()) {
      const company = companies[index % 2];
      const app = apps[0];
      if (company === undefined || app === undefined) throw new Error('the sandbox needs two companies');
      const { id, installation, token, tokenWithoutIdentity } = company;
      const founder = users.find((user) => user.id === company.founder);
      const rotating = index < 2 && founder !== undefined && source.account.rotating;
      const current = rotating
        ? {
            access: founder.token,
            refresh: founder.refreshToken,
            expiresAt: this.plan.start + accessMillis,
          }
        : { access: token };
      const { clientId, clientSecret } = app;
      const account = { name: source.account.name, rotating, revoked: false, identity: true, spent: 0 };
      Object.assign(source, {
        company: id,
        installation,
        account: { ...account, clientId, clientSecret, current },
      });
      this.#tokens.set(id, { full: token, narrow: tokenWithoutIdentity });
      if (rotating) this.machine.signIn(source.account);
    }
  }

  async #subscribe(): Promise<void> {
    const body = JSON.stringify({
      url: `http://127.0.0.1:${receiverPort}/webhooks`,
      events: ['investment.changed'],
    });
    const url = new URL(`${this.#server().ready.control}/webhooks`);
    const headers = { 'content-type': 'application/json' };
    const { body: made } = await this.#ask({ method: 'POST', url, headers, body });
    this.post.secrets = [(JSON.parse(made) as { readonly secret: string }).secret];
  }

  /** The destination of the bundled server's deliveries: the currently running daemon. */
  #receiver(port: number): Reached | null {
    const { life } = this.machine;
    const server = life?.port == null ? undefined : this.around.servers.get(life.port);
    const hears = life !== null && life.clock.suspendedUntil <= this.scheduler.now;
    if (port !== receiverPort || life === null || server === undefined || !hears) return null;
    return { server, silent: () => life.dead, cut: this.weather.strikes('hook_cut') };
  }

  protected override act(act: Act, no: number): void {
    const { services, clock } = this.#server();
    if (act.kind === 'publish') {
      churn(services, act.times, null, services.clock.now());
      void this.#remember();
    } else if (act.kind === 'revoke') void this.#revoke(new Chance(`act ${this.plan.seed}/${no}`));
    else if (act.kind === 'rotate_hook') this.#rotateSecret();
    else if (act.kind === 'narrow') this.#narrow(new Chance(`act ${this.plan.seed}/${no}`));
    else if (act.kind === 'expire' && this.sources.every(({ account }) => !account.rotating))
      clock.advance(expiryMillis);
    else if (act.kind === 'expire' || notHere.includes(act.kind)) this.counters.add('act:not here');
    else super.act(act, no);
  }

  /** Replaces a company's token by one of the same installation with or without access to identities. */
  #narrow(chance: Chance): void {
    const { company } = chance.pick(this.sources);
    const tokens = this.#tokens.get(company);
    const accounts = this.sources.filter((one) => one.company === company && !one.account.rotating);
    const before = accounts[0]?.account.current.access;
    if (tokens === undefined || before === undefined || accounts[0]?.account.revoked === true) return;
    const access = before === tokens.full ? tokens.narrow : tokens.full;
    this.#replaced.add(before);
    this.#replaced.delete(access);
    for (const { account } of accounts) Object.assign(account, { current: { access } });
    this.counters.add('platform:narrowed');
  }

  /**
   * The person who connected the account, or the investor behind a token, revokes it; healing provides a new one.
   */
  async #revoke(chance: Chance): Promise<void> {
    const { account, company } = chance.pick(this.sources);
    if (account.revoked) return;
    const { access, refresh } = account.current;
    const { clientId, clientSecret } = account;
    const same = account.rotating
      ? [account]
      : this.sources
          .filter((one) => one.company === company && !one.account.rotating)
          .map((one) => one.account);
    const next = this.#anotherLike(access, clientId);
    for (const one of same) {
      Object.assign(one, { revoked: true });
      this.#renewals.set(one.name, next);
    }
    const hand = this.#tokens.get(company);
    if (!account.rotating && hand !== undefined)
      this.#tokens.set(company, {
        full: hand.full === access ? next.access : hand.full,
        narrow: hand.narrow === access ? next.access : hand.narrow,
      });
    const form = new URLSearchParams({
      token: account.rotating ? refresh : access,
      client_id: clientId,
      client_secret: clientSecret,
    });
    const url = new URL('https://platform.invalid/oauth/revoke');
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const { status } = await this.#ask({ method: 'POST', url, headers, body: form.toString() });
    if (status === 200) this.counters.add('platform:revoked');
    else this.violate('server', `a revocation was answered ${status}`);
  }

  /** Returns another token with the same access, as connecting again would. */
  #anotherLike(access: string, clientId: string): Account['current'] {
    const { services } = this.#server();
    const [like] = all<TokenRow>(
      services.state,
      `SELECT realm, application_no AS applicationNo, installation_no AS installationNo, user_no AS userNo, scopes
       FROM access_tokens WHERE digest = ?`,
      [digestOf(access)],
    );
    if (like === undefined) throw new Error('the platform has no token of this source');
    const scopes = like.scopes.split(' ');
    const now = services.clock.now();
    const { realm, applicationNo, installationNo, userNo } = like;
    if (userNo === null && installationNo !== null) {
      const { token } = mintToken(
        services,
        { kind: 'installation', realm, applicationNo, installationNo, scopes },
        now,
      );
      return { access: token, refresh: '', expiresAt: Number.POSITIVE_INFINITY };
    }
    if (userNo === null) throw new Error('a source needs the token of an installation or of a person');
    const wish = { kind: 'user', realm, applicationNo, clientId, userNo, scopes } as const;
    const { token, refreshToken } = mintToken(services, wish, now);
    return { access: token, refresh: refreshToken, expiresAt: this.scheduler.now + accessMillis };
  }

  protected override async heal(): Promise<void> {
    for (const { account } of this.sources) {
      if (!account.revoked) continue;
      Object.assign(account, { revoked: false, current: this.#renewals.get(account.name) });
      if (account.rotating) this.machine.signIn(account);
    }
    await super.heal();
  }

  /**
   * Rotates the secret: deliveries carry both signatures for a day, and the daemon reads the new secret from its
   * usual place.
   */
  #rotateSecret(): void {
    const { state, random, clock } = this.#server().services;
    const [endpoint] = all<{ readonly no: number }>(state, 'SELECT no FROM webhook_endpoints', []);
    if (endpoint === undefined) throw new Error('the receiver has no subscription');
    const secret = state.transaction(() => rotateSecret(state, random, endpoint.no, clock.now()))();
    this.post.secrets = [secret, ...this.post.secrets].slice(0, 2);
    this.counters.add('platform:secret rotated');
  }

  protected override judgeLook(look: Look): void {
    for (const { name, listed_at, rows_held } of look.sources) {
      const rows = look.rows.get(name) ?? [];
      this.counters.add('judged');
      if (listed_at === null ? rows.length > 0 : rows.length !== rows_held)
        this.violate('I3', `${name} shows ${rows.length} rows but reports ${rows_held} stored`);
      for (const { id, text } of rows)
        if (this.#versions.get(id)?.has(text) !== true)
          this.violate('I12', `${name} ${id}: the platform never published ${text}`);
    }
  }

  protected override judgeCatalog(): void {}

  protected override async rest(): Promise<void> {
    const { scheduler, plan } = this;
    const bound = scheduler.now + 3 * plan.intervalSeconds * 1000 * 1.3 + 7 * 60 * minute;
    let difference: string | undefined = 'no source was read yet';
    for (let attempts = 0; scheduler.now < bound; attempts += 1) {
      const look = this.look();
      difference = await this.#difference(look);
      // Identities that become readable again arrive with a listing that starts by itself.
      if (difference === undefined) return;
      for (const source of this.sources) {
        const seen = look.sources.find(({ name }) => name === source.name);
        if (seen === undefined || attempts >= 400) continue;
        if (seen.state === 'halted')
          this.ask(source, seen.halted_code === 'filters_changed' ? { resync: true } : {});
        else if (seen.awaiting_deletion > 0) this.ask(source, { acceptDeletions: true });
      }
      await this.until(scheduler.now + Math.max(minute, plan.intervalSeconds * 250), () => false);
    }
    this.violate('L1', `not equal in time: ${difference}`);
  }

  protected override async end(): Promise<void> {
    const { machine, scheduler } = this;
    await this.#judgeDeliveries();
    this.sendAnalystsHome();
    this.judge.close();
    let stopped = false;
    machine.stop(machine.life, () => {
      stopped = true;
    });
    await this.until(scheduler.now + 2 * minute, () => stopped);
  }

  /** I6, by the bundled server's own records: every delivery answered 2xx is on disk and soon processed. */
  async #judgeDeliveries(): Promise<void> {
    const answers = all<{ readonly id: string; readonly status: number }>(
      this.#server().services.state,
      `SELECT d.event_id AS id, a.status FROM webhook_attempts a JOIN webhook_deliveries d ON d.no = a.delivery_no
       WHERE a.status IS NOT NULL`,
      [],
    );
    for (const { status } of answers) this.counters.add(`receiver:${status}`);
    if (this.plan.wallOffset !== 0 || this.plan.classes.includes('clock_jump')) return;
    const refused = answers.find(({ status }) => status >= 400 && status < 500);
    if (refused !== undefined) this.violate('E9', `a genuine ${refused.id} was answered ${refused.status}`);
    const accepted = answers.filter(({ status }) => status >= 200 && status < 300);
    const { life } = this.machine;
    if (life === null) throw new Error('the daemon is gone before the end');
    const reader = this.judge.readerOf(life);
    const states = () =>
      new Map(
        reader
          .rows<{ id: string; state: string }>('SELECT event_id AS id, state FROM webhook_inbox')
          .map(({ id, state }) => [id, state]),
      );
    const pending = () => {
      const known = states();
      return accepted.find(({ id }) => known.get(id) === 'pending');
    };
    const known = states();
    const lost = accepted.find(({ id }) => !known.has(id));
    if (lost !== undefined) this.violate('I6', `${lost.id} was answered 2xx but is not stored`);
    await this.until(this.scheduler.now + 30 * minute, () => pending() === undefined);
    const left = pending();
    if (left !== undefined) this.violate('I6', `${left.id} was accepted and is still pending at rest`);
  }

  async #difference(look: Look): Promise<string | undefined> {
    for (const { name, company, account } of this.sources) {
      const source = look.sources.find((one) => one.name === name);
      if (source?.state !== 'following') return `${name} is ${source?.state ?? 'not there'}`;
      const stored = new Map(look.rows.get(name)?.map(({ id, text }) => [id, text]));
      const { full = '' } = this.#tokens.get(company) ?? {};
      const listed = await this.#listing(company, account.rotating ? full : account.current.access);
      if (stored.size !== listed.size) return `${name} shows ${stored.size} of ${listed.size} records`;
      for (const [id, text] of listed)
        if (stored.get(id) !== text) return `${name} ${id} reads ${stored.get(id)} instead of ${text}`;
    }
    return undefined;
  }

  async #remember(): Promise<void> {
    for (const [company, { full, narrow }] of this.#tokens)
      for (const token of this.identityMoved.size > 0 ? [full, narrow] : [full])
        for (const [id, text] of await this.#listing(company, token)) {
          const known = this.#versions.get(id);
          if (known === undefined) this.#versions.set(id, new Set([text]));
          else known.add(text);
        }
  }

  async #listing(company: string, token: string): Promise<Map<string, string>> {
    const texts = new Map<string, string>();
    let cursor: string | null = null;
    for (let more = true; more; ) {
      const url = new URL(`https://platform.invalid/investments?company_id=${company}&per_page=100`);
      if (cursor !== null) url.searchParams.set('cursor', cursor);
      const headers = { authorization: `Bearer ${token}` };
      const response = await this.#ask({ method: 'GET', url, headers, body: '' });
      const page = JSON.parse(response.body) as ListingPage;
      if (response.status !== 200) throw new Error(`reading the truth was answered ${response.status}`);
      for (const one of page.data) texts.set(one.id, textOf(one));
      more = page.meta.has_more;
      cursor = page.meta.next_cursor;
    }
    return texts;
  }

  #server(): Sandbox {
    if (this.#sandbox === undefined) throw new Error('the bundled server has not started');
    return this.#sandbox;
  }
}

/** The text a mirror row must show, written independently of any code that fills a row. */
function textOf({ company, group, status, amounts, investor, message }: Listed): string {
  const person = [investor.name, investor.email, message].map((one) => one ?? '');
  return [
    company,
    group ?? '',
    status,
    amounts.committed_cents,
    amounts.raised_cents ?? '',
    investor.id ?? '',
    investor.deactivated ? 1 : 0,
    person.every((one) => one === '') ? '-' : person.join('|'),
  ].join('|');
}
