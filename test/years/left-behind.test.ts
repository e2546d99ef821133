import { expect, test } from 'vitest';
import { freshDatabase } from '../postgres/fresh-database.js';
import { writtenVersions } from '../upgrade/written.js';
import { leftBehind } from './left-behind.js';
import { PostgresExam } from './postgres-exam.js';

test('years: an address is found between other bytes, but not as a part of another address', () => {
  const bytes = '\0\x13Ann Lowann@a.exampleMain Street 1\0\0late-ben@b.example\0late-eve@e.example';
  const gone = ['ann@a.example', 'ben@b.example', 'late-eve@e.example'];
  const shown = new Set(['late-ben@b.example', 'eve@e.example']);
  expect(leftBehind(bytes, gone, shown)).toEqual(['ann@a.example', 'late-eve@e.example']);
  expect(leftBehind(`${bytes}\0ben@b.example`, gone, shown)).toEqual(gone);
});

test('years: on PostgreSQL a deleted address stays in the bytes after VACUUM, and leaves them with VACUUM FULL', async () => {
  const [from] = writtenVersions;
  if (from === undefined) throw new Error('no version has fixtures');
  const exam = await PostgresExam.open((await freshDatabase()).url, from);
  try {
    const emails = async () =>
      new Set(
        (await exam.rows('SELECT email FROM roster WHERE email IS NOT NULL')).map(({ email }) =>
          String(email),
        ),
      );
    const before = await emails();
    const left = async () => {
      const shown = await emails();
      const gone = [...before].filter((email) => !shown.has(email));
      return [gone.length, leftBehind(await exam.bytes(), gone, shown).length];
    };
    await exam.rows('DELETE FROM rosterd_identity.identity_rows WHERE row_no % 2 = 0');
    await exam.rows('VACUUM rosterd_identity.identity_rows');
    const [gone, stored] = await left();
    expect(gone).toBeGreaterThan(10);
    expect(stored).toBeGreaterThan(0);
    // Until no transaction of other tests on the server is older than the deletion, it copies deleted rows too.
    const rewrite = async () => {
      await exam.rows('VACUUM (FULL) rosterd_identity.identity_rows');
      return left();
    };
    await expect.poll(rewrite).toEqual([gone, 0]);
  } finally {
    await exam.close();
  }
});
