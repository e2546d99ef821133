import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { sql } from 'kysely';
import { afterEach, expect, test } from 'vitest';
import { Fault } from '../../../../src/domain/fault.js';
import { patienceMillis } from '../../../../src/store/dialect/sqlite/reading-processes.js';
import { openReadings, type ReadingsApart } from '../../../../src/store/reads/open-readings.js';
import { readMirror } from '../../../../src/store/reads/read-mirror.js';
import { settled, VirtualClock } from '../../../sync/support/virtual-clock.js';
import { freshMirror, seedInvestment, seedSource } from '../../support/mirror.js';
import { tempFolder } from '../../temp-folder.js';

type Database = Parameters<Parameters<ReadingsApart['read']>[0]>[0];

const clock = new VirtualClock(0);
let readings: ReadingsApart | undefined;

afterEach(async () => {
  await readings?.close();
  readings = undefined;
});

function filled(rows = 3) {
  const mirror = freshMirror();
  seedSource(mirror, 1, { name: 'acme' });
  mirror.raw.transaction(() => {
    for (let no = 0; no < rows; no += 1) seedInvestment(mirror, 1, `inv_${String(no).padStart(4, '0')}`);
  })();
  return mirror;
}

async function apart(file: string): Promise<ReadingsApart> {
  readings = await openReadings({ kind: 'sqlite', file }, clock);
  return readings;
}

/** Returns the ids of this process's reading child processes. */
function children(): readonly string[] {
  if (!existsSync('/proc')) {
    const all = execFileSync('ps', ['-axo', 'pid=,ppid=,command='], { encoding: 'utf8' }).split('\n');
    const lines = all.map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? []);
    return lines
      .filter(
        ([, , parent, command = '']) => parent === `${process.pid}` && command.includes('reading-child'),
      )
      .map(([, pid = '']) => pid);
  }
  const has = (pid: string, file: string, words: string) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'utf8').includes(words);
    } catch {
      return false;
    }
  };
  return readdirSync('/proc').filter(
    (pid) => has(pid, 'cmdline', 'reading-child') && has(pid, 'status', `PPid:\t${process.pid}\n`),
  );
}

function told(error: unknown) {
  if (!(error instanceof Fault)) throw error;
  return { code: error.code, message: error.message, hint: error.about.hint };
}

test('reading in a child process returns the same values as reading in this process', async () => {
  const { file } = filled();
  const { read } = await apart(file);
  const ask = (db: Database) =>
    Promise.all([
      db.selectFrom('roster').selectAll().orderBy('id').execute(),
      sql`SELECT 1 AS one, 2.5 AS half, NULL AS none, 'ü' AS text, x'00ff' AS bytes, ${'given'} AS given`
        .execute(db)
        .then(({ rows }) => rows),
    ]);
  const answered = await read(ask);
  expect(answered[0]).toHaveLength(3);
  expect(answered).toEqual(await readMirror({ kind: 'sqlite', file }, ask));
});

test('a child process streams many rows once and in order, and other queries can run in between', async () => {
  const { file } = filled(1_234);
  const { read } = await apart(file);
  const ids: unknown[] = [];
  const counts = new Set<unknown>();
  await read(async (db) => {
    for await (const { id } of db.selectFrom('investments').select('id').orderBy('id').stream()) {
      ids.push(id);
      if (ids.length % 400 === 0)
        counts.add((await sql<{ n: number }>`SELECT count(*) AS n FROM investments`.execute(db)).rows[0]?.n);
    }
  });
  expect(ids).toEqual([...ids].sort());
  expect(new Set(ids).size).toBe(1_234);
  expect([...counts]).toEqual([1_234]);
});

test('a stream abandoned halfway leaves no read transaction open', async () => {
  const { file, raw } = filled(1_234);
  const { read } = await apart(file);
  await read(async (db) => {
    for await (const _ of db.selectFrom('investments').select('id').stream()) break;
    expect((await db.selectFrom('investments').select('id').execute()).length).toBe(1_234);
  });
  // An open read transaction would block the checkpoint.
  expect(raw.pragma('wal_checkpoint(TRUNCATE)')).toMatchObject([{ busy: 0 }]);
});

