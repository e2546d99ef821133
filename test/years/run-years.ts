import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { WireFetch } from '../../src/client/fetch/fetch.js';
import { configFrom } from '../../src/config/config-from.js';
import { settingsSchema } from '../../src/config/settings.js';
import { type Engine, startEngine } from '../../src/daemon/engine.js';
import { keepMillis } from '../../src/daemon/housekeeping.js';
import { maintenanceOf } from '../../src/daemon/maintenance.js';
import type { Upkeep } from '../../src/daemon/mirror-parts.js';
import { openMirror } from '../../src/daemon/open-mirror.js';
import { mintToken } from '../../src/platform/oauth/mint.js';
import { type MovableClock, movableClock } from '../../src/platform/sandbox/clock.js';
import { deactivate, withdraw } from '../../src/platform/sandbox/control/act.js';
import { churn } from '../../src/platform/sandbox/control/churn.js';
import { startSandbox } from '../../src/platform/sandbox/sandbox.js';
import { digestOf, type Realm } from '../../src/platform/state/secrets.js';
import { one } from '../../src/platform/state/statements.js';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { type Logger, silentLogger } from '../../src/runtime/logger.js';
import { seededRandom } from '../../src/runtime/random.js';
import { inboxKeepMillis } from '../../src/store/inbox.js';
import { forget, personOrInvestment } from '../../src/tasks/forget.js';
import { latestVersion, type Version, versions } from '../../src/wire/versions.js';
import { comparedRelations } from '../judges/compared-relations.js';
import { type FeedRead, judgeFeed, judgeSet } from '../judges/histories.js';
import { compareBySqldiff } from '../judges/sqldiff.js';
import { unpacked, type Written, writtenFolder, writtenVersions } from '../upgrade/written.js';
import type { Exam, Row } from './exam.js';
import { judgeQuarters, type Quarter } from './judge-quarters.js';
import { leftBehind } from './left-behind.js';
import { Webhooks } from './webhooks.js';

export interface YearsAsk {
  /** For the platform and credentials. */
  readonly folder: string;
  /** Opens the database with the mirror that this version wrote. */
  readonly exam: (from: Written) => Exam | Promise<Exam>;
  readonly days: number;
  readonly seed: number;
  readonly daysPerQuarter: number;
  readonly progress?: (day: number) => void;
  /** Of the engine. */
  readonly logger?: Logger;
  /** Replaces jobs of the daemon's upkeep. */
  readonly planted?: Partial<Upkeep>;
  /** The program that compares the mirror at the end with one listed afresh; by default none does. */
  readonly sqldiff?: string | null;
}

export interface YearsReport {
  readonly violations: readonly string[];
  readonly quarters: readonly Quarter[];
  readonly counts: Readonly<Record<string, number>>;
}

const hour = 3_600_000;
const ticksPerDay = 4;
const never = new AbortController().signal;
/** Versions older than this are deleted, so that history is a table with a retention too. */
const historyDays = 120;
/** Tables whose rows are deleted after so many days: the column with their time. */
const retained = [
  ['history_rows', 'valid_to', historyDays],
  ['tick_rows', 'started_at', keepMillis.ticks / (24 * hour)],
  ['budgets', 'window_start', keepMillis.budgets / (24 * hour)],
] as const;
/** Other tables with a retention, and those that only hold what is in progress. */
const boundedTables = [
  ...['notice_rows', 'webhook_inbox', 'alert_rows', 'leases'],
  ...['staged_rows', 'staged_pages', 'listings', 'sweeps', 'quarantine_rows', 'drift_rows'],
];

/**
 * Two companies over virtual years, from the files of the first tagged version: three upgrades of the schema in the
 * first week, then churn every day, expired cursors, refreshed tokens, lost and regained grants, clocks that are set,
 * forget requests, deactivated people and withdrawn records. Ends with every check of the result.
 */
export async function runYears(ask: YearsAsk): Promise<YearsReport> {
  const [from] = writtenVersions;
  if (from === undefined) throw new Error('no version has fixtures');
  const random = seededRandom(ask.seed);
  const years = await YearsRun.begin(ask, from);
  try {
    let isDue = false;
    for (let day = 0; day < ask.days; day += 1) {
      await years.day(day, random);
      // Until the last upgrade, the program cannot open the database.
      isDue ||= day >= 5 && (day + 1) % ask.daysPerQuarter === 0;
      if (isDue && !years.isAway(day)) {
        await years.measure();
        isDue = false;
      }
      ask.progress?.(day + 1);
    }
    return await years.end();
  } finally {
    await years.close();
  }
}

