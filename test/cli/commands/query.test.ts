import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { instantFromMillis } from '../../../src/domain/instant.js';
import { stopped } from '../fake-io.js';
import { changedMirror, jsonOf } from './changed-mirror.js';

const { world, target, held, before, withLateSource } = await changedMirror();

describe('query', () => {
  test('query --csv is safe to open in a spreadsheet and keeps numbers', async () => {
    const sql =
      "SELECT name, -5 AS whole, '-5.5' AS decimal, '-x' AS word, NULL AS missing, '' AS empty, x'0aff' AS blob FROM identities WHERE name LIKE '=%'";
    const { code, out } = await world.run(['query', '--csv', sql]);
    expect(code).toBe(0);
    expect(out).toBe(
      `name,whole,decimal,word,missing,empty,blob\r\n"'=HYPERLINK(""http://evil"",""x"")",-5,-5.5,'-x,,"",x'0aff'\r\n`,
    );
  });

  test('query --csv prints all rows unless --limit is given, and warns when it truncates', async () => {
    const sql =
      'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i FROM n';
    const all = await world.run(['query', '--csv', sql]);
    expect(all).toMatchObject({ code: 0, err: '' });
    expect(all.out.trimEnd().split('\r\n')).toHaveLength(5_001);
    const cut = await world.run(['query', '--csv', '--limit', '2', sql]);
    expect(cut.out).toBe('i\r\n1\r\n2\r\n');
    expect(cut.err).toContain('only the first 2 rows');
  });

  test('query reads its statement from stdin', async () => {
    const stdin = Readable.from([
      Buffer.from('\uFEFFSELECT count(*) AS n\n'),
      Buffer.from('FROM investments;'),
    ]);
    const { code, out } = await world.run(['query', '--json', '-'], { stdin });
    expect({ code, out }).toEqual({ code: 0, out: `[{"n":${held}}]\n` });
    const empty = await world.run(['query', '-'], { stdin: Readable.from([]) });
    expect(empty).toMatchObject({ code: 2, out: '' });
  });

  test('query takes a statement that begins with a comment', async () => {
    const sql = '-- all of them\nSELECT count(*) AS n FROM investments';
    expect(await world.run(['query', sql, '--json'])).toMatchObject({ code: 0, out: `[{"n":${held}}]\n` });
  });

  test('query - that a signal stops while it waits for stdin ends with exit code 5', async () => {
    const stdin = new Readable({ read: () => {} });
    stdin.push('SELECT 1');
    const { code, out, err } = await world.run(['query', '-'], { ...stopped, stdin });
    expect([code, out]).toEqual([5, '']);
    expect(err).toContain('error: stopped before the end of stdin\n');
  });

  test('query --json prints what JSON has no number for as text', async () => {
    const sql = 'SELECT 9e999 AS most, -9e999 AS least, 9007199254740993 AS large, 0.5 AS half';
    expect((await world.run(['query', '--json', sql])).out).toBe(
      '[{"most":"Infinity","least":"-Infinity","large":"9007199254740993","half":0.5}]\n',
    );
  });

  test('query --json keeps all columns of the same name', async () => {
    const twice = 'SELECT 1 AS a, 2 AS a, 3 AS a_2, 4 AS a';
    expect((await world.run(['query', '--json', twice])).out).toBe('[{"a":1,"a_3":2,"a_2":3,"a_4":4}]\n');
  });

  test('query --as-of reads the views as they stood at that time, and today reads the present', async () => {
    const sql = `SELECT committed_cents AS cents FROM investments WHERE id = '${target}'`;
    const now = await world.run(['query', '--json', sql]);
    expect(jsonOf(now.out)).toEqual([{ cents: 777_700 }]);
    const then = await world.run(['query', '--as-of', before, '--json', sql]);
    expect({ code: then.code, err: then.err }).toEqual({ code: 0, err: '' });
    expect(jsonOf(then.out)).not.toEqual(jsonOf(now.out));
    const today = instantFromMillis(Date.now()).slice(0, 10);
    expect(await world.run(['query', '--as-of', today, '--json', sql])).toMatchObject({ out: now.out });
    const count = 'SELECT sum(investments) AS n FROM round_totals';
    expect(jsonOf((await world.run(['query', '--as-of', before, '--json', count])).out)).toEqual([
      { n: held },
    ]);
  });

  test.each([
    ['yesterday', /^error: --as-of is "yesterday"\nTry: a day or a time with its zone/],
    ['2026-02-30', /^error: --as-of is "2026-02-30"/],
    ['9998-01-01', /^error: --as-of is in the future: "9998-01-01"/],
    ['2001-01-01', /^error: the history of this mirror begins at \S+Z, after 2001-01-01T23:59:59\.999Z\n/],
  ])('query --as-of %s is a usage error that says why', async (time, says) => {
    const { code, out, err } = await world.run(['query', '--as-of', time, 'SELECT 1']);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(says);
  });

  test('query --as-of warns about a source that the mirror did not have yet', async () => {
    await withLateSource(async (late) => {
      const { code, out, err } = await world.run(['query', '--as-of', before, '--csv', 'SELECT 1 AS one']);
      expect({ code, out }).toEqual({ code: 0, out: 'one\r\n1\r\n' });
      expect(err).toBe(`warning: late: its history begins at ${late}, after the requested time\n`);
    });
  });

  test('query rejects --csv together with --json', async () => {
    expect(await world.run(['query', '--csv', '--json', 'SELECT 1'])).toMatchObject({ code: 2, out: '' });
  });
});

test('the address of an unsupported database is rejected without printing its password', async () => {
  const { code, out, err } = await world.run([
    'query',
    '--database',
    'mysql://app:slash/canary@db/mirror',
    'SELECT 1',
  ]);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain('postgres://USER@HOST');
  expect(err).not.toContain('canary');
});

test('a missing mirror is reported differently from an empty one', async () => {
  for (const args of [['export'], ['changes'], ['history', 'inv_1'], ['query', 'SELECT 1']]) {
    const { code, out, err } = await world.run([...args, '--set', 'database=sqlite:./none.db']);
    expect({ args, code, out }).toEqual({ args, code: 1, out: '' });
    expect(err).toContain('not there yet');
  }
  expect(existsSync(join(world.folder, 'none.db'))).toBe(false);
});
