import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { packageRoot } from '../../../src/runtime/package-root.js';
import { randomText, systemRandom } from '../../../src/runtime/random.js';
import type { Counters } from '../counters.js';
import { deliver, hasRow } from '../deliver.js';
import { judgeAtRest } from '../judge.js';
import type { Life } from '../life.js';
import type { Place } from '../place.js';
import type { Scenario } from '../scenario.js';
import { Violation } from '../violation.js';
import { besideDaemon } from './beside-daemon.js';

/**
 * Another program locks the database: a reader that does not end, or a writer that was frozen while it had the
 * lock.
 */
export const locked: Scenario = besideDaemon('locked', (place, daemon, random, counters) =>
  random.fraction() < 0.7 ? stoppedWriter(place, daemon, counters) : longReader(place, counters),
);

const freshEvent = () => `evt_${randomText(systemRandom, 22)}`;

async function stoppedWriter(place: Place, daemon: Life, counters: Counters): Promise<void> {
  const holder = await hold(place, 'BEGIN IMMEDIATE');
  const eventId = freshEvent();
  try {
    const taken = await delivered(place, eventId);
    if (taken !== 202) throw new Violation(`while another process has the lock, the answer is ${taken}`);
    counters.add('202 under a stopped writer');
    await place.churn(3);
  } finally {
    holder.kill('SIGKILL');
    await once(holder, 'close');
  }
  await judgeAtRest(place);
  if (!(await hasRow(place, eventId)))
    throw new Violation('what was accepted under the lock is not in the inbox');
  if (daemon.over) throw new Violation(`the daemon ended: ${daemon.printed()}`);
}

async function longReader(place: Place, counters: Counters): Promise<void> {
  const holder = await hold(place, 'BEGIN; SELECT count(*) FROM investments');
  try {
    const eventId = freshEvent();
    await place.churn(10);
    const taken = await delivered(place, eventId);
    if (taken !== 202 || !(await hasRow(place, eventId)))
      throw new Violation(`beside a reader the answer is ${taken}`);
    await judgeAtRest(place);
    counters.add('202 and at rest beside a reader');
  } finally {
    holder.kill('SIGKILL');
    await once(holder, 'close');
  }
}

/**
 * A machine too busy to answer in time may refuse now and then, as the platform would see.
 */
async function delivered(place: Place, eventId: string): Promise<number | null> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await deliver(place, eventId);
    if (answer !== 503 || attempt === 20) return answer;
  }
}

/** Starts a process that has the database open after this statement. */
async function hold({ folder }: Place, sql: string): Promise<ChildProcess> {
  const file = join(folder, 'mirror.db');
  const script = `const db = new (require('better-sqlite3'))(${JSON.stringify(file)});
    for (const one of ${JSON.stringify(sql.split('; '))}) { const s = db.prepare(one); s.reader ? s.all() : s.run(); }
    process.stdout.write('held'); setInterval(() => {}, 1e6);`;
  const child = spawn(process.execPath, ['-e', script], {
    cwd: packageRoot,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const end = () => void child.kill('SIGKILL');
  process.once('exit', end);
  child.once('close', () => process.off('exit', end));
  await once(child.stdout, 'data');
  return child;
}
