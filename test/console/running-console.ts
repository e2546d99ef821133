import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConsole } from '../../src/console/console.js';
import type { ConsoleAuth } from '../../src/console/guard/authenticator.js';
import type { SourceCountsSeen, SourceHealth } from '../../src/console/ports.js';
import { ProcessMetrics } from '../../src/console/process-metrics.js';
import { type DashboardParts, dashboardSource } from '../../src/daemon/dashboard-source.js';
import { operationsOf } from '../../src/daemon/operations.js';
import { readMirror } from '../../src/reading/read-mirror.js';
import { listSources, showSource } from '../../src/reading/sources.js';
import { type StatusPart, statusOf } from '../../src/reading/status.js';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import type { LogFields, Logger } from '../../src/runtime/logger.js';
import { Alerts } from '../../src/store/alerts.js';
import { AuditLog } from '../../src/store/audit-log.js';
import { sqliteConnection } from '../../src/store/connection.js';
import { openSqlite, type SqliteDatabase } from '../../src/store/dialect/sqlite/open.js';
import { OperatorRequests } from '../../src/store/operator-requests.js';
import { Outbox } from '../../src/store/outbox.js';
import { Pauses } from '../../src/store/pauses.js';
import { manySources, sourceNamesOf } from '../store/support/many-sources.js';
import { seedHistory, seedIdentity, seedInvestment, seedRow, seedSource } from '../store/support/mirror.js';
import { testRandom } from '../support/chance.js';
import { placeMigrated } from '../support/migrated-file.js';

/** A text that would run a script, load a file, or break out of an attribute or element if it were not escaped. */
export const hostile = `"><script>window.pwned=1</script><img src=x onerror="window.pwned=1">'{{7*7}}</textarea></title>`;

export const person = 'Ada Lovelace-Byron';

/** The company of the source `acme`, and its rounds. */
export const company = 'co_1';
export const companyName = 'Copper Labs';
export const rounds = { ofr_1: 'Reg CF SAFE 2025', ofr_2: 'Reg D Note 2026', ofr_3: 'Reservations 2026' };

export interface RunningConsole {
  readonly url: string;
  readonly port: number;
  readonly database: SqliteDatabase;
  readonly logged: { readonly fields: LogFields; readonly message: string }[];
  /** Notifies the console as the end of a tick does. */
  tick(): void;
  close(): Promise<void>;
}

export interface ConsoleOptions {
  readonly auth?: ConsoleAuth;
  readonly host?: string;
  readonly hosts?: readonly string[];
  /** The number of generated investments, in addition to the hand-made ones. */
  readonly rows?: number;
  readonly clock?: Clock;
  /** The clock by which queries are too slow. */
  readonly queryClock?: Clock;
  /** Reads the mirror for pages, instead of doing so in this process. */
  readonly read?: DashboardParts['read'];
  /** The number of sources, instead of the three hand-made ones. */
  readonly many?: number;
}

/** A sign-in with one token that may do what the single token of the configuration may. */
export const oneToken = (secret: () => Promise<string>): ConsoleAuth => ({
  tokens: [{ name: 'token', role: 'analyst', secret }],
  basic: null,
  proxy: null,
});

