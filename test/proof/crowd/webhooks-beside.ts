import { systemClock } from '../../../src/runtime/clock.js';
import { seededRandom } from '../../../src/runtime/random.js';
import { type Crowd, newcomerId } from './crowd.js';
import { count, quantile, say, seconds } from './report.js';

/** Webhooks of small companies, alone and while a large newcomer is listed. */
export async function webhooksBeside(crowd: Crowd): Promise<void> {
  say(`change to row, nothing else to do: ${told(await changes(crowd, 200, () => false))}`);
  const begun = systemClock.monotonic();
  await crowd.sandbox.control('/installations', { companies: [newcomerId] });
  const connectedAt = await crowd.until('the newcomer is a source', () => isNewcomer(crowd, 'empty'));
  say(`a newcomer is a source ${seconds(connectedAt)} after its installation`);
  let isListed = false;
  const watching = crowd
    .until('the newcomer is listed', () => isNewcomer(crowd, 'following'))
    .then(() => {
      isListed = true;
    });
  const beside = await changes(crowd, 5_000, () => isListed);
  await watching;
  say(
    `its ${count(crowd.options.newcomer)} records listed after ${seconds(systemClock.monotonic() - begun)}`,
  );
  say(`  change to row meanwhile: ${told(beside)}`);
}

async function isNewcomer(crowd: Crowd, state: 'empty' | 'following'): Promise<boolean> {
  const sql = `SELECT s.state FROM followed_sources f JOIN sources s ON s.name = f.source WHERE f.target = $1 AND f.state = 'connected'`;
  const [row] = await crowd.query<{ state: string }>(sql, newcomerId);
  return row !== undefined && (state === 'empty' || row.state === state);
}

function told(millis: readonly number[]): string {
  const round = (value: number) => `${Math.round(value)} ms`;
  const [median, late, last] = [quantile(millis, 0.5), quantile(millis, 0.99), Math.max(...millis)];
  return `${millis.length} times, median ${round(median)}, p99 ${round(late)}, longest ${round(last)}`;
}

/** Changes records one after another. Returns the time from each change until it is in the mirror. */
async function changes(crowd: Crowd, most: number, isOver: () => boolean): Promise<readonly number[]> {
  const random = seededRandom(crowd.options.seed + 1);
  const small = await crowd.query<{ id: string }>(
    'SELECT id FROM investments WHERE company_id <> $1 ORDER BY id LIMIT 5000',
    newcomerId,
  );
  const taken: number[] = [];
  while (taken.length < most && !isOver()) {
    const id = small[Math.floor(random.fraction() * small.length)]?.id ?? '';
    const cents = Math.floor(random.fraction() * 1e9);
    const begun = systemClock.monotonic();
    const response = await fetch(`${crowd.sandbox.ready.control}/investments/${id}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ amounts: { committed_cents: cents } }),
    });
    if (!response.ok) throw new Error(`the change was answered with ${response.status}`);
    await crowd.until(`the change of ${id}`, async () => await hasCents(crowd, id, cents), 60_000, 5);
    taken.push(systemClock.monotonic() - begun);
  }
  return taken;
}

async function hasCents(crowd: Crowd, id: string, cents: number): Promise<boolean> {
  const sql = 'SELECT committed_cents::text AS cents FROM investments WHERE id = $1';
  const [row] = await crowd.query<{ cents: string }>(sql, id);
  return Number(row?.cents) === cents;
}
