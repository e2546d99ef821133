import { describe, expect, onTestFinished, test } from 'vitest';
import type { ConfigInput, Mirror } from '../../src/index.js';
import { connectSqlite } from '../../src/store/dialect/sqlite/connect.js';
import { readingDialect } from '../../src/store/dialect/sqlite/reading-dialect.js';
import { readingsOf } from '../../src/store/mirror-database.js';
import { migratedDatabase } from '../postgres/fresh-database.js';
import { embeddedMirror } from './embedded.js';

async function listed(settings: Partial<ConfigInput> = {}) {
  const world = await embeddedMirror(settings);
  onTestFinished(() => world.close());
  await world.mirror.tick();
  return world;
}

const ids = ({ query }: Mirror) => query.selectFrom('investments').select('id').orderBy('id');

/** On each database a program may have one stream or transaction, and ask for more meanwhile. */
describe.each(['sqlite', 'postgres'])('library: queries of the program (%s)', (kind) => {
  const fresh = async () => {
    if (kind === 'sqlite') return await listed();
    const database = await migratedDatabase();
    onTestFinished(() => database.drop());
    return await listed({ database: database.url });
  };

  test('library: a program may query, and tick, while it streams a result', async () => {
    const { mirror } = await fresh();
    const streamed: string[] = [];
    for await (const { id } of ids(mirror).limit(3).stream()) {
      const row = await ids(mirror).where('id', '=', id).executeTakeFirstOrThrow();
      await mirror.tick();
      streamed.push(row.id);
    }
    expect(streamed).toEqual((await ids(mirror).limit(3).execute()).map(({ id }) => id));
  });

  test('library: a tick within a transaction of the program delivers its changes', async () => {
    const { mirror, control, company } = await fresh();
    const heard: string[] = [];
    mirror.onChange((changes) => void heard.push(...changes.map((change) => change.kind)));
    await mirror.query.transaction().execute(async () => {
      await control('POST', '/investments', { company: company.id });
      await mirror.tick();
    });
    expect(heard).toEqual(['added']);
  });

  test('library: changes are delivered also after the program has closed its query handle', async () => {
    const { mirror, control, company } = await fresh();
    const heard: string[] = [];
    mirror.onChange((changes) => void heard.push(...changes.map((change) => change.kind)));
    await mirror.query.destroy();
    await control('POST', '/investments', { company: company.id });
    await mirror.tick();
    expect(heard).toEqual(['added']);
    await mirror.stop();
  });
});

test('library: on SQLite `stop` does not wait for a stream that the program left', async () => {
  const { mirror } = await listed();
  const left = ids(mirror).stream();
  await left.next();
  await mirror.stop();
  await expect(ids(mirror).execute()).rejects.toThrow('not open');
  await left.return?.();
});

test('library: on SQLite a transaction of the program that `stop` meets ends as if nothing had happened', async () => {
  const { mirror } = await listed();
  const rows = await mirror.query.transaction().execute(async (transaction) => {
    await mirror.stop();
    return await transaction.selectFrom('investments').select('id').execute();
  });
  expect(rows.length).toBeGreaterThan(0);
});

/** Readings of a mirror's file, and how many connections are open. */
async function counted() {
  const { mirror } = await listed();
  let open = 0;
  const connect = () => {
    const opened = connectSqlite(mirror.file ?? '', { readonly: true });
    open += 1;
    return {
      ...opened,
      close: () => {
        open -= 1;
        opened.close();
      },
    };
  };
  const dialect = readingDialect(connect(), connect);
  onTestFinished(() => dialect.close());
  return { dialect, query: readingsOf(dialect).query, open: () => open };
}

test('library: queries at the same time share one connection to a SQLite file', async () => {
  const { query, open } = await counted();
  const asked = Array.from({ length: 50 }, () => query.selectFrom('investments').select('id').execute());
  await Promise.all(asked);
  expect(open()).toBe(1);
});

test('library: of many streams at the same time sixteen are read, and the others wait for their end', async () => {
  const { dialect, query, open } = await counted();
  const stream = () => query.selectFrom('investments').select('id').stream();
  const held = Array.from({ length: 16 }, stream);
  for (const each of held) expect((await each.next()).done).toBe(false);
  expect(open()).toBe(16);
  let isRead = false;
  const late = stream();
  const first = late.next().then(() => {
    isRead = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isRead).toBe(false);
  for (const each of held) await each.return?.();
  await first;
  // Its own, and the one for queries.
  expect(open()).toBe(2);
  await late.return?.();
  expect(open()).toBe(1);
  dialect.close();
  expect(open()).toBe(0);
});