/** A console with its own mirror on disk: two sources, one of them full of hostile text. */
export async function startConsole(wish: ConsoleOptions = {}): Promise<RunningConsole> {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-console-'));
  const file = join(folder, 'mirror.db');
  placeMigrated(file);
  const database = openSqlite(file);
  const { many } = wish;
  startedAt = Date.now();
  database.raw.transaction(() => {
    if (many === undefined) fill(database, wish.rows ?? 120);
    else for (const sql of manySources(many, Date.now())) database.raw.exec(sql);
  })();
  const place = { kind: 'sqlite', file: database.file } as const;
  const logged: RunningConsole['logged'] = [];
  const listeners = new Set<() => void>();
  const status = (part?: StatusPart) => statusOf(place, systemClock, null, undefined, part);
  const nothing = { daemons: [], problems: [], waits: [], spacings: {} };
  const connection = sqliteConnection(database);
  const shown = createConsole({
    source: {
      status: (sourcesMax) => status(sourcesMax === undefined ? {} : { sourcesMax }),
      problems: () => [],
      waits: () => [],
      spacings: () => ({}),
      log: () => [],
      counts: async () => counts,
    },
    processed: new ProcessMetrics(200),
    metricsSources: 200,
    operations: operationsOf({
      mirror: {
        audit: new AuditLog(connection),
        requests: new OperatorRequests(connection),
        pauses: new Pauses(connection),
        outbox: new Outbox(connection),
        alerts: new Alerts(connection),
      },
      isSource: (name) =>
        many === undefined
          ? ['acme', 'hostile', 'newcomer'].includes(name)
          : sourceNamesOf(many).includes(name),
      status,
      clock: systemClock,
      onRequest: () => {},
      onNotice: () => {},
      onAlert: () => {},
    }),
    dashboard: dashboardSource({
      config: {
        database: place,
        platform: { baseUrl: 'https://api.example.com' },
      } as unknown as Parameters<typeof dashboardSource>[0]['config'],
      firstSource: () => 'acme',
      quotaOf: async () => ({ limit: 1_000, left: 640, resets_at: at(40) }),
      onTick: (listener) => {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
      clock: wish.queryClock ?? systemClock,
      status,
      list: (wanted) => listSources(place, systemClock, null, [], wanted),
      show: (name) => showSource(place, systemClock, null, nothing, name),
      read: wish.read ?? ((work) => readMirror(place, work)),
    }),
    auth: wish.auth ?? null,
    host: wish.host ?? '127.0.0.1',
    hosts: wish.hosts ?? [],
    clock: wish.clock ?? systemClock,
    random: testRandom(),
    logger: rememberedIn(logged),
    version: '1.2.3',
  });
  const { port } = await shown.listen(0);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    database,
    logged,
    tick: () => {
      for (const listener of listeners) listener();
    },
    close: async () => {
      await shown.close();
      database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** When the last console was started: files that share a process load this module only once. */
let startedAt = 0;
const at = (minutes: number): string => new Date(startedAt + minutes * 60_000).toISOString();

const statuses = ['active', 'executed', 'reserved', 'needs_whitelisting'];

function fill(database: SqliteDatabase, rows: number): void {
  seedSource(database, 1, {
    name: 'acme',
    cursor_saved_at: at(-1),
    published_through: at(-1),
    rows_held: rows + 3,
    last_tick_at: at(-1),
    last_success_at: at(-1),
    last_outcome: 'done',
    identity_included: 1,
  });
  seedSource(database, 2, {
    name: 'hostile',
    state: 'halted',
    halted_from: 'following',
    halted_code: 'unauthorized',
    halted_message: hostile,
    halted_at: at(-3),
    last_outcome: 'failed',
    last_error_code: 'unauthorized',
    last_error: hostile,
    last_error_at: at(-3),
    cursor_saved_at: at(-70 * 1_440 - 60),
    published_through: at(-70 * 1_440),
    last_tick_at: at(-3),
  });
  seedSource(database, 3, {
    name: 'newcomer',
    state: 'listing',
    listed_at: null,
    listed_seq: null,
    cursor: null,
    retry_at: at(34),
    cursor_saved_at: null,
    published_through: null,
    last_outcome: 'waiting',
    last_tick_at: at(-1),
    last_error_code: 'rate_limited',
    last_error: 'the budget is spent',
    rows_incoming: 95_000,
    pages_incoming: 950,
    rows_expected: 140_000,
  });
  seedRow(database, 'listings', { source_no: 3, kind: 'first', generation: 1, started_at: at(-60) });
  named(database, 1, company, companyName, rounds);
  named(database, 2, hostile, hostile, { [hostile]: hostile });
  for (let index = 0; index < rows; index += 1) investment(database, index);
  one(database, 'inv_ada', {
    committed_cents: 777_700,
    raised_cents: 777_700,
    valid_from: at(-5),
    change_seq: 2,
  });
  seedHistory(database, 1, 'inv_ada', {
    valid_from: '2026-10-01T00:00:00.000Z',
    change_seq: 1,
    valid_to: at(-5),
    ended_by: 'update',
    committed_cents: 100_000,
    raised_cents: 100_000,
    status: 'reserved',
  });
  seedHistory(database, 1, 'inv_gone', {
    valid_from: '2026-10-01T00:00:00.000Z',
    change_seq: 1,
    valid_to: at(-4),
    ended_by: 'tombstone',
  });
  one(database, 'inv_undated', { applied_at: null, committed_cents: null });
  one(database, 'inv_euro', { currency: 'eur', raised_cents: 50_000 });
  change(database, 'snapshot', null, '2026-10-01T00:00:00.000Z');
  change(database, 'changed', 'inv_ada', at(-5));
  change(database, 'removed', 'inv_gone', at(-4));
  hostileRows(database);
  activity(database);
}

function named(
  database: SqliteDatabase,
  source: number,
  id: string,
  name: string,
  rounds: Readonly<Record<string, string>>,
): void {
  const version = { source_no: source, valid_from: '2026-10-01T00:00:00.000Z', change_seq: 1 };
  seedRow(database, 'company_rows', { ...version, id, name, reported_rounds: '[]' });
  for (const [round, title] of Object.entries(rounds))
    seedRow(database, 'offering_rows', { ...version, id: round, company_id: id, name: title });
}

function change(database: SqliteDatabase, kind: string, id: string | null, when: string): void {
  seedRow(database, 'change_rows', {
    source_no: 1,
    kind,
    id,
    at: when,
    fields: kind === 'changed' ? '["raised_cents","status"]' : '[]',
  });
}

function one(database: SqliteDatabase, id: string, set: Parameters<typeof seedInvestment>[3]): void {
  const row = seedInvestment(database, 1, id, set);
  seedIdentity(database, row, { name: person, email: 'ada@example.com', city: 'London' });
}

function investment(database: SqliteDatabase, index: number): void {
  const cents = 10_000 + ((index * 7_919) % 500) * 1_000;
  const day = new Date(Date.UTC(2026, 7, 1) + index * 17 * 3_600_000).toISOString();
  const row = seedInvestment(database, 1, `inv_${String(index).padStart(4, '0')}`, {
    applied_at: day,
    observed_at: day,
    status: statuses[index % 4] ?? 'active',
    offering_id: `ofr_${1 + (index % 3)}`,
    investor_id: `usr_${index % 40}`,
    committed_cents: cents,
    raised_cents: index % 4 < 2 ? cents : 0,
  });
  seedIdentity(database, row, { name: `Investor Number ${index}`, email: `n${index}@example.com` });
}

/** A record with the hostile text in every text column, including the currency and the ids. */
function hostileRows(database: SqliteDatabase): void {
  const texts = {
    company_id: hostile,
    offering_id: hostile,
    investor_id: hostile,
    status: hostile,
    reason: hostile,
    group_label: hostile,
    investment_type: hostile,
    offering_type: hostile,
    currency: hostile,
    shares: hostile,
    average_share_price: hostile,
    converted_to: hostile,
    extra: JSON.stringify(hostile),
    blockers: JSON.stringify([hostile]),
    contracts: JSON.stringify([hostile]),
  };
  const row = seedInvestment(database, 2, hostile, { ...texts, valid_from: at(-9), change_seq: 9 });
  seedIdentity(database, row, {
    name: hostile,
    legal_name: hostile,
    email: hostile,
    bio: hostile,
    message: hostile,
  });
  seedHistory(database, 2, hostile, {
    ...texts,
    status: 'active',
    valid_from: '2026-10-01T00:00:00.000Z',
    change_seq: 1,
    valid_to: at(-9),
    ended_by: 'update',
  });
}

function activity(database: SqliteDatabase): void {
  for (const [index, trigger] of (['start', 'timer', 'webhook'] as const).entries())
    seedRow(database, 'tick_rows', {
      source_no: 1,
      trigger,
      mode: 'delta',
      started_at: at(index - 9),
      took_ms: 80 + index,
      pages: 1,
      added: index,
      changed: 1,
      removed: 0,
      quarantined: 0,
      outcome: 'done',
      code: null,
      message: null,
    });
  seedRow(database, 'tick_rows', {
    source_no: 2,
    trigger: 'timer',
    mode: 'none',
    started_at: at(-3),
    took_ms: 1_240,
    pages: 0,
    added: 0,
    changed: 0,
    removed: 0,
    quarantined: 0,
    outcome: 'failed',
    code: 'unauthorized',
    message: hostile,
  });
  for (const [index, state] of (['worked', 'pending', 'given_up'] as const).entries())
    seedRow(database, 'webhook_inbox', {
      event_id: `evt_${index}`,
      installation: 'inst_1',
      event: 'investment.changed',
      source: 'acme',
      investment: 'inv_ada',
      received_at: at(-index),
      state,
      attempts: index,
      test: 0,
      next_at: at(1),
    });
  seedRow(database, 'webhook_inbox', {
    event_id: hostile,
    installation: hostile,
    event: hostile,
    source: hostile,
    investment: hostile,
    received_at: at(-8),
    state: 'ignored',
    attempts: 1,
  });
  seedRow(database, 'quarantine_rows', {
    source_no: 2,
    id: hostile,
    problem: hostile,
    body: hostile,
    seen_at: at(-7),
  });
  seedRow(database, 'notice_rows', {
    source_no: 1,
    seq: 2,
    target: 'team',
    body: hostile,
    queued_at: at(-2),
    next_at: at(3),
    attempts: 2,
    last_error: hostile,
  });
  seedRow(database, 'erasures', { source_no: 1, id: 'inv_gone', cause: 'tombstone', invisible_at: at(-4) });
}

function rememberedIn(logged: RunningConsole['logged']): Logger {
  const keep = (fields: LogFields, message: string) => void logged.push({ fields, message });
  const logger: Logger = { debug: keep, info: keep, warn: keep, error: keep, child: () => logger };
  return logger;
}

export const counts = {
  ...{
    deliveries: { accepted: 5 },
    connections: { waiting: 7, resting: 2, busy: 1, bytes: 900, closed: { evicted: 4, refused: 0 } },
    clockSkewSeconds: 1.5,
    fleet: null,
    quotas: { acme: { limit: 1_000, left: 640 } },
  },
  storage: { databaseBytes: 4_096, logBytes: 512, freeBytes: 1_000_000 },
};

/** The counts of a status that describes these sources only. */
export const countsOf = (
  sources: readonly Pick<SourceHealth, 'readable' | 'rows' | 'last_success_at'>[],
): SourceCountsSeen => {
  const unreadable = sources.filter(({ readable }) => readable === 0).length;
  return {
    sources: sources.length,
    unreadable,
    not_ready: unreadable,
    rows: sources.reduce((sum, { rows }) => sum + rows, 0),
    oldest_success_at: sources[0]?.last_success_at ?? null,
    by_state: {
      ...{ halted: 0, failing: 0, stale: 0, attention: 0, waiting: unreadable, paused: 0, disconnected: 0 },
      ...{ fine: sources.length - unreadable, erased: 0 },
    },
  };
};

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Sends one request with exactly these headers: `fetch` does not allow setting Host or Origin. */
export function ask(
  port: number,
  path: string,
  wish: { readonly method?: string; readonly headers?: Record<string, string>; readonly body?: string } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        port,
        path,
        host: '127.0.0.1',
        method: wish.method ?? 'GET',
        agent: false,
        headers: { accept: 'text/html', ...wish.headers },
      },
      (incoming) => {
        let body = '';
        incoming.setEncoding('utf8');
        incoming.on('data', (piece: string) => {
          body += piece;
        });
        incoming.on('end', () =>
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body }),
        );
        incoming.on('error', reject);
      },
    );
    outgoing.on('error', reject);
    outgoing.end(wish.body);
  });
}

