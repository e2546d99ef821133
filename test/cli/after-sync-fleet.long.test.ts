import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { type FilledPostgres, filledPostgres, password } from './filled-postgres.js';

const patient = { interval: 100 };

/** Starts a daemon as a process of its own. */
function startDaemon(world: FilledPostgres): ChildProcess {
  const main = join(packageRoot, 'dist', 'cli', 'main.js');
  const child = spawn(process.execPath, [main, 'run', '--log-format', 'json'], {
    cwd: world.folder,
    env: { PATH: process.env.PATH, ACME: world.company.token, DB_PASSWORD: password },
    stdio: 'ignore',
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

test.skipIf(process.platform === 'win32')(
  'fleet: an after-sync hook runs once for each change, also after the leader was killed',
  async () => {
    const world = await filledPostgres(20);
    onTestFinished(() => world.close());
    const ran = join(world.folder, 'ran.jsonl');
    writeFileSync(join(world.folder, 'hook.sh'), `cat >> '${ran}'\n`);
    world.configure({
      sync: { intervalSeconds: 2 },
      receiver: null,
      console: null,
      afterSync: [{ kind: 'command', name: 'dbt', command: ['/bin/sh', 'hook.sh'], delaySeconds: 0 }],
    });
    const runs = () =>
      existsSync(ran)
        ? readFileSync(ran, 'utf8')
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line) as { first_seq: number; last_seq: number })
        : [];
    const newest = async () => Number((await world.admin('SELECT max(seq) AS seq FROM changes'))[0]?.seq);
    const living = async () => {
      const { out } = await world.run(['status', '--json']);
      const { fleet } = JSON.parse(out) as { fleet: { host: string; alive: number; leads: number }[] };
      return fleet.filter(({ alive }) => alive === 1);
    };
    const isSettled = async () => {
      const [row] = await world.admin("SELECT done_seq, body FROM after_sync_rows WHERE hook = 'dbt'");
      return row?.body === null && Number(row.done_seq) === (await newest());
    };
    /** Waits until the changes up to the newest one were reported, and checks that each was reported once. */
    const reported = async () => {
      await expect.poll(isSettled, patient).toBe(true);
      const all = runs();
      expect(all.at(-1)?.last_seq).toBe(await newest());
      for (const [at, run] of all.entries())
        if (at > 0) expect(run.first_seq).toBeGreaterThan(all[at - 1]?.last_seq ?? 0);
    };

    // The platform has records before the hook is known: they are in the mirror, and no run reports them.
    expect((await world.run(['sync'])).code).toBe(0);
    const daemons = [startDaemon(world), startDaemon(world)];
    const members = () => world.admin('SELECT 1 FROM fleet_members WHERE seen_at >= fleet_clock(8000)');
    await expect.poll(members, patient).toHaveLength(2);
    await world.control('POST', '/investments', { company: world.company.id, count: 3 });
    await expect.poll(() => runs().length, patient).toBeGreaterThan(0);
    await reported();

    const leader = (await living()).find(({ leads }) => leads === 1);
    const [killed, ...others] = daemons.filter(({ pid }) => leader?.host === `${hostname()}:${pid}`);
    expect([killed === undefined, others]).toEqual([false, []]);
    const gone = once(killed as ChildProcess, 'exit');
    killed?.kill('SIGKILL');
    await gone;
    const before = runs().length;
    await world.control('POST', '/investments', { company: world.company.id, count: 2 });
    await expect.poll(() => runs().length, patient).toBeGreaterThan(before);
    await reported();
    expect((await living()).map(({ host, leads }) => [host === leader?.host, leads])).toEqual([[false, 1]]);
  },
  240_000,
);