interface Like {
  readonly realm: Realm;
  readonly applicationNo: number;
  readonly userNo: number;
  readonly scopes: string;
}

type Random = ReturnType<typeof seededRandom>;

class YearsRun {
  readonly #quarters: Quarter[] = [];
  readonly #violations: string[] = [];
  readonly #counts: Record<string, number> = {};
  /** Every address that the mirror has ever shown. */
  readonly #emails = new Set<string>();
  readonly #reads: FeedRead[] = [];
  readonly #positions = new Map<string, number>();
  #engine: Engine | null = null;
  #webhooks: Webhooks | null = null;
  /** The API version that the configuration names. The platform retires it in the middle of the run. */
  #version: Version = versions[0];
  #retired: Version | null = null;
  #skewMillis = 0;
  #requests = 0;
  #narrowUntil = -1;
  #awayUntil = -1;

  private constructor(
    readonly ask: YearsAsk,
    readonly from: Written,
    readonly sandbox: Awaited<ReturnType<typeof startSandbox>>,
    readonly time: MovableClock,
    readonly exam: Exam,
  ) {}

  static async begin(ask: YearsAsk, from: Written): Promise<YearsRun> {
    const { folder } = ask;
    const dataFile = join(folder, 'platform.db');
    writeFileSync(dataFile, unpacked(from.version, 'platform.db'), { mode: 0o600 });
    mkdirSync(join(folder, 'credentials'), { mode: 0o700 });
    const credentials = readFileSync(join(writtenFolder(from.version), 'credentials.json'));
    writeFileSync(join(folder, 'credentials', 'quiet.json'), credentials, { mode: 0o600 });
    const offset = Date.parse(from.at) - systemClock.now();
    // The platform signs deliveries with the clock below the one that its control calls move, so that one moves here.
    const clock = movableClock({ ...systemClock, now: () => systemClock.now() + offset });
    const { seed, companies, records } = from;
    const random = seededRandom(ask.seed);
    const sandbox = await startSandbox({ dataFile, seed, companies, records, clock, random });
    return new YearsRun(ask, from, sandbox, clock, await ask.exam(from));
  }

  async close(): Promise<void> {
    await this.#stop();
    await this.exam.close();
    await this.sandbox.close();
  }

  /** Whether the machine is off on this day. */
  isAway(day: number): boolean {
    return day < this.#awayUntil;
  }

  async day(day: number, random: Random): Promise<void> {
    const chance = (share: number) => random.fraction() < share;
    const { services, clock } = this.sandbox;
    const published = 1 + Math.floor(random.fraction() * 8);
    this.#webhooks?.rotate();
    if (day < 6) {
      churn(services, published, null, clock.now());
      return await this.#upgrade(day);
    }
    if (day > this.#awayUntil && day % 200 === 100) {
      this.#awayUntil = Math.min(day + 95, this.ask.days - 8);
      this.#count('machines off for 95 days');
    }
    if (this.isAway(day)) {
      await this.#stop();
      churn(services, published, null, clock.now());
      this.time.advance(24 * hour);
      return;
    }
    if (day === this.#awayUntil) {
      this.#signInAgain();
      // The secret that the machine knows has expired by then.
      this.#webhooks?.learnSecret();
    }
    this.#engine ??= await this.#start();
    this.#webhooks?.enable();
    if (day === Math.floor(this.ask.days / 2)) await this.#meetRetiredVersion(day);
    if (chance(0.06)) this.#skewMillis = chance(0.5) ? 0 : Math.round((random.fraction() - 0.5) * 4 * hour);
    const learnsAt = Math.floor(random.fraction() * ticksPerDay);
    if (day > this.#narrowUntil && chance(0.02)) {
      this.#narrowUntil = day + 3;
      this.#count('grants lost');
    }
    if (day > 10 && chance(0.05)) await this.#part(random);
    for (let tick = 0; tick < ticksPerDay; tick += 1) {
      if (tick === learnsAt) this.#webhooks?.learnSecret();
      churn(services, tick === 0 ? published : Math.floor(random.fraction() * 2), null, clock.now());
      this.time.advance((24 / ticksPerDay) * hour);
      await this.#webhooks?.settled();
      await this.#tick(day);
      // What a tick made the platform publish is sent before the clock moves on.
      await this.#webhooks?.settled();
    }
    await this.#purge();
    if (chance(0.1)) await this.#scrub(`day ${day}`);
    await this.exam.daily();
    if (chance(0.02)) {
      await this.#stop();
      this.#count('restarts');
    }
  }

