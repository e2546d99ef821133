import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { mirrorWorld } from '../mirror-world.js';

const at = '2026-11-21T10:15:00.000Z';

test('changes are aligned for source names of different lengths, and show only unusual reasons', async () => {
  const world = await mirrorWorld(5);
  onTestFinished(() => world.close());
  await world.sync();
  const raw = new Sqlite(join(world.folder, 'mirror.db'));
  raw.exec(`INSERT INTO sources (no, name, fingerprint) VALUES (2, 'beta-labs', 'f');
    INSERT INTO change_rows (seq, source_no, id, kind, fields, reason, at) VALUES
      (11, 2, 'inv_b', 'added', '[]', 'changed', '${at}'),
      (12, 1, 'inv_a', 'changed', '["status","group_label"]', 'changed', '${at}'),
      (13, 1, 'inv_a', 'changed', '["group_label"]', 'recomputed', '${at}'),
      (14, 1, 'inv_a', 'removed', '[]', 'changed', '${at}')`);
  raw.close();
  expect((await world.run(['changes', '--since', '10'])).out.split('\n')).toEqual([
    `     11  ${at}  beta-labs  added     inv_b`,
    `     12  ${at}  acme       changed   inv_a  status,group_label`,
    `     13  ${at}  acme       changed   inv_a  group_label (recomputed)`,
    `     14  ${at}  acme       removed   inv_a`,
    '',
  ]);
});