/** A minimal browser: keeps its cookie, and sends the CSRF token of the page and the Origin of a form. */
export class Visitor {
  #cookie = '';
  #csrf = '';

  constructor(private readonly port: number) {}

  async get(path: string): Promise<Answer> {
    return this.#heard(await ask(this.port, path, { headers: { cookie: this.#cookie } }));
  }

  /** Posts a form and follows one redirect, as a browser does. */
  async post(path: string, fields: Readonly<Record<string, string>>): Promise<Answer> {
    const answer = await this.send(path, { csrf: this.#csrf, ...fields });
    return answer.status === 303 ? await this.get(String(answer.headers.location)) : answer;
  }

  async send(path: string, fields: Readonly<Record<string, string>>, headers: Record<string, string> = {}) {
    const answer = await ask(this.port, path, {
      method: 'POST',
      headers: {
        cookie: this.#cookie,
        origin: `http://127.0.0.1:${this.port}`,
        host: `127.0.0.1:${this.port}`,
        'content-type': 'application/x-www-form-urlencoded',
        ...headers,
      },
      body: new URLSearchParams(fields).toString(),
    });
    return this.#heard(answer);
  }

  /** Posts a form and returns the response, of whose body nothing is read. */
  async pausedFile(path: string, fields: Readonly<Record<string, string>>): Promise<IncomingMessage> {
    const origin = `http://127.0.0.1:${this.port}`;
    const headers = {
      cookie: this.#cookie,
      origin,
      'content-type': 'application/x-www-form-urlencoded',
    };
    const asked = request(`${origin}${path}`, { method: 'POST', agent: false, headers });
    asked.end(new URLSearchParams({ csrf: this.#csrf, ...fields }).toString());
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    return answer;
  }

  get cookie(): string {
    return this.#cookie;
  }

  get csrf(): string {
    return this.#csrf;
  }

  #heard(answer: Answer): Answer {
    const [cookie] = [answer.headers['set-cookie'] ?? []].flat();
    if (cookie !== undefined) this.#cookie = cookie.split(';')[0] ?? '';
    this.#csrf = /name="csrf" value="(\w+)"/.exec(answer.body)?.[1] ?? this.#csrf;
    return answer;
  }
}
