import { type Random, randomText, systemRandom } from '../../../src/runtime/random.js';
import { withClient } from '../../postgres/run-databases.js';
import { startPostgres } from '../../postgres/server.js';
import { noSmallDisk, openSmallDisk, type SmallDisk } from '../../support/small-disk.js';
import type { Counters } from '../counters.js';
import { comesUp, endOf, following, saysItPlainly, stopAtRest } from '../deadline.js';
import { deliver, hasRow } from '../deliver.js';
import { judgeAtRest, judgeStopped } from '../judge.js';
import { judgeEnded } from '../judge-afresh.js';
import type { Life } from '../life.js';
import { openLocation, type Place } from '../place.js';
import { between, roundsIn, type Scenario, type Setting } from '../scenario.js';
import { smallTablespace, untilServing } from '../storage/postgres-storage.js';
import { Violation } from '../violation.js';

/** Between the page counts of the empty schema and of the full mirror. */
const pages = { low: 40, high: 190 };
const kilobyte = 1024;

/** What runs full in a round, and how there is room again. */
interface Room {
  readonly name: string;
  /** For the life that it limits. */
  readonly options: { readonly pagesMax?: number };
  /** When it runs full: before the daemon starts, while it follows, or one of both. */
  readonly when: 'early' | 'late' | 'either';
  fill(random: Random): Promise<void>;
  make(life: Life): Promise<void>;
}

