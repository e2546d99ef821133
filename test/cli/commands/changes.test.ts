import { describe, expect, test } from 'vitest';
import { rosterd } from '../fake-io.js';
import { changedMirror, jsonOf } from './changed-mirror.js';

const { world, target, mirror } = await changedMirror();

describe('changes', () => {
  test('changes are listed in commit order, as lines and as one JSON array', async () => {
    const { out } = await world.run(['changes']);
    expect(out).toMatch(
      /^ {6}1 {2}\S+Z {2}acme {2}snapshot {2}-\n {6}2 {2}\S+Z {2}acme {2}company_added {2}co_/,
    );
    expect(out).toMatch(/\S+Z {2}acme {2}changed {3}inv_/);
    const list = jsonOf((await world.run(['changes', '--json'])).out);
    expect(list).toEqual(
      mirror<Record<'fields' | 'before' | 'after', string>>('SELECT * FROM changes ORDER BY seq').map(
        (row) => ({
          ...row,
          fields: JSON.parse(row.fields) as unknown,
          before: JSON.parse(row.before) as unknown,
          after: JSON.parse(row.after) as unknown,
        }),
      ),
    );
    expect(list.at(-1)).toMatchObject({ id: target, kind: 'changed' });
    expect(jsonOf((await world.run(['changes', '--since', '1', '--json'])).out)).toEqual(list.slice(1));
    expect((await world.run(['changes', '--since', '9999', '--json'])).out).toBe('[]\n');
  });

  test('changes name the fields of a person, never their values', async () => {
    const { out } = await world.run(['changes']);
    expect(out).toContain('identity.name');
    expect(out).toMatch(/committed_cents \d+ → 777700/);
    expect(out).not.toMatch(/HYPERLINK|Ada/);
  });

  test('changes --follow prints new changes, and a signal ends it with 0', async () => {
    const io = world.io();
    const running = rosterd(['changes', '--follow', '--json', '--since', '1'], io);
    await expect.poll(() => io.out().split('\n').length).toBeGreaterThan(1);
    await world.control('POST', '/investments', { company: world.company.id });
    await world.sync();
    await expect.poll(() => io.out()).toContain('"added"');
    io.signals.emit('SIGTERM');
    const { code, out } = await running;
    expect(code).toBe(0);
    const lines = out.trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual(
      lines.map((_, index) => index + 2),
    );
    const [{ id }] = mirror<{ id: string }>("SELECT id FROM changes WHERE kind = 'added'") as [
      { id: string },
    ];
    await world.control('DELETE', `/investments/${id}`);
    await world.sync();
  });

  test('changes of an unknown source are an error, not an empty list', async () => {
    expect(await world.run(['changes', '--source', 'nobody'])).toMatchObject({ code: 2, out: '' });
    expect((await world.run(['changes', '--since', '-1'])).code).toBe(2);
  });
});
