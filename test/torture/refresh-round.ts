import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createClient } from '../../src/client/create-client.js';
import { openConnectionPool } from '../../src/client/fetch/connection-pool.js';
import { refreshingToken } from '../../src/client/tokens/refreshing-token.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { systemRandom } from '../../src/runtime/random.js';
import { headerNames } from '../../src/wire/headers.js';
import { latestVersion } from '../../src/wire/versions.js';
import { makeClient, type TestClient, tokensFor } from '../conformance/credentials.js';
import { type RunningPlatform, startPlatform, user } from '../conformance/running-platform.js';
import { compiledScript } from '../support/compiled-script.js';
import { refreshOnce } from './refresh-once.js';
import { openStore, type SignInPlace } from './refresh-store.js';
import { postgresStorage } from './storage/postgres-storage.js';

/*
 * A process refreshes against the real platform and is killed at one step, while the network injects one fault.
 * Then this process, which also plays the rounds without a kill, continues from what is stored: it must read, and
 * refresh once more, without a person.
 */

/** Those of a file; a write to the vault is one step. */
export const steps = ['ask', 'write', 'sync', 'rename', 'syncFolder', 'use'] as const;
export const stepsOfVault = ['ask', 'write', 'use'] as const;
/**
 * The fate of the token endpoint's first response; a request that arrived twice has two responses, and one comes
 * back.
 */
export const wires = ['prompt', 'lost', 'late', 'doubled: first', 'doubled: second'] as const;

export interface Round {
  readonly step: (typeof steps)[number] | 'never';
  readonly when: 'before' | 'after';
  readonly wire: (typeof wires)[number];
}

export interface Torture {
  /** Resolves when the sign-in survived; throws otherwise. */
  round(round: Round): Promise<void>;
  close(): Promise<void>;
}

const script = fileURLToPath(new URL('./refreshing-process.ts', import.meta.url));
const lateMillis = 150;

/** With a server, sign-ins are entries of the vault there. */
export async function startTorture(server: string | null = null): Promise<Torture> {
  const storage = server === null ? null : await postgresStorage(server);
  const world = await startPlatform({ clock: systemClock, limits: false });
  const client = makeClient(world, {
    scopes: ['read:installations', 'read:investments'],
    confidential: false,
  });
  return {
    round: async (round) => {
      const folder = await mkdtemp(join(tmpdir(), 'rosterd-torture-'));
      const place: SignInPlace =
        storage === null
          ? { kind: 'file', path: join(folder, 'credentials.json') }
          : {
              kind: 'vault',
              url: storage.setting,
              encryptionKey: randomBytes(32).toString('base64'),
              entry: `sign-in/${randomBytes(5).toString('hex')}`,
            };
      try {
        await runRound(world, client, round, place);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    close: async () => {
      await world.close();
      await storage?.close();
    },
  };
}

async function runRound(
  world: RunningPlatform,
  client: TestClient,
  round: Round,
  place: SignInPlace,
): Promise<void> {
  const proxy = await openProxy(world.url, round.wire);
  try {
    const tokens = await tokensFor(world, client, user(world).email, { scope: 'read:installations' });
    const { store, close } = await openStore(place);
    await store.write({
      clientId: client.clientId,
      clientSecret: null,
      accessToken: tokens.access_token,
      refreshToken: tokens.refresh_token,
      previousRefreshToken: null,
      expiresAt: null,
      scope: tokens.scope,
    });
    await close();
    if (round.step === 'never') await refreshOnce(proxy.url, place, (_, work) => work());
    else await refreshAndDie(proxy.url, place, round);
    await goOn(world, place);
  } finally {
    await proxy.close();
  }
}

async function refreshAndDie(baseUrl: string, place: SignInPlace, { step, when }: Round): Promise<void> {
  const args = [await compiledScript(script), baseUrl, JSON.stringify(place), step, when];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let complaint = '';
  child.stderr.on('data', (chunk) => {
    complaint += String(chunk);
  });
  const [, signal] = await once(child, 'exit');
  if (signal !== 'SIGKILL') throw new Error(`ended by ${signal ?? 'itself'}: ${complaint}`);
}

/** Does what the next start of the daemon does, and its next refresh. */
async function goOn(world: RunningPlatform, place: SignInPlace): Promise<void> {
  const pool = openConnectionPool();
  const { store, close } = await openStore(place);
  try {
    const client = createClient({
      baseUrl: world.url,
      version: latestVersion,
      names: headerNames(),
      wire: pool.fetch,
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      budgets: { load: async () => null, save: async () => {} },
      requestsPerHour: null,
    });
    const tokens = refreshingToken({
      store,
      application: client.asApplication,
      clock: systemClock,
      logger: silentLogger,
    });
    const { signal } = new AbortController();
    for (let turn = 0; turn < 2; turn += 1) {
      await client.as(tokens)({ path: '/installations', signal });
      await tokens.renew((await store.read()).accessToken, signal);
    }
    await client.as(tokens)({ path: '/installations', signal });
  } finally {
    await close();
    await pool.close();
  }
}

interface Proxy {
  readonly url: string;
  close(): Promise<void>;
}

/** Injects its fault into the first refresh and forwards faithfully afterwards. */
async function openProxy(target: string, wire: Round['wire']): Promise<Proxy> {
  let tricked = wire === 'prompt';
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const forward = async () => {
      const answer = await fetch(new URL(request.url ?? '/', target), {
        method: request.method ?? 'GET',
        headers: Object.fromEntries(
          ['authorization', 'content-type', 'service-version'].flatMap((name) => {
            const value = request.headers[name];
            return typeof value === 'string' ? [[name, value]] : [];
          }),
        ),
        ...(body.length === 0 ? {} : { body }),
      });
      return { status: answer.status, text: await answer.text() };
    };
    let answer = await forward();
    if (!tricked && request.url === '/oauth/token') {
      tricked = true;
      if (wire === 'lost') return void response.destroy();
      if (wire === 'late') await systemClock.wait(lateMillis);
      if (wire === 'doubled: first') await forward();
      if (wire === 'doubled: second') answer = await forward();
    }
    // The other end may already be dead.
    response.on('error', () => {});
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
