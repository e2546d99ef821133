import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.js';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { migratedDatabase } from '../postgres/fresh-database.js';
import { configFor, control, freshFolder, partsFor, sandboxFor } from './daemon-fixture.js';

const patient = { interval: 25 };

/** A proxy to the database that can be cut: it resets connections and refuses new ones, like a stopped server. */
async function cuttableWayTo(url: string) {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const open = async (at: number): Promise<Server> => {
    const server = createServer((near) => {
      const far = connect(Number(port || 5432), hostname);
      for (const socket of [near, far]) {
        sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => {
          sockets.delete(socket);
          near.destroy();
          far.destroy();
        });
      }
      near.pipe(far).pipe(near);
    });
    server.listen(at, '127.0.0.1');
    await once(server, 'listening');
    return server;
  };
  let server = await open(0);
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  const own = (server.address() as AddressInfo).port;
  through.port = String(own);
  const cut = async () => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.resetAndDestroy();
    await closed;
  };
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    url: through.href,
    cut,
    mend: async () => {
      server = await open(own);
    },
  };
}

/** A clock on which short waits take real time, and waits longer than the probe's never end unless interrupted. */
const impatient: Clock = {
  now: systemClock.now,
  monotonic: systemClock.monotonic,
  wait: (millis, signal) => systemClock.wait(millis <= 1_000 ? millis : 86_400_000, signal),
};

test('ticks, heartbeats and events resume as soon as PostgreSQL answers again, without waiting for a timer', {
  timeout: 480_000,
}, async () => {
  const [sandbox, database] = await Promise.all([
    sandboxFor({ companies: 2, records: 10, limits: false }),
    migratedDatabase(),
  ]);
  onTestFinished(() => database.drop());
  const way = await cuttableWayTo(database.url);
  const config = configFor(sandbox, { folder: freshFolder(), database: way.url });
  const daemon = await startDaemon({ ...partsFor(config), clock: impatient });
  onTestFinished(() => daemon.close());
  const { sync, health } = daemon.engine;
  const ended: string[] = [];
  sync.onTick((source, { report }) => void ended.push(`${source} ${report.outcome}`));
  await sync.idle();
  const problems = () =>
    health
      .list()
      .map(({ key }) => key)
      .sort();
  expect(problems()).toEqual([]);

  // No tick runs while the database is away: the end of the fleet connection is enough to notice.
  for (let outage = 0; outage < 2; outage += 1) {
    ended.length = 0;
    await way.cut();
    if (outage === 1) {
      // Failed ticks back off: by now each source would wait longer than this clock ever does.
      for (const source of ['c0', 'c1']) {
        const [{ name } = { name: source as never }] = config.sources.filter((one) => one.name === source);
        await sync.tick(name);
        await sync.tick(name);
      }
      expect(problems()).toEqual(expect.arrayContaining(['tick.c0', 'tick.c1']));
      expect((await fetch(`${daemon.consoleUrl}/healthz`)).status).toBe(503);
      expect(await (await fetch(`${daemon.consoleUrl}/metrics`)).text()).toContain(
        'rosterd_mirror_readable 0\n',
      );
    }
    await control(sandbox, 'POST', '/churn', { changes: 3 });
    await way.mend();
    await expect.poll(() => new Set(ended.filter((one) => one.endsWith('done'))).size, patient).toBe(2);
    await expect.poll(problems, patient).toEqual([]);
    await expect.poll(async () => (await fetch(`${daemon.consoleUrl}/readyz`)).status, patient).toBe(200);
  }
});