  async #purge(): Promise<void> {
    const { engine, parts } = this.#engineNow();
    const deleted = await maintenanceOf(parts, engine.mirror).purge(this.sandbox.clock.now());
    this.#add('rows past their retention', deleted);
  }

  async #stop(): Promise<void> {
    await this.#webhooks?.close();
    await this.#engine?.close();
    this.#engine = null;
  }

  /** The platform refuses the API version. Ticks fail and keep what is there until the configuration names another one. */
  async #meetRetiredVersion(day: number): Promise<void> {
    this.#retired = this.#version;
    const { engine } = this.#engineNow();
    const investments = async () => (await this.#rows('SELECT count(*) AS n FROM investments'))[0]?.n;
    const before = await investments();
    for (const { name } of engine.sources.all) {
      const { report } = await engine.sync.tick(name, {});
      this.#count(`ticks with a retired version: ${report.outcome}`);
      if (report.outcome !== 'failed' || report.code !== 'refused')
        this.#violations.push(
          `day ${day}: a retired version ended a tick with ${report.outcome}, ${report.code}`,
        );
    }
    if ((await investments()) !== before)
      this.#violations.push(`day ${day}: rows changed although the platform refused the version`);
    this.#version = latestVersion;
    await this.#stop();
    this.#engine = await this.#start();
  }

  /** On days 1, 3 and 5 a further part of the migrations runs; the program needs all of them. */
  async #upgrade(day: number): Promise<void> {
    this.time.advance(24 * hour);
    const { first, all } = this.exam.migrations;
    const part = [1, 3, 5].indexOf(day) + 1;
    if (part === 0) return;
    const through = all.slice(0, first + Math.ceil(((all.length - first) * part) / 3));
    this.#add('migrations', await this.exam.upgrade(through, this.sandbox.clock, `0.0.${part}`));
    this.#count('upgrades');
  }

  async #part(random: Random): Promise<void> {
    const { services, clock } = this.sandbox;
    const rows = await this.#rows('SELECT id, investor_id FROM roster WHERE email IS NOT NULL ORDER BY id');
    const row = rows[Math.floor(random.fraction() * rows.length)];
    if (row === undefined) return;
    const kind = Math.floor(random.fraction() * 3);
    if (kind === 0) {
      withdraw(services, String(row.id), clock.now());
      this.#count('records withdrawn');
    } else if (kind === 1 && row.investor_id !== null) {
      deactivate(services, String(row.investor_id), clock.now());
      this.#count('people deactivated');
    } else {
      await forget(this.#config(), personOrInvestment(String(row.id)), this.#clock(), never);
      this.#count('people forgotten');
    }
  }

  async #tick(day: number): Promise<void> {
    const { engine } = this.#engineNow();
    for (const { name } of engine.sources.all) {
      const { report } = await engine.sync.tick(name, {});
      this.#count(`ticks: ${report.outcome}`);
      this.#count(`ticks in mode ${report.mode}`);
      if (report.outcome !== 'done')
        this.#violations.push(`day ${day}: ${name} ${report.outcome}: ${report.message}`);
    }
    for (const { email } of await this.#rows('SELECT email FROM roster WHERE email IS NOT NULL'))
      this.#emails.add(String(email));
    await this.#consume('every tick');
    if (day % 10 === 0) await this.#consume('every ten days');
  }

  /** Reads the feed as a program that remembers its position. */
  async #consume(consumer: string): Promise<void> {
    const after = this.#positions.get(consumer) ?? 0;
    const entries = await this.#feed(after);
    this.#reads.push({ consumer, after, entries });
    this.#positions.set(consumer, entries.at(-1)?.seq ?? after);
  }

  async #feed(after: number): Promise<FeedRead['entries']> {
    const rows = await this.#rows(
      'SELECT seq, source, id, kind, fields, at FROM changes WHERE seq > ? ORDER BY seq',
      after,
    );
    return rows.map(({ seq, ...content }) => ({ seq: Number(seq), content: JSON.stringify(content) }));
  }

  /** Who the founder of a company is on the platform, and of which application. */
  #founder(): Like {
    const { services, ready } = this.sandbox;
    const company = this.#config().sources.find(({ name }) => name === 'quiet')?.company;
    const founder = ready.users.find(
      ({ id }) => id === ready.companies.find((one) => one.id === company)?.founder,
    );
    const found = one<Like>(
      services.state,
      `SELECT realm, application_no AS applicationNo, user_no AS userNo, scopes FROM access_tokens WHERE digest = ?`,
      [digestOf(String(founder?.token))],
    );
    if (found === undefined) throw new Error('the founder of quiet has no token');
    return found;
  }

  /** A refresh token does not outlive such a pause: a person signs in again. */
  #signInAgain(): void {
    const { services } = this.sandbox;
    const file = join(this.ask.folder, 'credentials', 'quiet.json');
    const stored = JSON.parse(readFileSync(file, 'utf8')) as { clientId: string; scope: string };
    const like = this.#founder();
    const wish = {
      ...like,
      kind: 'user',
      clientId: stored.clientId,
      scopes: like.scopes.split(' '),
    } as const;
    const { token, refreshToken } = mintToken(services, wish, this.sandbox.clock.now());
    const pair = { accessToken: token, refreshToken, previousRefreshToken: null, expiresAt: null };
    writeFileSync(file, JSON.stringify({ ...stored, ...pair }), { mode: 0o600 });
    this.#count('signed in again');
  }

  /** Every delivery that was answered with success is in the inbox, once, and worked. */
  async #judgeInbox(): Promise<void> {
    if (this.#webhooks === null) return;
    const { accepted } = this.#webhooks;
    const since = this.sandbox.clock.now() - inboxKeepMillis + 12 * hour;
    const recent = [...accepted].filter(([, at]) => at > since).map(([id]) => id);
    const rows = await this.#rows('SELECT event_id, state FROM webhook_inbox');
    const stored = rows.map(({ event_id }) => String(event_id));
    const wrong = [...judgeSet(recent, stored, new Set(accepted.keys()))];
    for (const { event_id, state } of rows) if (state !== 'worked') wrong.push(`${event_id} is ${state}`);
    this.#violations.push(...wrong.map((one) => `inbox: ${one}`), ...this.#webhooks.unexpected());
  }

  async measure(): Promise<void> {
    this.#engine ??= await this.#start();
    await this.#judgeInbox();
    const { engine } = this.#engineNow();
    await this.#tick(-1);
    await listCatalog(engine);
    await this.#purge();
    await this.#scrub(`quarter ${this.#quarters.length + 1}`);
    const [before, asked] = [this.exam.statements(), this.#requests];
    const [source] = engine.sources.all;
    if (source !== undefined) await engine.sync.tick(source.name, {});
    const idle = { idleStatements: this.exam.statements() - before, idleRequests: this.#requests - asked };
    globalThis.gc?.();
    const heapBytes = globalThis.gc === undefined ? null : process.memoryUsage().heapUsed;
    const bounded: Record<string, number> = {};
    for (const table of boundedTables)
      bounded[table] = Number((await this.#rows(`SELECT count(*) AS n FROM ${table}`))[0]?.n);
    const overdue: Record<string, number> = {};
    // Their sizes follow what happened within the retention, such as a lost grant or a pause, so only older rows count.
    for (const [table, column, days] of retained) {
      const since = new Date(this.sandbox.clock.now() - (days + 2) * 24 * hour).toISOString();
      const found = await this.#rows(`SELECT count(*) AS n FROM ${table} WHERE ${column} < ?`, since);
      overdue[table] = Number(found[0]?.n);
    }
    await this.#stop();
    this.#quarters.push({ ...(await this.exam.size()), heapBytes, ...idle, overdue, bounded });
  }

  /** Erases bytes, as the program does soon after every erasure, and looks for people who are not shown any more. */
  async #scrub(moment: string): Promise<void> {
    const { engine, parts } = this.#engineNow();
    const maintenance = maintenanceOf(parts, engine.mirror);
    maintenance.removeBackups(await maintenance.pending());
    const begun = systemClock.monotonic();
    // Other users of a server may block it for a moment.
    while ((await maintenance.scrubAlone(0, never)).kind === 'blocked') {
      if (systemClock.monotonic() - begun > 60_000) throw new Error('the scrub was blocked for a minute');
      await systemClock.wait(10);
    }
    const rows = await this.#rows('SELECT email FROM roster WHERE email IS NOT NULL');
    const shown = new Set(rows.map(({ email }) => String(email)));
    const gone = [...this.#emails].filter((email) => !shown.has(email));
    const left = leftBehind(await this.exam.bytes(), gone, shown).length;
    this.#count('scrubs');
    this.#counts['addresses that had to go'] = gone.length;
    if (left > 0) this.#violations.push(`${moment}: ${left} erased addresses are stored after a scrub`);
  }

  async end(): Promise<YearsReport> {
    this.#narrowUntil = -1;
    this.#skewMillis = 0;
    this.#engine ??= await this.#start();
    // Regained names are noticed within the hour and listed again.
    for (let tick = 0; tick < 6; tick += 1) {
      this.time.advance(2 * hour);
      await this.#tick(-1);
    }
    await listCatalog(this.#engineNow().engine);
    await this.#scrub('the end');
    await this.#compare();
    await this.#judgeInbox();
    await this.#stop();
    await this.#compareAfresh();
    const feed = await this.#feed(0);
    this.#violations.push(...(await this.exam.problems()), ...judgeFeed(this.#reads, feed));
    this.#add('feed entries', feed.length);
    const counts = { ...this.#counts, ...this.#webhooks?.counts, requests: this.#requests };
    return {
      violations: [...this.#violations, ...judgeQuarters(this.#quarters)],
      quarters: this.#quarters,
      counts,
    };
  }

  /** Compares every record with a listing by hand. Names of forgotten people are null in the mirror. */
  async #compare(): Promise<void> {
    const forgotten = new Set((await this.#rows('SELECT id FROM forgotten')).map(({ id }) => String(id)));
    const { ready, url } = this.sandbox;
    for (const { company } of this.#config().sources) {
      const mirrored = new Map(
        (
          await this.#rows(
            'SELECT id, investor_id, status, observed_at, committed_cents, email FROM roster WHERE company_id = ?',
            String(company),
          )
        ).map((row) => [String(row.id), row]),
      );
      const token = ready.companies.find(({ id }) => id === company)?.token;
      let listed = 0;
      for (let cursor: string | null = null, more = true; more; ) {
        const page = new URL('/investments', url);
        page.searchParams.set('company_id', String(company));
        page.searchParams.set('per_page', '100');
        if (cursor !== null) page.searchParams.set('cursor', cursor);
        const answer = (await (
          await fetch(page, { headers: { authorization: `Bearer ${token}` } })
        ).json()) as {
          data: { id: string; status: string; observed_at: string; amounts: { committed_cents: number } }[];
          meta: { has_more: boolean; next_cursor: string };
        };
        for (const record of answer.data) {
          listed += 1;
          const row = mirrored.get(record.id);
          const investor = (record as { investor?: { id?: string; email?: string | null } }).investor;
          const nameless = forgotten.has(record.id) || forgotten.has(String(row?.investor_id));
          const same =
            row !== undefined &&
            row.status === record.status &&
            row.observed_at === record.observed_at &&
            row.committed_cents === record.amounts.committed_cents &&
            (nameless ? row.email === null : row.email === (investor?.email ?? null));
          if (!same) this.#violations.push(`record ${record.id} differs from the platform`);
        }
        cursor = answer.meta.next_cursor;
        more = answer.meta.has_more;
      }
      if (listed !== mirrored.size)
        this.#violations.push(`${company}: ${mirrored.size} rows, and ${listed} on the platform`);
    }
  }

  /** Compares what the mirror shows with what a mirror shows that is listed now. */
  async #compareAfresh(): Promise<void> {
    const { sqldiff = null, folder } = this.ask;
    if (sqldiff === null) return;
    const file = join(folder, 'afresh.db');
    const engine = await this.#engineOn(`sqlite:${file}`);
    try {
      for (const { name } of engine.sources.all) {
        const { report } = await engine.sync.tick(name, {});
        if (report.outcome !== 'done')
          this.#violations.push(`listed afresh: ${name} ${report.outcome}: ${report.message}`);
      }
      await listCatalog(engine);
    } finally {
      await engine.close();
    }
    const raw = new Sqlite(file, { readonly: true });
    try {
      const { same, differences } = await compareBySqldiff(
        sqldiff,
        folder,
        comparedRelations('with figures'),
        {
          lived: (sql) => this.exam.rows(sql),
          fresh: async (sql) => raw.prepare<[], Row>(sql).all(),
        },
      );
      this.#add('rows that sqldiff found equal in a mirror listed afresh', same);
      this.#violations.push(...differences.map((one) => `sqldiff: ${one}`));
      if (same === 0) this.#violations.push('sqldiff compared no row');
    } finally {
      raw.close();
    }
  }

  #config(database = this.exam.database) {
    const settings = JSON.parse(readFileSync(join(writtenFolder(this.from.version), 'config.json'), 'utf8'));
    const env = Object.fromEntries(
      readFileSync(join(writtenFolder(this.from.version), 'environment.env'), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => line.split('=') as [string, string]),
    );
    const platform = { ...settings.platform, version: this.#version };
    const history = { keepDays: historyDays };
    return configFrom(settingsSchema.parse({ ...settings, platform, history, database }), {
      env,
      folderOf: () => this.ask.folder,
    });
  }

  #clock(): Clock {
    const { clock } = this.sandbox;
    return {
      now: () => clock.now() + this.#skewMillis,
      monotonic: () => clock.monotonic(),
      wait: (millis, signal) => clock.wait(millis, signal),
    };
  }

  async #start(): Promise<Engine> {
    const engine = await this.#engineOn(this.exam.database);
    this.#webhooks ??= new Webhooks(this.sandbox, this.#founder());
    await this.#webhooks.open(engine, this.#clock());
    return engine;
  }

  async #engineOn(database: string): Promise<Engine> {
    const config = this.#config(database);
    const { url, ready } = this.sandbox;
    const narrow = new Map(
      ready.companies.map(({ token, tokenWithoutIdentity }) => [token, tokenWithoutIdentity]),
    );
    const begun = this.sandbox.clock.now();
    const today = () => Math.floor((this.sandbox.clock.now() - begun) / (24 * hour));
    const narrowUntil = () => this.#narrowUntil;
    const firstDay = this.#day;
    const wire: WireFetch = (asked, init) => {
      this.#requests += 1;
      const headers = new Headers(init?.headers as Record<string, string>);
      const [, token = ''] = headers.get('authorization')?.split(' ') ?? [];
      const other = firstDay + today() <= narrowUntil() ? narrow.get(token) : undefined;
      if (other !== undefined) headers.set('authorization', `Bearer ${other}`);
      if (this.#retired !== null && headers.get('service-version') === this.#retired) return refusal();
      return fetch(String(asked).replace(config.platform.baseUrl, url), {
        ...init,
        headers: Object.fromEntries(headers),
      } as RequestInit);
    };
    const clock = this.#clock();
    return await startEngine({
      ...{ config, clock, wire, random: seededRandom(this.ask.seed) },
      logger: this.ask.logger ?? silentLogger,
      openMirror: async (database, parts) => {
        const mirror = await openMirror(database, parts);
        return { ...mirror, upkeep: { ...mirror.upkeep, ...this.ask.planted } };
      },
    });
  }

  get #day(): number {
    return Math.floor((this.sandbox.clock.now() - Date.parse(this.from.at)) / (24 * hour));
  }

  #engineNow() {
    if (this.#engine === null) throw new Error('the machine is off');
    return { engine: this.#engine, parts: this.#config() };
  }

  #rows(sql: string, ...values: readonly (string | number)[]): Promise<readonly Row[]> {
    return this.exam.rows(sql, ...values);
  }

  #count(name: string): void {
    this.#add(name, 1);
  }

  #add(name: string, more: number): void {
    this.#counts[name] = (this.#counts[name] ?? 0) + more;
  }
}

/** Lists companies and rounds, which ticks alone do not. */
async function listCatalog({ dimensions, sources }: Engine): Promise<void> {
  for (const { name } of sources.all) await dimensions?.refresh(name, true);
}

/** What the platform answers to an API version that it no longer has. */
function refusal(): Promise<Response> {
  return Promise.resolve(
    Response.json({ error: { type: 'invalid_request', message: 'Unknown version.' } }, { status: 400 }),
  );
}
