import { randomBytes } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { vaultCredentials } from '../../../src/client/tokens/credential-store.js';
import { Secret } from '../../../src/config/secrets.js';
import { defined } from '../../../src/domain/defined.js';
import type { ReadyDocument } from '../../../src/platform/sandbox/document.js';
import { type OpenVault, openVault } from '../../../src/reading/open-vault.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { migratePostgres } from '../../../src/store/dialect/postgres/migrate.js';
import { openPostgres } from '../../../src/store/dialect/postgres/open.js';
import { installAudit } from '../../postgres/fence-audit.js';
import { buildRoles, type Directed, guarded, type Spawned, startProcess, startRole } from './children.js';
import { DatabasePair } from './database-pair.js';
import { openLoopback } from './loopback.js';
import { missingForNamespaces, openNamespaces } from './namespaces.js';
import { Cuts, type Network, type Service } from './network.js';
import { installNoticeAudit } from './notice-audit.js';
import type { ForwardOrder } from './orders.js';
import { type Analyst, analysts, type Daemon, daemons, type Host, type Step } from './plan.js';
import type { Address } from './proxy.js';

export interface WorldOptions {
  readonly seed: number;
  readonly synchronous: boolean;
  /** The fewest processes and records, for the short form. */
  readonly small: boolean;
  /** False to use proxies on the loopback even where namespaces can be made. */
  readonly namespaces: boolean;
}

interface Orders {
  readonly offsetMillis: number;
  readonly dies: { readonly path: string; readonly step: Step; readonly afterMillis: number } | null;
}

const entry = fileURLToPath(new URL('./tampered.mjs', import.meta.url));
const entryOfEndpoint = 'endpoint/test';

/** Everything that runs, each part on its host. */
export class World {
  readonly folder: string;
  readonly options: WorldOptions;
  /** Why there are no namespaces; null when there are. */
  readonly missing: string | null;
  readonly promotions: number[] = [];
  readonly secrets: string[] = [];
  network!: Network;
  cuts!: Cuts;
  pair!: DatabasePair;
  ready!: ReadyDocument;
  #guard!: Directed;
  #bundle = '';
  #edge!: Directed;
  #platform: Spawned | null = null;
  #vault!: OpenVault;
  #isClosing = false;
  #apply = () => {};
  #key = '';
  #env: Record<string, string> = {};
  #calls = 0;
  #lives = 0;
  readonly #answers = new Map<number, (answer: { status: number; body: string }) => void>();
  readonly #wires = new Map<Host, Directed>();
  readonly #daemons = new Map<Daemon, Spawned>();
  readonly #analysts = new Map<Analyst, Spawned>();
  readonly #orders = new Map<Daemon, Orders>();

  private constructor(options: WorldOptions) {
    this.options = options;
    this.folder = mkdtempSync(join(tmpdir(), 'rosterd-network-'));
    // The user that PostgreSQL runs as enters it.
    chmodSync(this.folder, 0o755);
    mkdirSync(join(this.folder, 'logs'));
    this.missing = missingForNamespaces();
  }

  static async open(options: WorldOptions): Promise<World> {
    const world = new World(options);
    try {
      await world.#open();
      return world;
    } catch (error) {
      await world.close();
      throw error;
    }
  }

  get logs(): string {
    return join(this.folder, 'logs');
  }

