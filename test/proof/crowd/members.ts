import { systemClock } from '../../../src/runtime/clock.js';
import { areShared, connectedNow, startThree } from './connect-all.js';
import type { Crowd } from './crowd.js';
import { count, say, seconds } from './report.js';

/** A daemon is killed, and another one joins. */
export async function comeAndGo(crowd: Crowd): Promise<void> {
  const sources = await connectedNow(crowd);
  await crowd.kill(0);
  const taken = await crowd.until('the others take over', async () =>
    areShared(await crowd.shares(), 2, sources),
  );
  say(`a daemon killed: the others hold ${(await crowd.shares()).join(', ')} after ${seconds(taken)}`);
  await crowd.startHost(0, false);
  const joined = await crowd.until('the new one has its share', async () =>
    areShared(await crowd.shares(), 3, sources),
  );
  say(`a daemon joins: shares ${(await crowd.shares()).join(', ')} after ${seconds(joined)} from its start`);
}

/** The time after which requests at the start are no longer counted as such. */
const startMillis = 30_000;

/** All daemons stop and start again: how long until they are ready, and what they ask the platform. */
export async function startAgain(crowd: Crowd): Promise<void> {
  const sources = await connectedNow(crowd);
  await crowd.stopHosts();
  await crowd.counted.settled();
  crowd.counted.restart();
  const begun = systemClock.monotonic();
  await startThree(crowd, true);
  const ready = await Promise.all([0, 1, 2].map((no) => untilReady(crowd, no)));
  say(`a start with ${count(sources)} sources: ready after ${ready.map(seconds).join(', ')}`);
  await crowd.until('the sources are shared', async () => areShared(await crowd.shares(), 3, sources));
  say(`  sources shared after ${seconds(systemClock.monotonic() - begun)}`);
  await systemClock.wait(Math.max(0, begun + startMillis - systemClock.monotonic()));
  await crowd.counted.settled();
  say(`  requests in the first ${seconds(startMillis)}: ${crowd.counted.all} (${crowd.counted.byKind})`);
  say(`  ${crowd.memory()}`);
}

/** Resolves when `/readyz` of a host answers 200. Returns the milliseconds since its start. */
async function untilReady(crowd: Crowd, no: number): Promise<number> {
  const host = crowd.hosts[no];
  if (host === undefined) throw new Error(`there is no host ${no}`);
  await crowd.until(`host ${no} is ready`, async () => {
    const answer = await fetch(`${host.console}/readyz`).catch(() => null);
    await answer?.arrayBuffer();
    return answer?.ok === true;
  });
  return systemClock.monotonic() - host.startedAt;
}