interface Rooms {
  readonly place: Place;
  draw(random: Random): Room;
  /** Makes room and lets the database recover, whatever the round before left. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The disk of the mirror runs full before the daemon starts or while it follows, and has room again later. The file system
 * is a real one. Where this process may not mount, it says so: SQLite gets a maximum number of pages, and triggers raise
 * the error of a server.
 */
export const fullDisk: Scenario = {
  name: 'full-disk',
  async open(setting) {
    const { place, draw, ready, close } = await (setting.server === null
      ? roomsOfFile(setting)
      : roomsOfServer(setting));
    const { round } = roundsIn(place, async (random, counters) => {
      await ready();
      await play(place, draw(random), random, counters);
    });
    return { round, close };
  },
};

async function roomsOfFile(setting: Setting): Promise<Rooms> {
  const disk = openSmallDisk(16);
  const options = { ...setting, records: 60, perPage: 20 };
  if (disk === null) {
    process.stderr.write(`${noSmallDisk}\n`);
    const place = await openLocation(options);
    return {
      place,
      draw: (random) => ({
        name: 'pages',
        options: { pagesMax: between(random, pages.low, pages.high) },
        when: 'early',
        fill: async () => {},
        make: async (life) => void life.kill('SIGUSR2'),
      }),
      ready: async () => {},
      close: place.close,
    };
  }
  const place = await openLocation({ ...options, base: disk.folder });
  return {
    place,
    draw: () => roomOn(disk, 'the file system', [100, 2_500]),
    ready: async () => disk.makeRoom(),
    close: async () => {
      await place.close();
      disk.close();
    },
  };
}

/** The data of the database and the server's own, with its log of writes, are on a file system each. */
async function roomsOfServer(setting: Setting): Promise<Rooms> {
  const [own, data] = [openSmallDisk(256), openSmallDisk(128)];
  if (own === null || data === null) return roomsOfTriggers(setting);
  const server = await startPostgres({
    base: own.folder,
    settings: ['wal_recycle=off', 'wal_init_zero=off', 'min_wal_size=32MB', 'max_wal_size=64MB'],
  });
  const tablespace = await smallTablespace(server, data.folder);
  const place = await openLocation({ ...setting, server: server.url, tablespace, records: 60, perPage: 20 });
  const revive = async () => {
    own.makeRoom();
    data.makeRoom();
    // A server that cannot write its log ends, and may not recover until there is room.
    await server.start();
    await untilServing(server.url);
  };
  return {
    place,
    draw: (random) => {
      const [disk, name, kilobytes] =
        random.fraction() < 0.7
          ? ([data, 'the tables', [0, 400]] as const)
          : ([own, "the server's log", [0, 600]] as const);
      return { ...roomOn(disk, name, kilobytes), make: revive };
    },
    ready: revive,
    close: async () => {
      await revive();
      await place.close();
      await server.close();
      own.close();
      data.close();
    },
  };
}

const limited = ['rosterd_identity.webhook_inbox', 'investment_rows', 'change_rows'];

/** Without a file system of its own: the server says that its disk is full whenever a row is stored. */
async function roomsOfTriggers(setting: Setting): Promise<Rooms> {
  process.stderr.write(`${noSmallDisk}\n`);
  const place = await openLocation({ ...setting, records: 60, perPage: 20 });
  const ask = (sql: string) =>
    withClient(place.storage.setting, async (client) => void (await client.query(sql)));
  return {
    place,
    draw: () => ({
      name: 'triggers',
      options: {},
      when: 'late',
      fill: () =>
        ask(
          `CREATE FUNCTION disk_is_full() RETURNS trigger LANGUAGE plpgsql AS $$
           BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$;
           ${limited.map((table) => `CREATE TRIGGER full_disk BEFORE INSERT ON ${table} EXECUTE FUNCTION disk_is_full()`).join(';')}`,
        ),
      make: () => ask('DROP FUNCTION disk_is_full CASCADE'),
    }),
    ready: async () => {},
    close: place.close,
  };
}

const roomOn = (disk: SmallDisk, name: string, [low, high]: readonly [number, number]): Room => ({
  name,
  options: {},
  when: 'either',
  fill: async (random) => disk.leave(kilobyte * between(random, low, high)),
  make: async () => disk.makeRoom(),
});

async function play(place: Place, room: Room, random: Random, counters: Counters): Promise<void> {
  await place.forgetEverything();
  const early = room.when === 'early' || (room.when === 'either' && random.fraction() < 0.3);
  if (early) await room.fill(random);
  const life = place.rosterd(['run'], room.options);
  if (!(await comesUp(life))) {
    const { code } = await endOf(life);
    if (code !== 1) throw new Violation(`full at its start, it ended with ${code}: ${life.printed()}`);
    if (!/no room left|cannot be reached|starting up|restarting after a crash/.test(life.printed()))
      throw new Violation(`not named: ${life.printed()}`);
    saysItPlainly(life.printed());
    counters.add(`${room.name}: full before it followed`);
    await room.make(life);
    await judgeStopped(place);
    const next = place.rosterd(['run']);
    await following(next);
    await judgeAtRest(place);
    await stopAtRest(next);
    return;
  }
  if (!early) {
    await judgeAtRest(place);
    await room.fill(random);
  }
  await place.churn(10);
  // Until the disk is full, or as long as there is room.
  const accepted: string[] = [];
  for (let sent = 0; sent < 60; sent += 1) {
    const eventId = `evt_${randomText(systemRandom, 22)}`;
    const status = await deliver(place, eventId);
    if (status !== 202 && status !== 503) throw new Violation(`a delivery was answered ${status}`);
    counters.add(`${room.name}: answered ${status}`);
    if (status === 503) break;
    accepted.push(eventId);
  }
  counters.add(
    `${room.name}: ${life.printed().includes('no room left') ? 'full while following' : 'room enough'}`,
  );
  await room.make(life);
  for (const eventId of accepted)
    if (!(await hasRow(place, eventId)))
      throw new Violation(`202 was answered for ${eventId}, which has no row`);
  if (life.over) throw new Violation(`the daemon ended on a full disk: ${life.printed()}`);
  // A delivery triggers what the next scheduled tick would do.
  await place.churn(1);
  await judgeAtRest(place);
  await stopAtRest(life);
  await judgeEnded(place, counters);
}
