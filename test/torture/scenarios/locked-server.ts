import pg from 'pg';
import { type Random, randomText, systemRandom } from '../../../src/runtime/random.js';
import type { Counters } from '../counters.js';
import { deliver, hasRow } from '../deliver.js';
import { judgeAtRest } from '../judge.js';
import type { Life } from '../life.js';
import type { Place } from '../place.js';
import { pick, type Scenario } from '../scenario.js';
import { Violation } from '../violation.js';
import { besideDaemon } from './beside-daemon.js';

interface Hold {
  readonly name: string;
  /** The statements of a foreign session, whose transaction stays open. */
  readonly statements: readonly string[];
  /** The status of a delivery meanwhile. */
  readonly answer: 202 | 503;
  /** Whether the mirror follows the platform meanwhile. */
  readonly follows: boolean;
}

const holds: readonly Hold[] = [
  {
    name: 'an exclusive lock on the inbox',
    statements: ['LOCK TABLE rosterd_identity.webhook_inbox IN ACCESS EXCLUSIVE MODE'],
    answer: 503,
    follows: false,
  },
  {
    name: 'a lock on the row of the source',
    statements: ['SELECT 1 FROM sources FOR UPDATE'],
    answer: 202,
    follows: false,
  },
  {
    name: 'an exclusive lock on the rows',
    statements: ['LOCK TABLE investment_rows IN ACCESS EXCLUSIVE MODE'],
    answer: 202,
    follows: false,
  },
  {
    name: 'a lock on the counter of changes',
    statements: ['SELECT 1 FROM feed_counter FOR UPDATE'],
    answer: 202,
    follows: false,
  },
  {
    name: 'a long reading transaction',
    statements: [
      'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ',
      'SELECT count(*) FROM investments',
      'SELECT count(*) FROM roster',
    ],
    answer: 202,
    follows: true,
  },
];

/** A foreign session holds a lock on a server, or reads for long. */
export const lockedServer: Scenario = besideDaemon('locked', round);

async function round(place: Place, daemon: Life, random: Random, counters: Counters): Promise<void> {
  const { name, statements, answer, follows } = pick(random, holds);
  const client = new pg.Client({ connectionString: place.storage.setting });
  await client.connect();
  const eventId = `evt_${randomText(systemRandom, 22)}`;
  try {
    await client.query('BEGIN');
    for (const statement of statements) await client.query(statement);
    await place.churn(3);
    const status = await delivered(place, eventId, answer);
    if (status !== answer) throw new Violation(`under ${name} a delivery is answered ${status}`);
    if (follows) await judgeAtRest(place);
  } finally {
    await client.end();
  }
  if ((await hasRow(place, eventId)) !== (answer === 202))
    throw new Violation(`under ${name} a delivery was answered ${answer}, and its row says otherwise`);
  counters.add(`${answer} under ${name}`);
  await place.churn(1);
  await judgeAtRest(place);
  if (daemon.over) throw new Violation(`the daemon ended under ${name}: ${daemon.printed()}`);
}

/** A machine too busy to answer in time may refuse now and then, as the platform would see; a lock refuses always. */
async function delivered(place: Place, eventId: string, wanted: number): Promise<number | null> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await deliver(place, eventId);
    if (answer === wanted || wanted === 503 || attempt === 20) return answer;
  }
}
