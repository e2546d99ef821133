import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { writeCredentials } from '../../src/client/tokens/credentials-file.js';
import type { Config } from '../../src/config/config.js';
import { sqliteFileOf } from '../../src/config/database.js';
import type { LoadedConfig } from '../../src/config/document.js';
import { type Daemon, startDaemon } from '../../src/daemon/daemon.js';
import { type EndpointState, unknownEndpoint } from '../../src/endpoint/state.js';
import type { Logger } from '../../src/runtime/logger.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { seededRandom } from '../../src/runtime/random.js';
import { folder, load } from '../config/load-config.js';
import {
  company,
  type RunningPlatform,
  startPlatform,
  user,
  worldStart,
} from '../conformance/running-platform.js';
import { bodyOf } from '../support/body-of.js';
import { type ManualClock, manualClock } from '../support/manual-clock.js';
import { answeredRequests } from './answered-requests.js';

/** A proxy between the platform and the receiver, which can be down. */
export interface Gate {
  readonly url: string;
  readonly answers: number[];
  target: string | null;
  down: boolean;
}

export interface Town {
  readonly clock: ManualClock;
  readonly world: RunningPlatform;
  readonly gate: Gate;
  readonly config: LoadedConfig;
  readonly folder: string;
  /** Starts a daemon; with `events`, one that is configured to subscribe to these. */
  daemon(logger?: Logger, events?: readonly string[]): Promise<Daemon>;
  /** Advances time and requests until the condition holds; throws when it never does. */
  until(what: string, so: () => boolean | Promise<boolean>): Promise<void>;
  /** Returns the number of requests of one kind that the platform has answered, such as `POST /reenable`. */
  asked(method: string, ending: string): Promise<number>;
  mirrored(): Promise<string>;
  read<Row>(sql: string): readonly Row[];
  /** Returns the daemon's stored state of its endpoint; empty before the file exists. */
  endpoint(): EndpointState;
  published(): Promise<string>;
}

/** A platform and the parts of a daemon, under one clock that only the test moves. */
export async function startTown(
  endpoint: Record<string, unknown> = {},
  more: Record<string, unknown> = {},
): Promise<Town> {
  const clock = manualClock(worldStart);
  const world = await startPlatform({ clock, limits: false });
  onTestFinished(() => world.close());
  const gate = await openGate();
  const home = folder();
  const [app] = world.ready.apps;
  const credentials = join(home, 'management.json');
  await writeCredentials(credentials, {
    clientId: app?.live.clientId ?? '',
    clientSecret: null,
    accessToken: user(world).liveToken,
    refreshToken: user(world).liveRefreshToken,
    previousRefreshToken: null,
    expiresAt: null,
    scope: 'write:webhooks',
  });
  const config = load(
    {
      platform: {
        baseUrl: world.url,
        management: {
          credentials: {
            file: 'management.json',
            clientId: app?.live.clientId,
            clientSecret: { env: 'LIVE_SECRET' },
          },
        },
      },
      sources: world.ready.companies.map(({ id, token, installation }, index) => ({
        name: `company-${index}`,
        token,
        installation,
        company: id,
      })),
      // Polling is so rare that changes reach the mirror only through webhooks.
      sync: { intervalSeconds: 86_400 },
      receiver: {
        listen: '127.0.0.1:0',
        endpoint: { publicUrl: gate.url, mode: 'test', checkSeconds: 10, rotateDays: null, ...endpoint },
      },
      console: null,
      ...more,
    },
    { cwd: home, env: { LIVE_SECRET: app?.live.clientSecret } },
  );
  const requests = answeredRequests(world);
  const town: Town = {
    clock,
    world,
    gate,
    config,
    folder: home,
    async daemon(logger = silentLogger, events) {
      const daemon = await startDaemon({
        config: events === undefined ? config.config : subscribedTo(config.config, events),
        clock,
        random: seededRandom(1),
        logger,
      });
      onTestFinished(() => daemon.close());
      gate.target = daemon.receiverUrl;
      return daemon;
    },
    async until(what, so) {
      for (let turns = 0; turns < 2_000; turns += 1) {
        if (await so()) return;
        clock.advance(250);
        await pause(2);
      }
      throw new Error(`it never came to this: ${what}`);
    },
    async asked(method, ending) {
      return (await requests()).filter(
        (one) => one.method === method && one.path.endsWith(ending) && one.status < 300,
      ).length;
    },
    async mirrored() {
      return lines(town.read<Row>('SELECT id, status, committed_cents FROM investments'));
    },
    read<Found>(sql: string) {
      const mirror = new Database(sqliteFileOf(config.config.database), { readonly: true });
      try {
        return mirror.prepare<[], Found>(sql).all();
      } finally {
        mirror.close();
      }
    },
    endpoint: () => {
      const file = join(home, 'credentials/endpoint.json');
      return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : unknownEndpoint;
    },
    async published() {
      const rows: Row[] = [];
      for (const index of world.ready.companies.keys()) rows.push(...(await publishedOf(world, index)));
      return lines(rows);
    },
  };
  return town;
}

function subscribedTo(config: Config, events: readonly string[]): Config {
  const { receiver } = config;
  if (receiver?.endpoint == null) throw new Error('the configuration has no endpoint');
  return { ...config, receiver: { ...receiver, endpoint: { ...receiver.endpoint, events } } };
}

interface Row {
  readonly id: string;
  readonly status: string;
  readonly committed_cents: number;
}

const lines = (rows: readonly Row[]): string =>
  rows
    .map(({ id, status, committed_cents }) => `${id} ${status} ${committed_cents}`)
    .sort()
    .join('\n');

/** The test world has only a few records per company. */
async function publishedOf(world: RunningPlatform, index: number): Promise<Row[]> {
  const { id, token } = company(world, index);
  const { body } = await world.get(`/investments?company_id=${id}&per_page=100`, { token });
  if (body.meta.has_more === true) throw new Error('the world has grown beyond a page');
  return body.data
    .map((item: { id: string; attributes?: Record<string, never> }) => ({ ...item, ...item.attributes }))
    .map((item: { id: string; status: string; amounts: { committed_cents: number } }) => ({
      id: item.id,
      status: item.status,
      committed_cents: item.amounts.committed_cents,
    }));
}

async function openGate(): Promise<Gate> {
  const gate: { -readonly [Key in keyof Gate]: Gate[Key] } = {
    url: '',
    answers: [],
    target: null,
    down: false,
  };
  const server: Server = createServer(async (request, response) => {
    const body = await bodyOf(request);
    if (body === null) return;
    const status =
      gate.down || gate.target === null
        ? 503
        : await fetch(gate.target, {
            method: 'POST',
            headers: {
              'content-type': 'application/json',
              'service-signature': String(request.headers['service-signature']),
            },
            body,
          }).then(
            (answer) => answer.status,
            // The daemon has just stopped.
            () => 502,
          );
    gate.answers.push(status);
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  gate.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
  return gate;
}
