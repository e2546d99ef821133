import { chmodSync, copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { systemClock } from '../../../src/runtime/clock.js';
import type { Random } from '../../../src/runtime/random.js';
import { fakeIo, rosterd } from '../../cli/fake-io.js';
import type { Counters } from '../counters.js';
import { endOf, saysItPlainly } from '../deadline.js';
import { differences, held, truth } from '../judge.js';
import { openLocation, type Place } from '../place.js';
import { between, pick, roundsIn, type Scenario } from '../scenario.js';
import { Violation } from '../violation.js';

/**
 * Changes bytes of the file while no process has it open: some command must report it, and no command may serve it
 * silently.
 */
export const damagedFile: Scenario = {
  name: 'damaged-file',
  async open(setting) {
    const place = await openLocation({ ...setting, records: 60 });
    const file = join(place.folder, 'mirror.db');
    const { code } = await endOf(place.rosterd(['sync']));
    if (code !== 0) throw new Error('no mirror to damage');
    const whole = `${file}.whole`;
    const database = new Sqlite(file);
    database.exec(`VACUUM INTO '${whole}'`);
    database.close();
    const emails = await place.look(async (sight) =>
      (await sight.rows<{ email: string }>('SELECT email FROM roster WHERE email IS NOT NULL')).map(
        ({ email }) => email,
      ),
    );
    return roundsIn(place, (random, counters) => round(place, { file, whole, emails }, random, counters));
  },
};

type Damage = (bytes: Buffer, random: Random, emails: readonly string[]) => Buffer;

const damages: Readonly<Record<string, Damage>> = {
  // A valid file with another value: only a comparison with the platform can find that.
  'another letter': (bytes, random, emails) => {
    const at = bytes.indexOf(pick(random, emails));
    bytes[at] = bytes[at] === 0x78 ? 0x79 : 0x78;
    return bytes;
  },
  'flipped bytes': (bytes, random) => {
    for (let left = between(random, 1, 40); left > 0; left -= 1) {
      const at = between(random, 0, bytes.length - 1);
      bytes[at] = (bytes[at] ?? 0) ^ between(random, 1, 255);
    }
    return bytes;
  },
  'cut off': (bytes, random) => bytes.subarray(0, between(random, 0, bytes.length - 1)),
  'a page of zeros': (bytes, random) => {
    const page = 4096 * between(random, 0, bytes.length / 4096 - 1);
    return bytes.fill(0, page, page + 4096);
  },
  'a damaged header': (bytes, random) => {
    const at = between(random, 0, 99);
    bytes[at] = (bytes[at] ?? 0) ^ between(random, 1, 255);
    return bytes;
  },
};

interface Victim {
  readonly file: string;
  readonly whole: string;
  readonly emails: readonly string[];
}

async function round(
  place: Place,
  { file, whole, emails }: Victim,
  random: Random,
  counters: Counters,
): Promise<void> {
  const [kind, damage] = pick(random, Object.entries(damages));
  for (const end of ['-wal', '-shm']) rmSync(file + end, { force: true });
  copyFileSync(whole, file);
  // Restores the mode: the doctor reports a file that others may read, whatever its content.
  chmodSync(file, 0o600);
  writeFileSync(file, damage(readFileSync(file), random, emails));
  const [company] = place.sandbox.ready.companies;
  const run = async (...command: string[]) => {
    const env = { TOKEN: company?.token, HOOK: place.hook.secret };
    const { code, out, err } = await rosterd(command, fakeIo({ cwd: place.folder, env, clock: systemClock }));
    try {
      saysItPlainly(out + err);
    } catch {
      throw new Violation(`${kind}: ${command.join(' ')} ends with ${code} and says ${out}${err}`);
    }
    return { code, told: out + err };
  };
  const doctor = await run('doctor');
  await run('status');
  if (doctor.code !== 0 && /^fail {2}database\./m.test(doctor.told))
    return counters.add(`${kind}: doctor names it`);
  const verify = await run('verify', '--full');
  if (verify.code !== 0) return counters.add(`${kind}: verify names it`);
  const sync = await run('sync');
  if (sync.code !== 0) return counters.add(`${kind}: sync refuses`);
  const [wanted, mirror] = [await truth(place), await place.look(held)];
  const wrong = differences(wanted, mirror);
  if (wrong.length > 0)
    throw new Violation(`${kind}: ${wrong.length} wrong records and no command reports it: ${wrong[0]}`);
  counters.add(`${kind}: nothing of the truth was hit`);
}
