import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { systemClock } from '../../../src/runtime/clock.js';
import type { Random } from '../../../src/runtime/random.js';
import { fakeIo, rosterd } from '../../cli/fake-io.js';
import { damageByPgAmcheck } from '../../judges/pg-amcheck.js';
import { damageOf } from '../../postgres/amcheck.js';
import { urlOf, withClient } from '../../postgres/run-databases.js';
import { type PostgresServer, startPostgres } from '../../postgres/server.js';
import type { Counters } from '../counters.js';
import { endOf, saysItPlainly } from '../deadline.js';
import { differences, held, truth } from '../judge.js';
import { openLocation, type Place } from '../place.js';
import { between, pick, roundsIn, type Scenario } from '../scenario.js';
import { Violation } from '../violation.js';

/**
 * Changes bytes in the server's file of a table or index while no process has it in memory: a command must report it, and
 * none may serve it silently. `amcheck` of PostgreSQL says what it finds, as an outside judge, and `pg_amcheck` where it is
 * installed.
 */
export const damagedServer: Scenario = {
  name: 'damaged-file',
  async open(setting) {
    const server = await startPostgres();
    const place = await openLocation({ ...setting, server: server.url, records: 60 });
    const { code } = await endOf(place.rosterd(['sync']));
    if (code !== 0) throw new Error('no mirror to damage');
    const name = new URL(place.storage.setting).pathname.slice(1);
    await withClient(server.url, (client) => client.query(`ALTER DATABASE "${name}" RENAME TO whole`));
    const { round } = roundsIn(place, (random, counters) => play(place, { server, name }, random, counters));
    return {
      round,
      async close() {
        await place.close();
        await server.close();
      },
    };
  },
};

const pageSize = 8192;

type Damage = (bytes: Buffer, random: Random) => Buffer;

const damages: Readonly<Record<string, Damage>> = {
  'flipped bytes': (bytes, random) => {
    for (let left = between(random, 1, 40); left > 0; left -= 1) {
      const at = between(random, 0, bytes.length - 1);
      bytes[at] = (bytes[at] ?? 0) ^ between(random, 1, 255);
    }
    return bytes;
  },
  'cut off': (bytes, random) => bytes.subarray(0, between(random, 0, bytes.length - 1)),
  // A page of zeros is valid in a table: it is one without rows.
  'a page of zeros': (bytes, random) => {
    const page = pageSize * between(random, 0, Math.max(0, bytes.length / pageSize - 1));
    return bytes.fill(0, page, page + pageSize);
  },
  'a page of another relation': (bytes, random) => {
    const page = pageSize * between(random, 0, Math.max(0, bytes.length / pageSize - 1));
    return bytes.fill(between(random, 1, 255), page, page + pageSize);
  },
};

interface Victim {
  readonly server: PostgresServer;
  readonly name: string;
}

interface Relation {
  readonly name: string;
  readonly path: string;
}

async function play(
  place: Place,
  { server, name }: Victim,
  random: Random,
  counters: Counters,
): Promise<void> {
  const [kind, damage] = pick(random, Object.entries(damages));
  // A copy of its files: its pages are not in the server's memory yet.
  await withClient(server.url, async (client) => {
    await client.query(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`);
    await client.query(`CREATE DATABASE "${name}" TEMPLATE whole STRATEGY file_copy`);
  });
  const { rows: relations } = await withClient(urlOf(server.url, name), (client) =>
    client.query<Relation>(
      `SELECT c.oid::regclass::text AS name, pg_relation_filepath(c.oid) AS path FROM pg_class c
       WHERE c.relkind IN ('r', 'i') AND c.oid >= 16384 AND pg_relation_size(c.oid) > 0 ORDER BY 1`,
    ),
  );
  const relation = pick(random, relations);
  const file = join(dirname(server.data), 'data', relation.path);
  writeFileSync(file, damage(readFileSync(file), random));

  const [company] = place.sandbox.ready.companies;
  const run = async (...command: string[]) => {
    const env = { TOKEN: company?.token, HOOK: place.hook.secret };
    const { code, out, err } = await rosterd(command, fakeIo({ cwd: place.folder, env, clock: systemClock }));
    try {
      saysItPlainly(out + err);
    } catch {
      throw new Violation(
        `${kind} in ${relation.name}: ${command.join(' ')} ends with ${code}: ${out}${err}`,
      );
    }
    return { code, told: out + err };
  };
  const doctor = await run('doctor');
  await run('status');
  const found = await outsideJudge(place.storage.setting);
  counters.add(`amcheck ${found === null ? 'finds nothing' : 'finds it'}`);
  const { pgAmcheck } = place.programs;
  if (pgAmcheck !== null) {
    const also = await damageByPgAmcheck(pgAmcheck, place.storage.setting);
    counters.add(`pg_amcheck ${also === null ? 'finds nothing' : 'finds it'}`);
    if ((also === null) !== (found === null))
      counters.add(`only one of the two finds: ${also ?? found} (${kind} in ${relation.name})`);
  }
  if (doctor.code !== 0 && /^fail {2}database\./m.test(doctor.told))
    return counters.add(`${kind}: doctor names it`);
  const verify = await run('verify', '--full');
  if (verify.code !== 0) return counters.add(`${kind}: verify names it`);
  const sync = await run('sync');
  if (sync.code !== 0) return counters.add(`${kind}: sync refuses`);
  const [wanted, mirror] = [await truth(place), await place.look(held)];
  const wrong = differences(wanted, mirror);
  if (wrong.length > 0)
    throw new Violation(
      `${kind} in ${relation.name}: ${wrong.length} wrong records and no command reports it: ${wrong[0]}`,
    );
  counters.add(`${kind}: nothing of the truth was hit${found === null ? '' : ', and only amcheck finds it'}`);
}

async function outsideJudge(url: string): Promise<string | null> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return await damageOf(client);
  } finally {
    await client.end();
  }
}
