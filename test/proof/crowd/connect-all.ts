import { systemClock } from '../../../src/runtime/clock.js';
import { type Crowd, newcomerId } from './crowd.js';
import { count, say, seconds } from './report.js';

export async function connectedNow(crowd: Crowd): Promise<number> {
  const sql = "SELECT count(*)::int AS n FROM followed_sources WHERE state = 'connected'";
  const [row] = await crowd.query<{ n: number }>(sql);
  return row?.n ?? 0;
}

export async function listedNow(crowd: Crowd): Promise<number> {
  const sql = "SELECT count(*)::int AS n FROM sources WHERE state = 'following'";
  const [row] = await crowd.query<{ n: number }>(sql);
  return row?.n ?? 0;
}

/** Whether so many members hold so many sources, as evenly as possible. */
export function areShared(shares: readonly number[], members: number, sources: number): boolean {
  const held = shares.reduce((sum, one) => sum + one, 0);
  return shares.length === members && held === sources && Math.max(...shares) - Math.min(...shares) <= 1;
}

export async function startThree(crowd: Crowd, limits: boolean): Promise<void> {
  for (const no of [0, 1, 2]) await crowd.startHost(no, limits);
}

/** The newcomer installs the application later. */
export async function revokeNewcomer(crowd: Crowd): Promise<void> {
  const newcomer = crowd.sandbox.ready.companies.find(({ id }) => id === newcomerId);
  await crowd.sandbox.control('/installations/revoke', { ids: [newcomer?.installation] });
}

/** Every installation becomes a source and is listed, without limits. */
export async function connectAll(crowd: Crowd): Promise<void> {
  const { companies } = crowd.options;
  await revokeNewcomer(crowd);
  const begun = systemClock.monotonic();
  const sinceBegin = () => systemClock.monotonic() - begun;
  await startThree(crowd, false);
  let told = 0;
  await crowd.until('every installation is a source', async () => {
    const connected = await connectedNow(crowd).catch(() => 0);
    if (sinceBegin() > (told + 1) * 30_000) {
      told += 1;
      const listed = await listedNow(crowd);
      say(`  after ${seconds(sinceBegin())}: ${connected} connected, ${listed} listed; ${processors(crowd)}`);
    }
    return connected >= companies;
  });
  say(`${count(companies)} installations are sources after ${seconds(sinceBegin())}; ${processors(crowd)}`);
  await crowd.until('every source is listed', async () => (await listedNow(crowd)) >= companies);
  say(`all are listed after ${seconds(sinceBegin())}; ${processors(crowd)}`);
  await crowd.until('the sources are shared', async () => areShared(await crowd.shares(), 3, companies));
  say(`shares ${(await crowd.shares()).join(', ')} after ${seconds(sinceBegin())}`);
  say(`requests ${count(crowd.counted.all)}: ${crowd.counted.byKind}`);
  say(crowd.memory());
}

export function processors(crowd: Crowd): string {
  return `processor time of the daemons ${crowd
    .processorSeconds()
    .map((one) => `${one.toFixed(0)} s`)
    .join(', ')}`;
}