test('a long query in a child process does not block the event loop', async () => {
  const { file } = filled();
  const { read } = await apart(file);
  let turns = 0;
  let done = false;
  const counted = read((db) =>
    sql<{
      n: number;
    }>`WITH RECURSIVE up (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 3000000) SELECT count(*) AS n FROM up`.execute(
      db,
    ),
  ).finally(() => {
    done = true;
  });
  // The reply needs a turn of this event loop. If the query blocked the loop, the reply would arrive within a few
  // turns.
  while (!done) {
    turns += 1;
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect((await counted).rows).toEqual([{ n: 3_000_000 }]);
  expect(turns).toBeGreaterThan(100);
});

test.each([
  ['a missing file', () => `${tempFolder()}/gone.db`],
  [
    'a damaged file',
    () => {
      const { file, raw } = filled(200);
      raw.pragma('wal_checkpoint(TRUNCATE)');
      raw.close();
      const fd = openSync(file, 'r+');
      for (let page = 2; page < 40; page += 1) writeSync(fd, Buffer.alloc(64, 0xff), 0, 64, page * 4096);
      closeSync(fd);
      return file;
    },
  ],
])('%s fails in a child process with the same error as in this process', async (_, fileOf) => {
  const file = fileOf();
  const ask = (read: ReadingsApart['read']) =>
    read((db) => db.selectFrom('roster').selectAll().execute()).catch((error: unknown) => error);
  const here = await ask((work) => readMirror({ kind: 'sqlite', file }, work));
  const there = await ask((await apart(file)).read);
  expect(told(there)).toMatchObject({ code: 'database_unusable', hint: expect.any(String) });
  expect(told(there)).toEqual(told(here));
});

test('an invalid internal statement is the same internal error in a child process as in this process', async () => {
  const { file } = filled();
  const ask = (read: ReadingsApart['read']) =>
    read((db) => sql`SELECT json('{')`.execute(db)).catch((error: unknown) => error);
  const here = await ask((work) => readMirror({ kind: 'sqlite', file }, work));
  expect(await ask((await apart(file)).read)).toEqual(here);
});

test('killing the child process fails the waiting query, and the next query starts another process', async () => {
  const { file } = filled();
  const { read } = await apart(file);
  const answer = read(async (db) => {
    process.kill(Number(children()[0]), 'SIGKILL');
    return await db.selectFrom('investments').select('id').execute();
  });
  await expect(answer).rejects.toThrow('ended without an answer');
  expect(await read((db) => db.selectFrom('investments').select('id').execute())).toHaveLength(3);
});

test('a child process that died while nobody read leaves no timer', async () => {
  const { file } = filled();
  const { read, close } = await apart(file);
  const known = () =>
    process.getActiveResourcesInfo().filter((resource) => resource === 'ProcessWrap').length;
  await read(counted);
  const before = known();
  process.kill(Number(children()[0]), 'SIGKILL');
  await expect.poll(known).toBeLessThan(before);
  expect(await read(counted)).toBe(3);
  await close();
  expect(clock.sleeping).toBe(0);
});

test('the child process ends a few minutes after the last read, and never during one', async () => {
  const { file } = filled();
  const { read } = await apart(file);
  const ids = () => read((db) => db.selectFrom('investments').select('id').execute());
  await ids();
  const [first] = children();
  expect(first).toBeDefined();
  await clock.advance(4 * 60_000);
  await ids();
  await clock.advance(4 * 60_000);
  expect(children()).toEqual([first]);
  await read(async (db) => {
    await clock.advance(10 * 60_000);
    expect(await db.selectFrom('investments').select('id').execute()).toHaveLength(3);
  });
  expect(children()).toEqual([first]);
  await clock.advance(6 * 60_000);
  await expect.poll(children).toEqual([]);
  expect(await ids()).toHaveLength(3);
});

const upTo = (limit: string) =>
  sql`WITH RECURSIVE up (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up ${sql.raw(limit)}) SELECT count(*) FROM up`;

const counted = async (db: Database) => {
  const { rows } = await sql<{ n: number }>`SELECT count(*) AS n FROM investments`.execute(db);
  return rows[0]?.n;
};

/** Returns when a process of its own runs this query, with the end of the reading. */
async function running(read: ReadingsApart['read'], query: ReturnType<typeof upTo>, gone?: AbortSignal) {
  let end: Promise<unknown> | undefined;
  await new Promise<void>((begun) => {
    end = read(async (db) => {
      await counted(db);
      begun();
      return await query.execute(db);
    }, gone);
    end.catch(() => {});
    void clock.advance(patienceMillis);
  });
  await settled();
  return { end };
}

const endless = upTo('');
const finite = upTo('WHERE n < 3000000');
const killed = { message: expect.stringContaining('ended without an answer') };

test('a page waits a moment for an endless search, and is then read in another process', async () => {
  const { file } = filled();
  const { read, close } = await apart(file);
  const { end } = await running(read, endless);
  const page = read(counted);
  await clock.advance(patienceMillis - 1);
  expect(children()).toHaveLength(1);
  await clock.advance(1);
  expect(await page).toBe(3);
  // The other process is free, so nobody waits for a third one.
  expect(await read(counted)).toBe(3);
  expect(children()).toHaveLength(2);
  await close();
  await expect(end).rejects.toMatchObject(killed);
});

test('a page that has begun goes on in another process when its own is taken by a search', async () => {
  const { file } = filled();
  const { read, close } = await apart(file);
  let end: Promise<unknown> | undefined;
  const page = read(async (db) => {
    const before = await counted(db);
    ({ end } = await running(read, endless));
    const after = counted(db);
    await clock.advance(patienceMillis);
    return [before, await after];
  });
  expect(await page).toEqual([3, 3]);
  expect(children()).toHaveLength(2);
  await close();
  await expect(end).rejects.toMatchObject(killed);
});

test('at most three processes read, and the next query waits for the first of them that is free', async () => {
  const { file } = filled();
  const { read, close } = await apart(file);
  const searches = [await running(read, endless), await running(read, endless)];
  const { end } = await running(read, finite);
  const ended: string[] = [];
  const page = read(counted).finally(() => ended.push('page'));
  void end?.finally(() => ended.push('finite'));
  await clock.advance(10 * patienceMillis);
  expect(children()).toHaveLength(3);
  expect(await page).toBe(3);
  expect(ended).toEqual(['finite', 'page']);
  await close();
  for (const search of searches) await expect(search.end).rejects.toMatchObject(killed);
});

test('a query that waits for a process is answered by another one if that process is killed', async () => {
  const { file } = filled();
  const { read } = await apart(file);
  const { end } = await running(read, endless);
  const page = read(counted);
  process.kill(Number(children()[0]), 'SIGKILL');
  await expect(end).rejects.toMatchObject(killed);
  expect(await page).toBe(3);
});

test('queries that wait when another one of their page fails are not asked, and keep no process', async () => {
  const { file } = filled();
  const { read } = await apart(file);
  const others: Promise<unknown>[] = [];
  const page = read(async (db) => {
    others.push(finite.execute(db), counted(db));
    await settled();
    throw new Error('this page');
  });
  await expect(page).rejects.toThrow('this page');
  const outcomes = await Promise.allSettled(others);
  expect(outcomes).toEqual([
    { status: 'fulfilled', value: expect.anything() },
    { status: 'rejected', reason: expect.objectContaining({ message: 'this reading has ended' }) },
  ]);
  expect(await read(counted)).toBe(3);
  await clock.advance(6 * 60_000);
  await expect.poll(children).toEqual([]);
});

test('each process ends a few minutes after its last read', async () => {
  const { file } = filled();
  const { read } = await apart(file);
  const { end } = await running(read, finite);
  await running(read, finite).then((second) => second.end);
  await end;
  expect(children()).toHaveLength(2);
  // The first one is used again, the other one is not.
  await clock.advance(4 * 60_000);
  expect(await read(counted)).toBe(3);
  await clock.advance(2 * 60_000);
  await expect.poll(children).toHaveLength(1);
  expect(await read(counted)).toBe(3);
});

const abandoned = { code: 'stopped', message: 'the client has gone' };

test('the process of a search whose client has gone is ended, unless the search ends soon by itself', async () => {
  const { file } = filled();
  const { read } = await apart(file);
  const gone = new AbortController();
  const short = await running(read, finite, gone.signal);
  const [first] = children();
  gone.abort();
  await expect(short.end).resolves.toBeDefined();
  expect(children()).toEqual([first]);
  const left = new AbortController();
  const long = await running(read, endless, left.signal);
  left.abort();
  await clock.advance(patienceMillis);
  await expect(long.end).rejects.toMatchObject(abandoned);
  expect(children()).toEqual([]);
  expect(await read(counted)).toBe(3);
});

test('a query whose client has gone leaves the queue', async () => {
  const { file } = filled();
  const { read, close } = await apart(file);
  const { end } = await running(read, endless);
  const gone = new AbortController();
  const waiting = read(counted, gone.signal);
  await settled();
  gone.abort();
  await expect(waiting).rejects.toMatchObject(abandoned);
  await clock.advance(10 * patienceMillis);
  expect(children()).toHaveLength(1);
  await expect(read(counted, gone.signal)).rejects.toMatchObject(abandoned);
  await close();
  await expect(end).rejects.toMatchObject(killed);
});

test('a process in which a file is read is not ended with a search whose client has gone', async () => {
  const { file } = filled(1_234);
  const { read } = await apart(file);
  const gone = new AbortController();
  let ids = 0;
  await read(async (db) => {
    for await (const _ of db.selectFrom('investments').select('id').stream()) {
      ids += 1;
      if (ids !== 1) continue;
      const { end } = await running(read, finite, gone.signal);
      gone.abort();
      await clock.advance(patienceMillis);
      await expect(end).resolves.toBeDefined();
    }
  });
  expect(ids).toBe(1_234);
});

test('closing ends the child process immediately, even during a query, and leaves no timer', async () => {
  const { file } = filled();
  const opened = await apart(file);
  const outcomes = await opened.read(async (db) => {
    const { end: searching } = await running(opened.read, endless);
    const waiting = opened.read(counted);
    const both = Promise.allSettled([searching, waiting]);
    await settled();
    await opened.close();
    return await Promise.all([both, Promise.allSettled([counted(db)])]);
  });
  const stopped = { status: 'rejected', reason: expect.objectContaining({ code: 'stopped' }) };
  expect(outcomes.flat()).toEqual([
    { status: 'rejected', reason: expect.objectContaining(killed) },
    stopped,
    stopped,
  ]);
  expect(children()).toEqual([]);
  // A remaining timer would keep this process alive.
  expect(clock.sleeping).toBe(0);
  await expect(opened.read(async () => 1)).rejects.toMatchObject({ code: 'stopped' });
});