  /** Returns the end of each log, for a report of what failed. */
  lastLines(count: number): string {
    return readdirSync(this.logs)
      .sort()
      .map((name) => {
        const lines = readFileSync(join(this.logs, name), 'utf8').trimEnd().split('\n');
        return `== ${name}\n${lines.slice(-count).join('\n')}\n`;
      })
      .join('');
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  lines<Line>(name: string): Line[] {
    try {
      const lines = readFileSync(this.file(name), 'utf8').split('\n');
      // What follows the last line feed is being written.
      return lines.slice(0, -1).map((line) => JSON.parse(line) as Line);
    } catch (error) {
      if ((error as { code?: string }).code === 'ENOENT') return [];
      throw error;
    }
  }

  rows<Row extends object>(sql: string): Promise<Row[]> {
    return this.pair.query<Row>(this.pair.primary, sql);
  }

  /** A request to the platform on its own host, where no cut reaches. */
  async call(method: string, path: string, body?: unknown, token?: string): Promise<unknown> {
    for (let tries = 0; ; tries += 1) {
      const id = ++this.#calls;
      const answer = await new Promise<{ status: number; body: string }>((resolve) => {
        this.#answers.set(id, resolve);
        const headers: Record<string, string> =
          token === undefined ? {} : { authorization: `Bearer ${token}` };
        this.#edge.tell({
          op: 'call',
          id,
          method,
          path,
          headers,
          body: body === undefined ? null : JSON.stringify(body),
        });
      });
      if (answer.status >= 200 && answer.status < 300)
        return answer.body === '' ? null : JSON.parse(answer.body);
      // The platform is being restarted.
      if (answer.status !== 0 || tries === 150)
        throw new Error(`${method} ${path} answered ${answer.status}`);
      await systemClock.wait(200);
    }
  }

  async churn(changes: number, company?: string): Promise<void> {
    await this.call('POST', '/_sandbox/churn', { changes, ...defined({ company }) });
  }

  /** A change of this company that every mirror of it has to read: churn may change nothing that is published. */
  async touch(company: string): Promise<void> {
    await this.call('POST', '/_sandbox/investments', { company, count: 1 });
  }

  /** Moves the clock of the platform and, in the stored state of the endpoint, that of the hosts. */
  async advance(millis: number): Promise<void> {
    await this.call('POST', '/_sandbox/clock', { advanceSeconds: Math.round(millis / 1_000) });
    await this.ageEndpoint((text) =>
      text.replace(/"(\d{4}-\d\d-\d\dT[\d:.]+Z)"/g, (_, at) => `"${earlier(at, millis)}"`),
    );
  }

  /** Returns false when another host kept the lock for too long. */
  async ageEndpoint(change: (text: string) => string): Promise<boolean> {
    try {
      return await this.#vault.withLock(entryOfEndpoint, new AbortController().signal, async () => {
        const text = await this.#vault.read(entryOfEndpoint);
        if (text === null) return false;
        for (const { value } of (JSON.parse(text) as { secrets: { value: string }[] }).secrets)
          this.knowSecret(value);
        await this.#vault.write(entryOfEndpoint, change(text));
        return true;
      });
    } catch {
      return false;
    }
  }

  /** The newest secret of the endpoint becomes so old that a rotation is due at the next check. */
  dueRotation(): Promise<boolean> {
    return this.ageEndpoint((text) => {
      const state = JSON.parse(text);
      const [newest, ...others] = state.secrets;
      const since = earlier(newest?.since ?? new Date(systemClock.now()).toISOString(), 91 * 86_400_000);
      const health = state.health && { ...state.health, checkedAt: earlier(state.health.checkedAt, 600_000) };
      return JSON.stringify({
        ...state,
        secrets: newest === undefined ? [] : [{ ...newest, since }, ...others],
        health,
      });
    });
  }

  knowSecret(secret: string): void {
    if (secret.length >= 8 && !this.secrets.includes(secret)) this.secrets.push(secret);
  }

  wire(host: Host): Directed | undefined {
    return host === 'p' ? this.#edge : this.#wires.get(host);
  }

  daemon(host: Daemon): Spawned | undefined {
    return this.#daemons.get(host);
  }

  analyst(host: Analyst): Spawned | undefined {
    return this.#analysts.get(host);
  }

  order(host: Daemon, change: Partial<Orders>): void {
    const orders = { ...(this.#orders.get(host) ?? { offsetMillis: 0, dies: null }), ...change };
    this.#orders.set(host, orders);
    const file = this.file(`orders-${host}.json`);
    writeFileSync(`${file}.new`, JSON.stringify(orders));
    renameSync(`${file}.new`, file);
  }

  /** Returns the running process of the host, if there is one. */
  startDaemon(host: Daemon): Spawned {
    const present = this.#daemons.get(host);
    if (present?.over === false) return present;
    const home = this.file(`home-${host}`);
    mkdirSync(home, { recursive: true });
    this.#lives += 1;
    writeFileSync(join(home, 'config.json'), JSON.stringify(this.#configOf(host, `${host}-${this.#lives}`)), {
      mode: 0o600,
    });
    const life = this.#rosterd(host, ['run', '--config', join(home, 'config.json')], `daemon-${host}`, {
      ...this.#env,
      ROSTERD_TORTURE_ORDERS: this.file(`orders-${host}.json`),
      ...defined({
        ROSTERD_TORTURE_LEADS: this.network.kind === 'loopback' ? this.#leadsOf(host) : undefined,
      }),
    });
    this.#daemons.set(host, life);
    return life;
  }

  startAnalyst(host: Analyst): Spawned {
    const present = this.#analysts.get(host);
    if (present?.over === false) return present;
    const life = host === 'x' ? this.#startReader() : this.#startFollower();
    this.#analysts.set(host, life);
    return life;
  }

  async startPlatform(): Promise<void> {
    const { host, port } = this.network.address('p', 'inner platform');
    const { small, seed } = this.options;
    const size = small ? ['--companies', '3', '--records', '20'] : ['--companies', '6', '--records', '60'];
    let isReady: (line: string) => void = () => {};
    const ready = new Promise<string>((resolve) => {
      isReady = resolve;
    });
    this.#platform = this.#rosterd(
      'p',
      [
        'sandbox',
        '--listen',
        `${host}:${port}`,
        '--data',
        this.file('platform.db'),
        '--seed',
        String(seed),
        ...size,
        '--limits',
        'off',
        '--allow-loopback-webhooks',
      ],
      'platform',
      {},
      (line) => isReady(line),
    );
    const failed = this.#platform.ended.then(() => {
      throw new Error('the platform ended at its start');
    });
    failed.catch(() => {});
    this.ready = JSON.parse(await Promise.race([ready, failed])) as ReadyDocument;
  }

  async killPlatform(): Promise<void> {
    this.#platform?.kill('SIGKILL');
    await this.#platform?.ended;
  }

  /** Leads new connections to the present primary. */
  leadToPrimary(): void {
    const to = this.network.address(this.pair.primary, 'database');
    for (const host of [...daemons, ...analysts])
      this.wire(host)?.tell({ op: 'to', forward: 'database', to });
    this.#apply();
  }

  /** The former connection may wait for a primary that is cut off, until that is killed: it closes by itself. */
  reconnectVault(): void {
    this.#vault?.close().catch(() => {});
    this.#vault = openVault(
      {
        database: { kind: 'postgres', url: this.pair.url(), password: null },
        vault: {
          folder: this.file('vault'),
          keys: [new Secret('vault.keys[0]', { env: 'KEY' }, { env: { KEY: this.#key }, folder: '' })],
        },
      },
      { clock: systemClock },
    );
  }

  async close(keepLogs = false): Promise<void> {
    this.#isClosing = true;
    await this.#vault?.close().catch(() => {});
    const running = [
      ...this.#daemons.values(),
      ...this.#analysts.values(),
      ...this.#wires.values(),
      this.#edge,
      this.#platform,
    ];
    for (const one of running) {
      one?.kill('SIGCONT');
      one?.kill('SIGKILL');
    }
    await Promise.all(running.map((one) => one?.ended));
    await this.pair?.close();
    await this.network?.close();
    this.#guard?.tell({ op: 'released' });
    this.#guard?.child.stdin?.end();
    await this.#guard?.ended;
    if (!keepLogs) rmSync(this.folder, { recursive: true, force: true });
    else
      for (const name of ['d1', 'd2', 'platform.db'])
        rmSync(this.file(name), { recursive: true, force: true });
  }

  async #open(): Promise<void> {
    const { options } = this;
    this.#bundle = await buildRoles(this.folder);
    this.#guard = startRole((node) => node, {
      bundle: this.#bundle,
      order: { role: 'guard' },
      log: join(this.logs, 'guard'),
    });
    this.#guard.tell({ op: 'folder', path: this.folder });
    await this.#openNetwork();
    const password = randomBytes(12).toString('hex');
    this.#key = randomBytes(32).toString('hex');
    const [pair] = await Promise.all([
      DatabasePair.start({
        network: this.network,
        folder: this.folder,
        password,
        synchronous: options.synchronous,
        onProcess: (pid) => this.#guard.tell(guarded(pid)),
        log: (host, text) => appendFileSync(join(this.logs, `postgres-${host}`), text),
      }),
      this.#openEdge().then(() => this.startPlatform()),
    ]);
    this.pair = pair;
    await this.#migrate();
    this.reconnectVault();
    const app = this.ready.apps[0];
    const person = this.ready.users[0];
    if (app === undefined || person === undefined) throw new Error('an empty sandbox');
    const noticeSecret = randomBytes(24).toString('hex');
    this.#env = {
      DATABASE_PASSWORD: password,
      VAULT_KEY: this.#key,
      NOTICE_SECRET: noticeSecret,
      CLIENT_SECRET: app.clientSecret,
      LIVE_CLIENT_SECRET: app.live.clientSecret,
      ...Object.fromEntries(this.ready.companies.map(({ token }, n) => [`TOKEN_${n}`, token])),
    };
    for (const secret of Object.values(this.#env)) this.knowSecret(secret);
    for (const secret of [person.token, person.liveToken, person.refreshToken, person.liveRefreshToken])
      this.knowSecret(secret);
    const signIn = (name: string, clientId: string, accessToken: string, refreshToken: string) =>
      vaultCredentials(this.#vault, `sign-in/${name}`).write({
        ...{ clientId, clientSecret: null, accessToken, refreshToken, previousRefreshToken: null },
        ...{ expiresAt: null, scope: '' },
      });
    for (const [index, company] of this.ready.companies.entries()) {
      const founder = this.ready.users.find(({ id }) => id === company.founder);
      if (founder === undefined || !this.isSignedIn(index)) continue;
      for (const secret of [founder.token, founder.refreshToken]) this.knowSecret(secret);
      await signIn(`crm-${index}`, app.clientId, founder.token, founder.refreshToken);
    }
    await signIn('management', app.live.clientId, person.liveToken, person.liveRefreshToken);
    await Promise.all([...daemons, ...analysts].map((host) => this.#openWire(host)));
    for (const host of daemons) {
      this.order(host, {});
      this.startDaemon(host);
    }
  }

  async #openNetwork(): Promise<void> {
    if (this.missing === null && this.options.namespaces) {
      const network = await openNamespaces();
      for (const name of network.names) this.#guard.tell({ op: 'namespace', name });
      this.network = network;
    } else {
      const network = await openLoopback({
        drop: (host, forward, direction, dropped) =>
          this.wire(host)?.tell({ op: 'drop', forward, direction, dropped }),
        primary: () => this.pair.primary,
      });
      this.network = network;
      this.#apply = () => network.apply();
    }
    this.cuts = new Cuts(this.network);
  }

  async #openEdge(): Promise<void> {
    const { network, options, folder } = this;
    writeFileSync(join(folder, 'sent'), '');
    writeFileSync(join(folder, 'accepted'), '');
    writeFileSync(join(folder, 'notices'), '');
    this.#edge = startRole(
      (node) => network.on('p', node),
      {
        bundle: this.#bundle,
        log: join(this.logs, 'edge'),
        order: {
          role: 'edge',
          seed: options.seed,
          forwards: daemons.map((host) => ({
            name: host,
            from: network.address('p', `wire ${host}`),
            to: network.address(host, 'receiver'),
          })),
          platform: { from: network.address('p', 'platform'), to: network.address('p', 'inner platform') },
          sender: network.address('p', 'sender'),
          noticeReceiver: network.address('p', 'notice receiver'),
          sent: this.file('sent'),
          accepted: this.file('accepted'),
          notices: this.file('notices'),
        },
      },
      (line) => {
        const answer = line as { id: number; status: number; body: string };
        this.#answers.get(answer.id)?.(answer);
        this.#answers.delete(answer.id);
      },
    );
    this.#guardProcess(this.#edge);
    this.#needs(this.#edge, 'edge');
    await this.#edge.ready;
  }

  /** No fault ends a proxy. Without one, the others would wait for each other without end. */
  #needs({ ended }: Directed, name: string): void {
    void ended.then(() => {
      if (this.#isClosing) return;
      console.error(`the proxy ${name} ended by itself: see ${join(this.logs, name)}`);
      process.exit(1);
    });
  }

  /** An analyst with plain SQL runs its own proxy. */
  async #openWire(host: Daemon | Analyst): Promise<void> {
    if (host === 'x') return;
    const { network, options } = this;
    const forward = (name: string, to: Host, service: Service): ForwardOrder => ({
      name,
      from: network.address(host, `wire ${name}` as Service),
      to: network.address(to, service),
    });
    const database = forward('database', this.pair.primary, 'database');
    const others =
      host === 'y'
        ? []
        : [forward('platform', 'p', 'platform'), forward('notice receiver', 'p', 'notice receiver')];
    const wire = startRole((node) => network.on(host, node), {
      bundle: this.#bundle,
      log: join(this.logs, `wire-${host}`),
      order: { role: 'wire', seed: options.seed + host.charCodeAt(0), forwards: [database, ...others] },
    });
    this.#guardProcess(wire);
    this.#needs(wire, `wire-${host}`);
    this.#wires.set(host, wire);
    await wire.ready;
  }

  async #migrate(): Promise<void> {
    const database = await openPostgres(this.pair.url(), { max: 1 });
    await migratePostgres(database, { clock: systemClock, version: '0.0.0-torture' });
    await database.close();
    await installAudit(this.pair.url());
    await installNoticeAudit(this.pair.url());
  }

  #startReader(): Spawned {
    const { network, options } = this;
    const [last] = this.lines<{ seq?: number }>('read-x')
      .filter(({ seq }) => seq !== undefined)
      .slice(-1);
    const reader = startRole((node) => network.on('x', node), {
      bundle: this.#bundle,
      log: join(this.logs, 'reader-x'),
      order: {
        role: 'reader',
        seed: options.seed + 88,
        forwards: [
          {
            name: 'database',
            from: network.address('x', 'wire database'),
            to: network.address(this.pair.primary, 'database'),
          },
        ],
        url: this.#databaseUrl('x', 'analyst-x', this.#env.DATABASE_PASSWORD),
        file: this.file('read-x'),
        after: last?.seq ?? 0,
      },
    });
    this.#guardProcess(reader);
    this.#wires.set('x', reader);
    return reader;
  }

  #startFollower(): Spawned {
    const [last] = this.lines<{ seq: number }>('read-y').slice(-1);
    const url = this.#databaseUrl('y', 'analyst-y');
    return this.#rosterd(
      'y',
      ['changes', '--follow', '--json', '--since', String(last?.seq ?? 0), '--database', url],
      'analyst-y',
      { PGPASSWORD: this.#env.DATABASE_PASSWORD ?? '' },
      (line) => appendFileSync(this.file('read-y'), `${line}\n`),
    );
  }

  #databaseUrl(host: Host, name: string, password?: string): string {
    const { host: address, port } = this.network.address(host, 'wire database');
    return `postgres://postgres${password === undefined ? '' : `:${password}`}@${address}:${port}/mirror?application_name=${name}`;
  }

  #rosterd(
    host: Host,
    args: readonly string[],
    log: string,
    env: Readonly<Record<string, string>>,
    onLine?: (line: string) => void,
  ): Spawned {
    // A process namespace of its own: to the others, the process runs on another machine.
    const apart =
      this.network.kind === 'namespaces'
        ? ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
        : [];
    const life = startProcess(this.network.on(host, [...apart, process.execPath, entry, ...args]), {
      log: join(this.logs, log),
      env,
      cwd: this.folder,
      ...defined({ onLine }),
    });
    this.#guardProcess(life);
    return life;
  }

  #guardProcess({ child }: Spawned): void {
    if (child.pid !== undefined) this.#guard.tell(guarded(child.pid));
  }

  #configOf(host: Daemon, life: string): object {
    const { network, ready } = this;
    const wire = (name: 'platform' | 'notice receiver') => urlOf(network.address(host, `wire ${name}`));
    const sender = network.address('p', 'sender');
    const receiver = network.address(host, 'receiver');
    const app = ready.apps[0];
    return {
      platform: {
        // The same on every host, because a cursor is bound to it.
        baseUrl: network.kind === 'loopback' ? urlOf(network.address('p', 'platform')) : wire('platform'),
        requestsPerHour: null,
        timeouts: { connectSeconds: 2, requestSeconds: 5 },
        management: {
          credentials: {
            vault: 'management',
            clientId: app?.live.clientId,
            clientSecret: { env: 'LIVE_CLIENT_SECRET' },
          },
        },
      },
      database: this.#databaseUrl(host, life),
      databasePassword: { env: 'DATABASE_PASSWORD' },
      vault: { keys: [{ env: 'VAULT_KEY' }] },
      sources: ready.companies.map(({ id, installation }, n) => ({
        name: `c${n}`,
        company: id,
        installation,
        ...(this.isSignedIn(n)
          ? {
              credentials: {
                vault: `crm-${n}`,
                clientId: app?.clientId,
                clientSecret: { env: 'CLIENT_SECRET' },
              },
            }
          : { token: { env: `TOKEN_${n}` } }),
      })),
      // Only a start, a takeover and a webhook cause a tick, so a timer cannot hide a fault.
      sync: { intervalSeconds: 3_600 },
      receiver: {
        listen: `${receiver.host}:${receiver.port}`,
        endpoint: {
          publicUrl: `http://${sender.host}:${sender.port}/webhooks`,
          ...{ mode: 'test', events: ['investment.changed'], checkSeconds: 10, rotateDays: 90 },
        },
      },
      console: null,
      notices: [
        {
          kind: 'http',
          name: 'notice-receiver',
          url: `${wire('notice receiver')}/notices`,
          secret: { env: 'NOTICE_SECRET' },
        },
      ],
      log: { level: 'debug', format: 'json' },
    };
  }

  /** On the loopback each host has a port of its own for its proxy to the platform. */
  #leadsOf(host: Daemon): string {
    const { port } = this.network.address('p', 'platform');
    return JSON.stringify({ [port]: this.network.address(host, 'wire platform').port });
  }

  /** Every other source reads with the rotating sign-in. */
  isSignedIn(company: number): boolean {
    return company % 2 === 0;
  }
}

const earlier = (at: string, millis: number): string => new Date(Date.parse(at) - millis).toISOString();
const urlOf = ({ host, port }: Address): string => `http://${host}:${port}`;
